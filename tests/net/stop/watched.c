// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/stop/watched.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/net/lib/common.h"

#define OURS 0x5a
#define WHILE_MS 400
#define LIMIT_MS 20000

uint8_t *watched_new(void)
{
	uint8_t *m = mmap(NULL, WATCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	if (m == MAP_FAILED)
		die_errno("mmap");
	return m;
}

void watched_await(const uint8_t *memory)
{
	const uint64_t end = now_ms() + LIMIT_MS;

	while (!__atomic_load_n(&memory[1], __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&memory[2], __ATOMIC_RELAXED))
		if (now_ms() > end)
			die("the peer writes nothing");
}

void watched_reuse(uint8_t *const *memory, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		memset(memory[i], OURS, WATCHED);
}

void watched_check(uint8_t *const *memory, unsigned int n)
{
	const uint64_t end = now_ms() + WHILE_MS;

	do {
		for (unsigned int i = 0; i < n; i++)
			for (unsigned int k = 0; k < WATCHED; k++)
				if (__atomic_load_n(&memory[i][k], __ATOMIC_RELAXED) != OURS)
					die("octet %u of memory %u has changed", k, i);
		usleep(10000);
	} while (now_ms() < end);
}

void watched_unmap(uint8_t *const *memory, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (munmap(memory[i], WATCHED))
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
