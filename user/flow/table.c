// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flow/handoff.h"
#include "flow/table.h"

static const struct xiw_table no_table = {
	.flows_fd = -1,
	.index_fd = -1,
	.queues_fd = -1,
	.xsks_fd = -1,
	.socket_fd = -1,
};

static int open_map(const char *dir, const char *name, uint32_t value_size, uint32_t entries)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);
	char path[512];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) || info.value_size != value_size ||
	    info.max_entries != entries) {
		close(fd);
		return -EPROTO;
	}
	return fd;
}

/* Where the maps are and it is not, another version has loaded them. */
static int open_program(const char *dir, const char *name)
{
	char path[512];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = bpf_obj_get(path);
	return fd >= 0 ? fd : errno == ENOENT ? -EPROTO : -errno;
}

static void *map_array(int fd, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

void xiw_table_none(struct xiw_table *t)
{
	*t = no_table;
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

void xiw_table_close(struct xiw_table *t)
{
	const int fds[] = { t->flows_fd, t->index_fd, t->queues_fd, t->xsks_fd, t->socket_fd };

	if (t->flows)
		munmap(t->flows, sizeof(*t->flows) * XIW_MAX_FLOWS);
	if (t->queues)
		munmap(t->queues, sizeof(*t->queues) * XIW_MAX_QUEUES);
	for (unsigned int i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*t = no_table;
}

/* A slot that nobody has but which translates on: no pid is ever that high (PID_MAX_LIMIT is 2^22). */
#define PID_ABANDONED 0x40000000u
/* Nobody has it, and nothing is translated: free from the next collection on. */
#define PID_RETIRED 0x40000001u

#define ROOM_QUESTIONS 8 /* to the kernel, when the table is full */

static bool process_lives(uint32_t pid)
{
	return pid && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

int xiw_table_claim(struct xiw_table *t, const struct xiw_flow_key *key, uint32_t *skew)
{
	uint32_t me = (uint32_t)getpid(), index, i;
	struct xiw_flow *f;

	if (!bpf_map_lookup_elem(t->index_fd, key, &index) && index < XIW_MAX_FLOWS) {
		uint32_t pid = __atomic_load_n(&t->flows[index].pid, __ATOMIC_ACQUIRE);

		f = &t->flows[index];
		if (process_lives(pid))
			return -EBUSY;
		if (!__atomic_compare_exchange_n(&f->pid, &pid, me, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			return -EBUSY;
		f->claim_seq++;
		/* Counters are the new connection's. */
		f->kernel_segs = f->control_segs = f->kernel_octets = 0;
		f->direct_segs = f->direct_octets = f->went_direct = 0;
		memset(f->why, 0, sizeof(f->why));
		/* And nothing of what the old one had seen holds for the new one. */
		f->ece = f->ts_recent = f->beyond = f->run_end = f->run_len = 0;
		*skew = xiw_flow_settle(f);
		return (int)index;
	}
	for (i = 0; i < XIW_MAX_FLOWS; i++) {
		uint32_t nobody = 0;

		index = (t->hint + i) % XIW_MAX_FLOWS;
		f = &t->flows[index];
		if (!__atomic_compare_exchange_n(&f->pid, &nobody, me, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			continue;
		t->hint = index + 1;
		uint32_t epoch = xiw_owner_epoch(f->owner), claims = f->claim_seq;

		/* The epoch goes on across tenants: a late frame of the last one must stay late. */
		memset(f, 0, sizeof(*f));
		f->pid = me;
		f->claim_seq = claims + 1;
		f->key = *key;
		f->kernel_nxt = ~0ull; /* names no epoch */
		f->owner = xiw_owner_pack(0, epoch + 1, XIW_PATH_NONE);
		*skew = 0;
		return (int)index;
	}
	return -ENOSPC;
}

int xiw_table_insert(struct xiw_table *t, uint32_t index)
{
	return bpf_map_update_elem(t->index_fd, &t->flows[index].key, &index, BPF_ANY) ? -errno : 0;
}

/* Out of the index: BPF does not find it any more. */
static void forget(struct xiw_table *t, uint32_t index)
{
	uint32_t at;

	if (!bpf_map_lookup_elem(t->index_fd, &t->flows[index].key, &at) && at == index)
		bpf_map_delete_elem(t->index_fd, &t->flows[index].key);
}

static void release(struct xiw_table *t, uint32_t index, uint32_t pid)
{
	struct xiw_flow *f = &t->flows[index];

	__atomic_store_n(&f->owner, xiw_owner_pack(0, xiw_owner_epoch(f->owner) + 1, XIW_PATH_NONE),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&f->pid, pid, __ATOMIC_RELEASE);
}

void xiw_table_remove(struct xiw_table *t, uint32_t index)
{
	forget(t, index);
	release(t, index, 0);
}

void xiw_table_retire(struct xiw_table *t, uint32_t index)
{
	forget(t, index);
	release(t, index, PID_RETIRED);
}

void xiw_table_abandon(struct xiw_table *t, uint32_t index)
{
	t->left[index] = ++t->leaves;
	__atomic_store_n(&t->flows[index].pid, PID_ABANDONED, __ATOMIC_RELEASE);
}

/*
 * A peer may use the same addresses again at any time: then its SYN, and all that follows, is translated by
 * what this slot says, and the slot must stay. So the question is asked again when the slot is out of the index.
 */
static bool collect(struct xiw_table *t, uint32_t index, uint32_t pid, bool (*done)(int state))
{
	struct xiw_flow *f = &t->flows[index];

	if (!done(xiw_flow_socket_state(&f->key)))
		return false;
	/* Claim it first, so that nobody else adopts what is being removed. */
	if (!__atomic_compare_exchange_n(&f->pid, &pid, (uint32_t)getpid(), false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return false;
	forget(t, index);
	if (!done(xiw_flow_socket_state(&f->key)) && !xiw_table_insert(t, index)) {
		__atomic_store_n(&f->pid, pid, __ATOMIC_RELEASE);
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
			if (__atomic_load_n(&t->flows[i].pid, __ATOMIC_ACQUIRE) == PID_ABANDONED &&
			    t->left[i] >= after &&
			    (oldest == XIW_MAX_FLOWS || t->left[i] < t->left[oldest]))
				oldest = i;
		}
		if (oldest == XIW_MAX_FLOWS)
			return false;
		if (collect(t, oldest, PID_ABANDONED, is_over))
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
			xiw_flow_settle(f);
	}
}

/* What XDP and the rings still had of its frames has been seen since. */
static bool collect_retired(struct xiw_table *t, uint32_t index)
{
	uint32_t pid = PID_RETIRED;

	return __atomic_compare_exchange_n(&t->flows[index].pid, &pid, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

int xiw_table_collect(struct xiw_table *t)
{
	uint32_t me = (uint32_t)getpid();
	int n = 0;

	for (uint32_t i = 0; i < XIW_MAX_FLOWS; i++) {
		uint32_t pid = __atomic_load_n(&t->flows[i].pid, __ATOMIC_ACQUIRE);

		if (!pid || pid == me || process_lives(pid))
			continue;
		if (collect_retired(t, i) || collect(t, i, pid, is_gone))
			n++;
		else /* for xiw_table_collect_some() */
			__atomic_compare_exchange_n(&t->flows[i].pid, &pid, PID_ABANDONED, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
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
		if (__atomic_load_n(&t->flows[i].pid, __ATOMIC_ACQUIRE) != PID_ABANDONED)
			continue;
		if (!most)
			return true;
		most--;
		t->next = i + 1;
		left |= !collect(t, i, PID_ABANDONED, is_gone);
	}
	return left;
}

static bool is_v4(const __be32 addr[4])
{
	return !addr[0] && !addr[1] && addr[2] == htonl(0xffff);
}

/* Its state. Says in `held` whether a process has it open, whatever PID namespace that lives in. */
static int ask_socket(const struct xiw_flow_key *key, bool *held)
{
	struct {
		struct nlmsghdr nlh;
		struct inet_diag_req_v2 req;
	} msg = {
		.nlh = { .nlmsg_len = sizeof(msg),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST },
		.req = { .sdiag_family = is_v4(key->local_addr) ? AF_INET : AF_INET6,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~0u,
			 .id = { .idiag_sport = key->local_port,
				 .idiag_dport = key->remote_port,
				 .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	union {
		struct nlmsghdr nlh;
		char bytes[8192];
	} answer;
	bool v4 = is_v4(key->local_addr);
	int fd, err = -EIO;
	ssize_t n;

	memcpy(msg.req.id.idiag_src, v4 ? &key->local_addr[3] : key->local_addr, v4 ? 4 : 16);
	memcpy(msg.req.id.idiag_dst, v4 ? &key->remote_addr[3] : key->remote_addr, v4 ? 4 : 16);
	fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return -errno;
	if (send(fd, &msg, sizeof(msg), 0) != sizeof(msg)) {
		err = -errno;
		goto out;
	}
	n = recv(fd, &answer, sizeof(answer), 0);
	if (n < 0) {
		err = -errno;
	} else if (NLMSG_OK(&answer.nlh, (size_t)n)) {
		if (answer.nlh.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
			struct inet_diag_msg *m = NLMSG_DATA(&answer.nlh);

			/* Without an exact match the kernel answers with a listener on the port. */
			err = m->id.idiag_dport == key->remote_port ? m->idiag_state : 0;
			*held = err && m->idiag_inode;
		} else if (answer.nlh.nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = NLMSG_DATA(&answer.nlh);

			err = e->error == -ENOENT ? 0 : e->error;
		}
	}
out:
	close(fd);
	return err;
}

int xiw_flow_socket_state(const struct xiw_flow_key *key)
{
	bool held;

	return ask_socket(key, &held);
}

int xiw_flow_socket_exists(const struct xiw_flow_key *key)
{
	int state = xiw_flow_socket_state(key);

	return state > 0 ? 1 : state;
}

int xiw_flow_socket_held(const struct xiw_flow_key *key)
{
	bool held = false;
	int there = ask_socket(key, &held);

	return there < 0 ? there : held;
}

static void set_addr(__be32 addr[4], __be16 *port, const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

		addr[0] = addr[1] = 0;
		addr[2] = htonl(0xffff);
		addr[3] = in->sin_addr.s_addr;
		*port = in->sin_port;
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

		memcpy(addr, &in6->sin6_addr, 16);
		*port = in6->sin6_port;
	}
}

void xiw_flow_key_set(struct xiw_flow_key *key, const struct sockaddr_storage *remote,
		      const struct sockaddr_storage *local)
{
	set_addr(key->remote_addr, &key->remote_port, remote);
	set_addr(key->local_addr, &key->local_port, local);
}
