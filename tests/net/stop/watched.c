// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/stop/watched.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/net/lib/common.h"

#define OURS 0x5a
#define WHILE_MS 400
#define LIMIT_MS 20000
/* All calls, however busy the machine: one that waits for a peer waits for a retransmission of TCP at least, 200 ms. */
#define SLOW_MS 1000
#define EACH_MS 50

struct watched watched[MOST];
unsigned int nwatched;

unsigned int watched_new(void)
{
	uint8_t *m =
		mmap(NULL, WATCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED || nwatched == MOST)
		die_errno("mmap");
	watched[nwatched].octets = m;
	return nwatched++;
}

uint8_t *watched_buffer(unsigned int i)
{
	struct watched *w = &watched[i];

	return w->octets + WATCHED / 2 + w->posted++ % BUFFERS * BUFFER;
}

static void await_writes(const uint8_t *octets)
{
	const uint64_t end = now_ms() + LIMIT_MS;

	while (!__atomic_load_n(&octets[1], __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&octets[2], __ATOMIC_RELAXED))
		if (now_ms() > end)
			die("the peer writes nothing");
}

void watched_await_traffic(bool writes, void (*take)(unsigned int i, bool again))
{
	const unsigned int enough = writes ? 20 : 1;
	const uint64_t end = now_ms() + LIMIT_MS;

	for (unsigned int i = 0; i < nwatched; i++) {
		while (watched[i].told < enough) {
			for (unsigned int k = 0; k < nwatched; k++)
				take(k, writes);
			if (now_ms() > end)
				die("nothing comes");
		}
		if (writes)
			await_writes(watched[i].octets);
	}
}

void watched_end_all(void (*end)(unsigned int i))
{
	const double since = now_s();
	double ms;

	for (unsigned int i = 0; i < nwatched; i++)
		end(i);
	ms = (now_s() - since) * 1e3;
	printf("%u calls in %.2f ms\n", nwatched, ms);
	if (ms > SLOW_MS + EACH_MS * nwatched)
		die("the calls wait for something");
}

static void check(unsigned int i)
{
	for (unsigned int k = 0; k < WATCHED; k++)
		if (__atomic_load_n(&watched[i].octets[k], __ATOMIC_RELAXED) != OURS)
			die("octet %u of memory %u has changed", k, i);
}

void watched_check(void)
{
	const uint64_t end = now_ms() + WHILE_MS;

	for (unsigned int i = 0; i < nwatched; i++)
		memset(watched[i].octets, OURS, WATCHED);
	do {
		for (unsigned int i = 0; i < nwatched; i++)
			check(i);
		usleep(10000);
	} while (now_ms() < end);
}

void watched_unmap(void)
{
	for (unsigned int i = 0; i < nwatched; i++)
		if (munmap(watched[i].octets, WATCHED))
			die_errno("munmap");
	usleep(100000);
}

void await_file(const char *path)
{
	const uint64_t end = now_ms() + LIMIT_MS;

	while (access(path, F_OK)) {
		if (now_ms() > end)
			die("no %s", path);
		usleep(10000);
	}
}
