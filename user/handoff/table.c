// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "handoff/diag.h"
#include "handoff/owner.h"
#include "handoff/table.h"
#include "netif/pins.h"

static const struct xiw_table no_table = {
	.flows_fd = -1,
	.index_fd = -1,
	.queues_fd = -1,
	.xsks_fd = -1,
	.socket_fd = -1,
	.dir_fd = -1,
};

static int open_map(const char *dir, const char *name, uint32_t value_size, uint32_t entries)
{
	return xiw_pins_check_map(xiw_pins_open(dir, name, true), value_size, entries);
}

/* If the maps are there but the program is not, another version has loaded them. */
static int open_program(const char *dir, const char *name)
{
	int fd = xiw_pins_open(dir, name, true);

	return fd == -ENOENT ? -ESTALE : fd;
}

static void *map_array(int fd, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_DONTFORK);
	return p;
}

void xiw_table_none(struct xiw_table *t)
{
	*t = no_table;
}

/* No process has the slot, but its numbers are still translated. No engine and no pid is ever that high. */
#define ABANDONED 0x40000000u
/* No process has the slot, and nothing is translated: the next collection frees it. */
#define RETIRED 0x40000001u

static struct flock lock_of(uint32_t engine, short type)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = engine, .l_len = 1
	};
}

/*
 * An engine lives as long as its lock on the directory of the pins, which every process sees alike, while a process's
 * number means nothing in another PID namespace, and is used again. Nobody without access to the pins can hold a lock.
 */
