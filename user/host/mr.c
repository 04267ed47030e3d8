// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory regions, and a table of them by STag for those that post. */
#include "host/mr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/gate.h"
#include "core/mapped.h"
#include "core/region.h"
#include "group/region.h"
#include "host/engines.h"
#include "host/life.h"

#define BUCKETS 16384u

struct xiw_host_mr {
	struct xiw_host_life life;
	struct xiw_host_mr *next;
	struct xiw_group_region *region;
	char *memory;
	size_t len;
	uint64_t base_to;
	uint32_t stag, pd;
	bool writable;
};

/* With xiw_host_regions. STags are random, so they need no hash. */
static struct xiw_host_mr *table[BUCKETS];
/* Changes whenever a region goes: what was seen before may be gone. */
static uint64_t era = 1;
static uint32_t last_pd;

uint32_t xiw_host_pd(void)
{
	return __atomic_add_fetch(&last_pd, 1, __ATOMIC_RELAXED);
}

/* RFC 5040 section 8.1: the sink of an RDMA Read needs a right, too. */
static unsigned int rights(unsigned int access)
{
	unsigned int r = 0;

	if (access & XIW_HOST_LOCAL_WRITE)
		r |= XIW_ACCESS_SINK;
	if (access & XIW_HOST_REMOTE_WRITE)
		r |= XIW_ACCESS_WRITE;
	if (access & XIW_HOST_REMOTE_READ)
		r |= XIW_ACCESS_READ;
	if (access & XIW_HOST_REMOTE_ATOMIC)
		r |= XIW_ACCESS_ATOMIC;
	return r ? r : XIW_ACCESS_NONE;
}

#define CHANGES (XIW_HOST_LOCAL_WRITE | XIW_HOST_REMOTE_WRITE | XIW_HOST_REMOTE_ATOMIC)
#define KNOWN (CHANGES | XIW_HOST_REMOTE_READ | XIW_HOST_ON_DEMAND)

/* What has no length, or no place, is refused otherwise. */
static int look_at(const void *addr, size_t len, unsigned int access)
{
	if (!addr || !len || access & XIW_HOST_ON_DEMAND)
		return 0;
	return xiw_mapped_check(addr, len, access & CHANGES);
}

int xiw_host_mr_register(uint32_t pd, void *addr, size_t len, uint64_t base_to, unsigned int access,
			 struct xiw_host_mr **mr)
{
	const struct xiw_region_opts opts = {
		.size = sizeof(opts),
		.base_to = base_to,
		.pd = pd,
		.access = rights(access),
	};
	struct xiw_group *group;
	struct xiw_host_mr *m;
	int err;

	if (access & ~KNOWN)
		return -EINVAL;
	err = look_at(addr, len, access);
	if (!err)
		err = xiw_host_engines(&group);
	if (err)
		return err;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	err = xiw_group_region_add(group, addr, len, &opts, &m->region);
	if (err) {
		free(m);
		return err;
	}
	xiw_host_born(&m->life);
	m->stag = xiw_group_region_stag(m->region);
	m->memory = addr;
	m->len = len;
	m->base_to = base_to;
	m->pd = pd;
	m->writable = access & XIW_HOST_LOCAL_WRITE;
	pthread_rwlock_wrlock(&xiw_host_regions);
	m->next = table[m->stag % BUCKETS];
	table[m->stag % BUCKETS] = m;
	pthread_rwlock_unlock(&xiw_host_regions);
	*mr = m;
	return 0;
}

uint32_t xiw_host_mr_stag(const struct xiw_host_mr *mr)
{
	return mr->stag;
}

int xiw_host_mr_free(struct xiw_host_mr *mr)
{
	struct xiw_host_mr **at;

	if (!mr)
		return 0;
	pthread_rwlock_wrlock(&xiw_host_regions);
	for (at = &table[mr->stag % BUCKETS]; *at != mr; at = &(*at)->next)
		;
	*at = mr->next;
	__atomic_fetch_add(&era, 1, __ATOMIC_RELEASE);
	pthread_rwlock_unlock(&xiw_host_regions);
	if (!xiw_host_dead(&mr->life))
		xiw_group_region_free(mr->region);
	free(mr);
	return 0;
}

/* ---- posted work ---------------------------------------------------------------------------------------- */

/* The memory of a piece, whose address counts from the region's base. NULL: it is not the region's. */
static void *find(const struct xiw_host_seen *s, const struct xiw_host_sge *sge, bool write)
{
	const uint64_t off = (uintptr_t)sge->addr - s->base_to;

	if (off > s->len || sge->len > s->len - off || (write && !s->writable))
		return NULL;
	return s->memory + off;
}

static bool look_up(const struct xiw_host_sge *sge, uint32_t pd, struct xiw_host_seen *seen)
{
	const struct xiw_host_mr *m;

	pthread_rwlock_rdlock(&xiw_host_regions);
	for (m = table[sge->lkey % BUCKETS]; m; m = m->next)
		if (m->stag == sge->lkey && m->pd == pd && !xiw_host_dead(&m->life))
			break;
	if (m)
		*seen = (struct xiw_host_seen){
			.era = __atomic_load_n(&era, __ATOMIC_RELAXED),
			.lkey = m->stag,
			.writable = m->writable,
			.memory = m->memory,
			.len = m->len,
			.base_to = m->base_to,
		};
	pthread_rwlock_unlock(&xiw_host_regions);
	return m;
}

int64_t xiw_host_pieces(const struct xiw_host_sge *sge, unsigned int n,
			const struct xiw_host_sge_rules *rules, bool write,
			struct xiw_host_seen *seen, struct iovec *iov)
{
	uint64_t sum = 0;

	if (n > rules->max)
		return -EINVAL;
	for (unsigned int i = 0; i < n; i++) {
		void *at = sge[i].addr;

		if (!rules->unchecked && sge[i].len) {
			if ((seen->lkey != sge[i].lkey ||
			     seen->era != __atomic_load_n(&era, __ATOMIC_ACQUIRE)) &&
			    !look_up(&sge[i], rules->pd, seen))
				return -EINVAL;
			at = find(seen, &sge[i], write);
		}
		/* Without memory the engine would refuse it, and nobody be told. */
		if (sge[i].len && !at)
			return -EINVAL;
		iov[i] = (struct iovec){ .iov_base = at, .iov_len = sge[i].len };
		sum += sge[i].len;
	}
	return sum > UINT32_MAX ? -EMSGSIZE : (int64_t)sum;
}

/* ---- work that was posted before a region went ---------------------------------------------------------- */

uint64_t xiw_host_era(void)
{
	return __atomic_load_n(&era, __ATOMIC_ACQUIRE);
}

/* The engine's regions are those of all others. A region that goes meanwhile takes back what is posted with them. */
bool xiw_host_recheck(struct xiw_engine *e, const struct xiw_host_sge_rules *rules,
		      uint64_t *since, struct iovec *iov, unsigned int n)
{
	const uint64_t now = xiw_host_era();
	unsigned int i;

	if (*since == now || rules->unchecked)
		return true;
	*since = now;
	/* A call of the engine runs outside the gate, in front of its turn. */
	xiw_gate_enter(&e->gate);
	for (i = 0;
	     i < n && (!iov[i].iov_len || xiw_region_has(e, iov[i].iov_base, iov[i].iov_len)); i++)
		;
	xiw_gate_leave(&e->gate);
	if (i == n)
		return true;
	memset(iov, 0, n * sizeof(*iov));
	return false;
}
