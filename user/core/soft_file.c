// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests that wait in a ring of plain memory, by descriptor, and what epoll is to report of each of these. Sockets
 * are reported while there is something (not only when it comes), polls once. A request that ends leaves its descriptor
 * with epoll, since the next one mostly waits for the same. What epoll reports and no request waits for takes it out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "core/budget.h"
#include "core/soft.h"

#define FIRST_OPS                                                                                  \
	64u /* these, and so many pages, are the engine's own; the budget has the others */
#define FIRST_PAGES 8u

/* ---- memory, which the kernel gives and takes by pages ------------------------------------------------------ */

static void *map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static struct xiw_soft_file *file_of(const struct xiw_soft *s, int fd)
{
	const uint32_t page = (uint32_t)fd / XIW_SOFT_PAGE;

	return page < s->room && s->pages[page]
		       ? &s->pages[page]->files[(uint32_t)fd % XIW_SOFT_PAGE]
		       : NULL;
}

static bool make_page(struct xiw_soft *s, uint32_t page)
{
	if (page >= s->room) {
		const uint32_t room = page < 2 * s->room ? 2 * s->room : page + 1;
		struct xiw_soft_page **more = realloc(s->pages, room * sizeof(*more));

		if (!more)
			return false;
		memset(more + s->room, 0, (room - s->room) * sizeof(*more));
		s->pages = more;
		s->room = room;
	}
	s->pages[page] = map(sizeof(**s->pages));
	if (!s->pages[page])
		return false;
	if (s->npages++ >= FIRST_PAGES)
		xiw_budget_force(s->budget, sizeof(**s->pages));
	return true;
}

static bool know(struct xiw_soft *s, int fd)
{
	const uint32_t page = (uint32_t)fd / XIW_SOFT_PAGE;

	if (!file_of(s, fd) && !make_page(s, page))
		return false;
	s->pages[page]->known += !file_of(s, fd)->known;
	file_of(s, fd)->known = true;
	return true;
}

static void free_page(struct xiw_soft *s, uint32_t page)
{
	munmap(s->pages[page], sizeof(**s->pages));
	s->pages[page] = NULL;
	if (--s->npages >= FIRST_PAGES)
		xiw_budget_give(s->budget, sizeof(**s->pages));
}

static void know_no_more(struct xiw_soft *s, int fd)
{
	const uint32_t page = (uint32_t)fd / XIW_SOFT_PAGE;

	*file_of(s, fd) = (struct xiw_soft_file){ .ops = 0 };
	if (!--s->pages[page]->known)
		free_page(s, page);
}

static size_t size_of(uint32_t room)
{
	return room * (sizeof(struct xiw_soft_op) + sizeof(uint32_t));
}

static size_t charge_of(uint32_t room)
{
	return room > FIRST_OPS ? size_of(room) - size_of(FIRST_OPS) : 0;
}

static struct xiw_soft_op *op_at(const struct xiw_soft *s, uint32_t index)
{
	return &s->waiting.op[index - 1];
}

/* The low bits of user_data tell what it is for; the others are an address. */
static uint32_t *chain_of(const struct xiw_soft *s, uint64_t user_data)
{
	return &s->waiting.chains[(user_data * 0x9e3779b97f4a7c15) >> 32 & (s->waiting.room - 1)];
}

static void put_at(struct xiw_soft *s, uint32_t index, const struct xiw_soft_op *from)
{
	struct xiw_soft_op *op = op_at(s, index);
	uint32_t *chain = chain_of(s, from->user_data);
	struct xiw_soft_file *f = file_of(s, from->fd);

	*op = *from;
	op->chain = *chain;
	*chain = index;
	op->next = f->ops;
	f->ops = index;
}

/* Makes room for another number of requests, at least those that wait. */
static bool resize(struct xiw_soft *s, uint32_t room)
{
	const struct xiw_soft_ops was = s->waiting;
	struct xiw_soft_op *op = map(size_of(room));
	uint32_t n = 0;

	if (!op)
		return false;
	s->waiting = (struct xiw_soft_ops){
		.room = room, .used = was.used, .op = op, .chains = (uint32_t *)(op + room)
	};
	for (uint32_t i = 0; i < was.room; i++)
		if (was.op[i].opcode)
			file_of(s, was.op[i].fd)->ops = 0;
	for (uint32_t i = 0; i < was.room; i++)
		if (was.op[i].opcode)
			put_at(s, ++n, &was.op[i]);
	for (uint32_t i = room; i > n; i--) {
		op_at(s, i)->next = s->waiting.free;
		s->waiting.free = i;
	}
	xiw_budget_force(s->budget, charge_of(room));
	xiw_budget_give(s->budget, charge_of(was.room));
	if (was.op)
		munmap(was.op, size_of(was.room));
	return true;
}

bool xiw_soft_reserve(struct xiw_soft *s, int fd)
{
	const uint32_t room = s->waiting.room;

	return (s->waiting.free || resize(s, room ? 2 * room : FIRST_OPS)) && know(s, fd);
}