static bool engine_lives(const struct xiw_table *t, uint32_t engine)
{
	struct flock lock = lock_of(engine, F_WRLCK);

	if (engine >= ABANDONED)
		return false;
	return engine == t->me || fcntl(t->dir_fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

static int become_engine(struct xiw_table *t, const char *dir)
{
	struct flock lock;

	t->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dir_fd < 0)
		return -errno;
	do {
		if (getrandom(&t->me, sizeof(t->me), 0) != sizeof(t->me))
			return -EAGAIN;
		t->me &= ABANDONED - 1;
		lock = lock_of(t->me, F_WRLCK);
		if (fcntl(t->dir_fd, F_OFD_GETLK, &lock))
			return -errno;
	} while (!t->me || lock.l_type != F_UNLCK);
	lock = lock_of(t->me, F_RDLCK);
	return fcntl(t->dir_fd, F_OFD_SETLK, &lock) ? -errno : 0;
}

int xiw_table_open(struct xiw_table *t, const char *dir)
{
	int err;

	*t = no_table;
	err = t->flows_fd = open_map(dir, "xiw_flows", sizeof(*t->flows), XIW_MAX_FLOWS);
	if (err >= 0)
		err = t->index_fd = open_map(dir, "xiw_flow_index", 4, XIW_MAX_FLOWS);
	if (err >= 0)
		err = t->queues_fd =
			open_map(dir, "xiw_queues", sizeof(*t->queues), XIW_MAX_QUEUES);
	if (err >= 0)
		err = t->xsks_fd = open_map(dir, "xiw_xsks", 4, XIW_MAX_QUEUES);
	if (err >= 0)
		err = t->socket_fd = open_program(dir, "xiw_socket");
	if (err >= 0)
		err = become_engine(t, dir);
	if (err == -ESTALE)
		err = -EPROTO;
	if (err < 0)
		goto fail;
	err = -ENOMEM;
	t->flows = map_array(t->flows_fd, sizeof(*t->flows) * XIW_MAX_FLOWS);
	t->queues = map_array(t->queues_fd, sizeof(*t->queues) * XIW_MAX_QUEUES);
	if (!t->flows || !t->queues)
		goto fail;
	return 0;
fail:
	xiw_table_close(t);
	return err;
}

void xiw_table_shut(struct xiw_table *t)
{
	int *const fds[] = { &t->flows_fd, &t->index_fd,  &t->queues_fd,
			     &t->xsks_fd,  &t->socket_fd, &t->dir_fd };

	for (unsigned int i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void xiw_table_close(struct xiw_table *t)
{
	if (t->flows)
		munmap(t->flows, sizeof(*t->flows) * XIW_MAX_FLOWS);
	if (t->queues)
		munmap(t->queues, sizeof(*t->queues) * XIW_MAX_QUEUES);
	xiw_table_shut(t);
	*t = no_table;
}

#define ROOM_QUESTIONS 8 /* to the kernel, when the table is full */

/* Gives the slot from engine @from to @to, if it still is @from's. `pid` follows, for readers. */
static bool hand_over(struct xiw_flow *f, uint32_t from, uint32_t to)
{
	if (!__atomic_compare_exchange_n(&f->engine, &from, to, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return false;
	__atomic_store_n(&f->pid, to && to < ABANDONED ? (uint32_t)getpid() : to, __ATOMIC_RELEASE);
	return true;
}

static void give_away(struct xiw_flow *f, uint32_t to)
{
	/* In this order: the slot can be claimed only after the second store. */
	__atomic_store_n(&f->pid, to, __ATOMIC_RELEASE);
	__atomic_store_n(&f->engine, to, __ATOMIC_RELEASE);
}

static uint32_t engine_of(const struct xiw_table *t, uint32_t index)
{
	return __atomic_load_n(&t->flows[index].engine, __ATOMIC_ACQUIRE);
}

/* Clears a free slot, except the word that names its engine, which another process may be reading. */
static void clear(struct xiw_flow *f, const struct xiw_flow_key *key)
{
	uint32_t epoch = xiw_owner_epoch(f->owner), claims = f->claim_seq;
	size_t behind = offsetof(struct xiw_flow, engine) + sizeof(f->engine);
	struct xiw_flow fresh = {
		/*
		 * The epoch goes on from one connection to the next, so that a late frame of the last one stays late.
		 */
		.owner = xiw_owner_pack(0, epoch + 1, XIW_PATH_NONE),
		.kernel_nxt = ~0ull, /* belongs to no epoch */
		.key = *key,
		.pid = (uint32_t)getpid(),
		.claim_seq = claims + 1,
	};

	memcpy(f, &fresh, offsetof(struct xiw_flow, engine));
	memset((uint8_t *)f + behind, 0, sizeof(*f) - behind);
}

/* Clears what the connection before has counted and seen. */
static void adopt(struct xiw_flow *f)
{
	f->claim_seq++;
	f->kernel_segs = f->control_segs = f->kernel_octets = 0;
	f->direct_segs = f->direct_octets = f->went_direct = 0;
	memset(f->reasons, 0, sizeof(f->reasons));
	f->ece = f->ts_recent = f->beyond = f->run_end = f->run_len = 0;
	f->barred = f->try_nxt = f->try_seen = 0;
	f->try_ns = f->elsewhere_segs = 0;
}

int xiw_table_claim(struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *skew)
{
	uint32_t index, i;
	struct xiw_flow *f;

	if (!bpf_map_lookup_elem(t->index_fd, key, &index) && index < XIW_MAX_FLOWS) {
		uint32_t engine = engine_of(t, index);

		f = &t->flows[index];
		if ((engine && engine_lives(t, engine)) || !hand_over(f, engine, t->me))
			return -EBUSY;
		adopt(f);
		*skew = xiw_flow_to_kernel(f);
		return (int)index;
	}
	for (i = 0; i < XIW_MAX_FLOWS; i++) {
		index = (t->hint + i) % XIW_MAX_FLOWS;
		f = &t->flows[index];
		if (!hand_over(f, 0, t->me))
			continue;
		t->hint = index + 1;
		clear(f, key);
		*skew = 0;
		return (int)index;
	}
	return -ENOSPC;
}

int xiw_table_insert(struct xiw_table *t, uint32_t index)
{
	return bpf_map_update_elem(t->index_fd, &t->flows[index].key, &index, BPF_ANY) ? -errno : 0;
}

/* Takes the slot out of the index, so that BPF does not find it any more. */
static void forget(struct xiw_table *t, uint32_t index)
{
	uint32_t at;

	if (!bpf_map_lookup_elem(t->index_fd, &t->flows[index].key, &at) && at == index)
		bpf_map_delete_elem(t->index_fd, &t->flows[index].key);
}

static void release(struct xiw_table *t, uint32_t index, uint32_t to)
{
	struct xiw_flow *f = &t->flows[index];

	__atomic_store_n(&f->owner, xiw_owner_pack(0, xiw_owner_epoch(f->owner) + 1, XIW_PATH_NONE),
			 __ATOMIC_RELEASE);
	give_away(f, to);
}

void xiw_table_remove(struct xiw_table *t, uint32_t index)
{
	forget(t, index);
	release(t, index, 0);
}

void xiw_table_retire(struct xiw_table *t, uint32_t index)
{
	forget(t, index);
	release(t, index, RETIRED);
}

void xiw_table_abandon(struct xiw_table *t, uint32_t index)
{
	t->left[index] = ++t->leaves;
	give_away(&t->flows[index], ABANDONED);
}

/*
 * A peer may use the same addresses again at any time. Then its SYN, and all that follows, is translated by this slot,
 * which must stay. So the socket is looked up again when the slot is out of the index.
 */
static bool collect(struct xiw_table *t, uint32_t index, uint32_t from, bool (*done)(int state))
{
	struct xiw_flow *f = &t->flows[index];

	if (!done(xiw_flow_socket_state(&f->key)))
		return false;
	/* Claimed first, so that nobody adopts what is being removed. */
	if (!hand_over(f, from, t->me))
		return false;
	forget(t, index);
	if (!done(xiw_flow_socket_state(&f->key)) && !xiw_table_insert(t, index)) {
		give_away(f, from);
		return false;
	}
	release(t, index, 0);
	return true;
}

static bool is_gone(int state)
{
	return !state;
}

static bool is_over(int state)
{
	return !state || state == TCP_TIME_WAIT;
}

bool xiw_table_make_room(struct xiw_table *t)
{
	uint64_t after = 0;

	for (int n = 0; n < ROOM_QUESTIONS; n++) {
		uint32_t oldest = XIW_MAX_FLOWS;

		for (uint32_t i = 0; i < XIW_MAX_FLOWS; i++) {
			if (engine_of(t, i) == ABANDONED && t->left[i] >= after &&
			    (oldest == XIW_MAX_FLOWS || t->left[i] < t->left[oldest]))
				oldest = i;
		}
		if (oldest == XIW_MAX_FLOWS)
			return false;
		if (collect(t, oldest, ABANDONED, is_over))
			return true;
		after = t->left[oldest] + 1;
	}
	return false;
}

void xiw_table_take_over(struct xiw_table *t)
{
	for (uint32_t i = 0; i < XIW_MAX_FLOWS; i++) {
		struct xiw_flow *f = &t->flows[i];
		uint32_t path = xiw_owner_path(xiw_flow_owner(f));

		if (path == XIW_PATH_ARMED || path == XIW_PATH_DIRECT)
			xiw_flow_to_kernel(f);
	}
}

/* By now XDP and the rings hold none of its frames any more. */
static bool collect_retired(struct xiw_table *t, uint32_t index)
{
	return hand_over(&t->flows[index], RETIRED, 0);
}

int xiw_table_collect(struct xiw_table *t)
{
	int n = 0;

	for (uint32_t i = 0; i < XIW_MAX_FLOWS; i++) {
		uint32_t engine = engine_of(t, i);

		if (!engine || engine_lives(t, engine))
			continue;
		if (collect_retired(t, i) || collect(t, i, engine, is_gone))
			n++;
		else /* for xiw_table_collect_some() */
			hand_over(&t->flows[i], engine, ABANDONED);
	}
	return n;
}

bool xiw_table_collect_some(struct xiw_table *t, unsigned int most)
{
	uint32_t from = t->next;
	bool left = false;

	for (uint32_t n = 0; n < XIW_MAX_FLOWS; n++) {
		uint32_t i = (from + n) % XIW_MAX_FLOWS;

		if (collect_retired(t, i))
			continue;
		if (engine_of(t, i) != ABANDONED)
			continue;
		if (!most)
			return true;
		most--;
		t->next = i + 1;
		left |= !collect(t, i, ABANDONED, is_gone);
	}
	return left;
}
