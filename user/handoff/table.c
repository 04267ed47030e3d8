// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "handoff/owner.h"
#include "handoff/slot.h"
#include "netif/egress.h"
#include "netif/pins.h"

static const struct xiw_table no_table = {
	.flows_fd = -1,
	.taken_fd = -1,
	.index_fd = -1,
	.queues_fd = -1,
	.xsks_fd = -1,
	.socket_fd = -1,
	.arrivals_fd = -1,
	.egress_fd = -1,
	.obstacles_fd = -1,
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

/* The sizes of the other maps do not tell every version from the next. */
static int check_abi(const char *dir)
{
	int fd = open_map(dir, "xiw_abi", 4, XIW_ABI_VERSION);

	if (fd < 0)
		return fd == -ENOENT ? -ESTALE : fd;
	close(fd);
	return 0;
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

static struct flock lock_of(uint32_t engine, short type)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = engine, .l_len = 1
	};
}

bool xiw_locked_at(int dir_fd, uint32_t number)
{
	struct flock lock = lock_of(number, F_WRLCK);

	return fcntl(dir_fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

int xiw_lock_at(const char *dir, uint32_t number)
{
	struct flock lock = lock_of(number, F_RDLCK);
	int err, fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	err = fcntl(fd, F_OFD_SETLK, &lock) ? -errno : 0;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* A child that another thread has forked may have the descriptor, so closing it may not be enough. */
void xiw_unlock_at(int lock, uint32_t number)
{
	struct flock none = lock_of(number, F_UNLCK);

	if (lock < 0)
		return;
	fcntl(lock, F_OFD_SETLK, &none);
	close(lock);
}

/*
 * An engine lives as long as its lock on the directory of the pins, which every process sees alike, while a process's
 * number means nothing in another PID namespace, and is used again. Nobody without access to the pins can hold a lock.
 */
bool xiw_engine_lives_at(int dir_fd, uint32_t engine)
{
	return engine < XIW_ABANDONED && xiw_locked_at(dir_fd, engine);
}

bool xiw_engine_lives(const struct xiw_table *t, uint32_t engine)
{
	return engine == t->me || xiw_engine_lives_at(t->dir_fd, engine);
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
		t->me &= XIW_ABANDONED - 1;
		lock = lock_of(t->me, F_WRLCK);
		if (fcntl(t->dir_fd, F_OFD_GETLK, &lock))
			return -errno;
	} while (!t->me || lock.l_type != F_UNLCK);
	lock = lock_of(t->me, F_RDLCK);
	return fcntl(t->dir_fd, F_OFD_SETLK, &lock) ? -errno : 0;
}

static size_t taken_len(const struct xiw_table *t)
{
	return t->nflows / 64 * sizeof(*t->taken);
}

/* The maps that have an entry for each slot. How many that are was said when they were loaded. */
static int open_slots(struct xiw_table *t, const char *dir)
{
	int err = xiw_pins_check_flows(xiw_pins_open(dir, "xiw_flows", true), &t->nflows);

	t->flows_fd = err;
	if (err >= 0)
		err = t->taken_fd = open_map(dir, "xiw_taken", sizeof(*t->taken), t->nflows / 64);
	if (err >= 0)
		err = t->index_fd = open_map(dir, "xiw_flow_index", 4, t->nflows);
	return err;
}

int xiw_table_open(struct xiw_table *t, const char *dir)
{
	int err;

	*t = no_table;
	err = open_slots(t, dir);
	if (err >= 0)
		err = check_abi(dir);
	if (err >= 0)
		err = t->queues_fd =
			open_map(dir, "xiw_queues", sizeof(*t->queues), XIW_MAX_QUEUES);
	if (err >= 0)
		err = t->xsks_fd = open_map(dir, "xiw_xsks", 4, XIW_MAX_QUEUES);
	if (err >= 0)
		err = t->socket_fd = open_program(dir, "xiw_socket");
	if (err >= 0)
		err = t->arrivals_fd = open_map(dir, "xiw_arrivals", 4, XIW_ARRIVALS);
	/* There is none where xiw_egress is a filter of clsact. */
	if (err >= 0)
		t->egress_fd = xiw_egress_open(dir);
	if (err >= 0)
		err = t->obstacles_fd =
			open_map(dir, "xiw_obstacles", sizeof(*t->obstacles), XIW_OBSTACLES);
	if (err >= 0)
		err = become_engine(t, dir);
	if (err == -ESTALE)
		err = -EPROTO;
	if (err < 0)
		goto fail;
	err = xiw_slot_lists_init(&t->lists, t->nflows);
	if (err)
		goto fail;
	t->next = t->nflows;
	err = -ENOMEM;
	t->flows = map_array(t->flows_fd, sizeof(*t->flows) * t->nflows);
	t->taken = map_array(t->taken_fd, taken_len(t));
	t->queues = map_array(t->queues_fd, sizeof(*t->queues) * XIW_MAX_QUEUES);
	t->obstacles = map_array(t->obstacles_fd, sizeof(*t->obstacles) * XIW_OBSTACLES);
	if (!t->flows || !t->taken || !t->queues || !t->obstacles)
		goto fail;
	return 0;
fail:
	xiw_table_close(t);
	return err;
}

void xiw_table_shut(struct xiw_table *t)
{
	int *const fds[] = { &t->flows_fd,  &t->taken_fd,    &t->index_fd, &t->queues_fd,
			     &t->xsks_fd,   &t->socket_fd,   &t->dir_fd,   &t->arrivals_fd,
			     &t->egress_fd, &t->obstacles_fd };

	for (unsigned int i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void xiw_table_close(struct xiw_table *t)
{
	if (t->flows)
		munmap(t->flows, sizeof(*t->flows) * t->nflows);
	if (t->taken)
		munmap(t->taken, taken_len(t));
	if (t->queues)
		munmap(t->queues, sizeof(*t->queues) * XIW_MAX_QUEUES);
	if (t->obstacles)
		munmap(t->obstacles, sizeof(*t->obstacles) * XIW_OBSTACLES);
	xiw_slot_lists_free(&t->lists);
	xiw_table_shut(t);
	*t = no_table;
}

bool xiw_slot_hand_over(struct xiw_flow *f, uint32_t from, uint32_t to)
{
	if (!__atomic_compare_exchange_n(&f->engine, &from, to, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return false;
	__atomic_store_n(&f->pid, to && to < XIW_ABANDONED ? (uint32_t)getpid() : to,
			 __ATOMIC_RELEASE);
	return true;
}

void xiw_slot_give_away(struct xiw_flow *f, uint32_t to)
{
	/* In this order: the slot can be claimed only after the second store. */
	__atomic_store_n(&f->pid, to, __ATOMIC_RELEASE);
	__atomic_store_n(&f->engine, to, __ATOMIC_RELEASE);
}

uint32_t xiw_slot_engine(const struct xiw_table *t, uint32_t index)
{
	return __atomic_load_n(&t->flows[index].engine, __ATOMIC_SEQ_CST);
}

uint32_t xiw_table_next(const struct xiw_table *t, uint32_t from)
{
	return xiw_bits_set_from(t->taken, from, t->nflows);
}

/*
 * The word `engine` decides who has a slot, and the bit follows it. Whoever clears the bit looks at the word again, and
 * whoever finds a slot taken without its bit sets it, so that the bit becomes right even if a process dies in between.
 */
void xiw_slot_untake(struct xiw_table *t, uint32_t index)
{
	xiw_bits_clear(t->taken, index);
	if (xiw_slot_engine(t, index))
		xiw_bits_set(t->taken, index);
}

/* Claims a free slot in [from, to). Returns `to` if there is none. */
static uint32_t take_free(struct xiw_table *t, uint32_t from, uint32_t to)
{
	uint32_t i = xiw_bits_clear_from(t->taken, from, to);

	for (; i < to; i = xiw_bits_clear_from(t->taken, i + 1, to)) {
		bool mine = xiw_slot_hand_over(&t->flows[i], 0, t->me);

		xiw_bits_set(t->taken, i);
		if (mine)
			break;
	}
	return i;
}

void xiw_slot_unlist(struct xiw_table *t, uint32_t index)
{
	if (t->next == index)
		t->next = xiw_slot_next(&t->lists, index);
	xiw_slot_remove(&t->lists, index);
}

void xiw_slot_list(struct xiw_table *t, enum xiw_slot_list list, uint32_t index)
{
	xiw_slot_unlist(t, index);
	xiw_slot_add(&t->lists, list, index);
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
	f->echoed = f->began_ts = 0;
	f->try_ns = f->elsewhere_segs = f->bypass_segs = f->other_segs = 0;
}

int xiw_table_claim(struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *skew)
{
	struct xiw_flow *f;
	uint32_t index;

	if (!bpf_map_lookup_elem(t->index_fd, key, &index) && index < t->nflows) {
		uint32_t engine = xiw_slot_engine(t, index);

		f = &t->flows[index];
		if ((engine && xiw_engine_lives(t, engine)) ||
		    !xiw_slot_hand_over(f, engine, t->me))
			return -EBUSY;
		/* It may have been freed since it was looked up, and left once more by another connection. */
		if (memcmp(&f->key, key, sizeof(*key)) != 0) {
			xiw_slot_give_away(f, engine);
			return -EBUSY;
		}
		xiw_bits_set(t->taken, index);
		xiw_slot_unlist(t, index);
		adopt(f);
		*skew = xiw_flow_to_kernel(f);
		f->served_by = t->me;
		return (int)index;
	}
	index = take_free(t, t->hint, t->nflows);
	if (index == t->nflows)
		index = take_free(t, 0, t->nflows);
	if (index == t->nflows)
		return -ENOSPC;
	/* All others come first, so that a slot rests for a while when it is free again. */
	t->hint = index + 1;
	xiw_slot_unlist(t, index);
	clear(&t->flows[index], key);
	t->flows[index].served_by = t->me;
	*skew = 0;
	return (int)index;
}

int xiw_table_insert(struct xiw_table *t, uint32_t index)
{
	return bpf_map_update_elem(t->index_fd, &t->flows[index].key, &index, BPF_ANY) ? -errno : 0;
}

void xiw_slot_forget(struct xiw_table *t, uint32_t index)
{
	uint32_t at;

	if (!bpf_map_lookup_elem(t->index_fd, &t->flows[index].key, &at) && at == index)
		bpf_map_delete_elem(t->index_fd, &t->flows[index].key);
}

void xiw_slot_release(struct xiw_table *t, uint32_t index, uint32_t to)
{
	struct xiw_flow *f = &t->flows[index];

	__atomic_store_n(&f->owner, xiw_owner_pack(0, xiw_owner_epoch(f->owner) + 1, XIW_PATH_NONE),
			 __ATOMIC_RELEASE);
	xiw_slot_give_away(f, to);
	if (!to)
		xiw_slot_untake(t, index);
}

void xiw_table_remove(struct xiw_table *t, uint32_t index)
{
	xiw_slot_forget(t, index);
	xiw_slot_release(t, index, 0);
}

void xiw_table_retire(struct xiw_table *t, uint32_t index)
{
	xiw_slot_forget(t, index);
	xiw_slot_list(t, XIW_SLOTS_RETIRED, index);
	xiw_slot_release(t, index, XIW_RETIRED);
}

void xiw_table_abandon(struct xiw_table *t, uint32_t index)
{
	xiw_slot_list(t, XIW_SLOTS_LEFT, index);
	xiw_slot_give_away(&t->flows[index], XIW_ABANDONED);
}

void xiw_table_take_over(struct xiw_table *t)
{
	for (uint32_t i = xiw_table_next(t, 0); i < t->nflows; i = xiw_table_next(t, i + 1)) {
		struct xiw_flow *f = &t->flows[i];
		uint32_t path = xiw_owner_path(xiw_flow_owner(f));

		if ((path == XIW_PATH_ARMED || path == XIW_PATH_DIRECT) &&
		    !xiw_engine_lives(t, xiw_slot_engine(t, i)))
			xiw_flow_to_kernel(f);
	}
}

bool xiw_table_arrival(const struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *queue)
{
	return !bpf_map_lookup_and_delete_elem(t->arrivals_fd, key, queue);
}