void xiw_soft_trim(struct xiw_soft *s)
{
	if (s->waiting.room > FIRST_OPS && s->waiting.used < s->waiting.room / 4)
		resize(s, s->waiting.room / 2);
}

void xiw_soft_free_files(struct xiw_soft *s)
{
	for (uint32_t i = 0; i < s->room; i++)
		if (s->pages[i])
			free_page(s, i);
	free(s->pages);
	if (!s->waiting.op)
		return;
	xiw_budget_give(s->budget, charge_of(s->waiting.room));
	munmap(s->waiting.op, size_of(s->waiting.room));
}

/* ---- epoll ---------------------------------------------------------------------------------------------- */

static void take_out(struct xiw_soft *s, int fd, struct xiw_soft_file *f)
{
	if (f->added)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
	f->added = false;
	f->events = 0;
}

static int put_in(struct xiw_soft *s, int fd, struct xiw_soft_file *f, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	if (epoll_ctl(s->epoll, f->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	f->added = true;
	f->events = events;
	return 0;
}

/* Polls alone are reported once: the application need not have taken by then what they are for. */
static int update(struct xiw_soft *s, int fd, struct xiw_soft_file *f)
{
	uint32_t events = 0, once = EPOLLONESHOT;

	for (uint32_t i = f->ops; i; i = op_at(s, i)->next) {
		events |= op_at(s, i)->events;
		if (op_at(s, i)->opcode != IORING_OP_POLL_ADD || op_at(s, i)->multishot)
			once = 0;
	}
	return (events | once) == f->events ? 0 : put_in(s, fd, f, events | once);
}

/* ---- requests ------------------------------------------------------------------------------------------- */

/* Takes a request out of the list at *at. */
static void release(struct xiw_soft *s, uint32_t *at)
{
	const uint32_t index = *at;
	struct xiw_soft_op *op = op_at(s, index);
	uint32_t *chain = chain_of(s, op->user_data);

	while (*chain != index)
		chain = &op_at(s, *chain)->chain;
	*chain = op->chain;
	*at = op->next;
	op->opcode = 0;
	op->next = s->waiting.free;
	s->waiting.free = index;
	s->waiting.used--;
}

static void end_all(struct xiw_soft *s, struct xiw_soft_file *f, int res)
{
	while (f->ops) {
		xiw_soft_end(s, op_at(s, f->ops), res);
		release(s, &f->ops);
	}
}

void xiw_soft_wait_for(struct xiw_soft *s, const struct xiw_soft_op *from)
{
	struct xiw_soft_file *f = file_of(s, from->fd);
	const uint32_t index = s->waiting.free;
	int err;

	s->waiting.free = op_at(s, index)->next;
	s->waiting.used++;
	put_at(s, index, from);
	/* It is to be told of what has been reported to another. */
	if (from->events & EPOLLET)
		f->events = 0;
	err = update(s, from->fd, f);
	if (err) {
		xiw_soft_end(s, from, err);
		release(s, &f->ops);
	}
}

bool xiw_soft_cancel(struct xiw_soft *s, uint64_t user_data)
{
	uint32_t index = s->waiting.room ? *chain_of(s, user_data) : 0, *at;

	while (index && op_at(s, index)->user_data != user_data)
		index = op_at(s, index)->chain;
	if (!index)
		return false;
	xiw_soft_end(s, op_at(s, index), -ECANCELED);
	for (at = &file_of(s, op_at(s, index)->fd)->ops; *at != index; at = &op_at(s, *at)->next)
		;
	release(s, at);
	return true;
}

/*
 * EPOLLERR and EPOLLHUP are reported of every descriptor in the set, wanted or not, for as long as they last. So a
 * descriptor of which something was reported for nobody is taken out.
 */
void xiw_soft_event(struct xiw_soft *s, int fd, uint32_t events)
{
	struct xiw_soft_file *f = file_of(s, fd);
	bool wanted = false;
	int err;

	if (!f)
		return;
	if (f->events & EPOLLONESHOT)
		f->events = 0;
	for (uint32_t *at = &f->ops; *at;) {
		struct xiw_soft_op *op = op_at(s, *at);

		if (!(events & (op->events | EPOLLERR | EPOLLHUP))) {
			at = &op->next;
			continue;
		}
		wanted = true;
		if (xiw_soft_room(s) < 2 * XIW_SOFT_BURST) {
			f->events = 0; /* epoll reports it once more */
			break;
		}
		if (xiw_soft_act(s, op, events))
			release(s, at);
		else
			at = &op->next;
	}
	if (!f->ops) {
		if (!wanted)
			take_out(s, fd, f);
		return;
	}
	err = update(s, fd, f);
	if (err)
		end_all(s, f, err);
}

void xiw_soft_forget(struct xiw_soft *s, int fd)
{
	struct xiw_soft_file *f = fd < 0 ? NULL : file_of(s, fd);

	if (!f || !f->known)
		return;
	take_out(s, fd, f);
	end_all(s, f, -ECANCELED);
	know_no_more(s, fd);
}
