// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What MPI programs do: messages of many sizes between all pairs, expected or not, collective operations, and windows.
 * Every octet is checked. Rank 0 prints `all right`. It is compiled with mpicc by tests/net/programs/test_fabric.sh.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (1 << 20)
#define ROUNDS 20

static int rank, ranks;

#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #cond);  \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

static uint8_t octet(int from, int to, int size, int at)
{
	return (uint8_t)(from * 131 + to * 31 + size * 7 + at + (at >> 8) * 13);
}

static void *memory(size_t size)
{
	void *p = calloc(1, size);

	NEED(p);
	return p;
}

static int wrong(const uint8_t *got, int from, int to, int size)
{
	for (int i = 0; i < size; i++)
		if (got[i] != octet(from, to, size, i))
			return 1;
	return 0;
}

/* All to all at once, eager and by rendezvous. */
static void messages(int size)
{
	uint8_t *out = memory((size_t)size * (size_t)ranks + 1);
	uint8_t *in = memory((size_t)size * (size_t)ranks + 1);
	MPI_Request *requests = memory(sizeof(*requests) * 2 * (size_t)ranks);
	int n = 0;

	for (int peer = 0; peer < ranks; peer++) {
		if (peer == rank)
			continue;
		for (int i = 0; i < size; i++)
			out[peer * size + i] = octet(rank, peer, size, i);
		MPI_Irecv(in + peer * size, size, MPI_BYTE, peer, size, MPI_COMM_WORLD,
			  &requests[n++]);
		MPI_Isend(out + peer * size, size, MPI_BYTE, peer, size, MPI_COMM_WORLD,
			  &requests[n++]);
	}
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	for (int peer = 0; peer < ranks; peer++)
		NEED(peer == rank || !wrong(in + peer * size, peer, rank, size));
	free(out);
	free(in);
	free(requests);
}

/* More messages than there are buffers for come before anybody receives them, which then happens in another order. */
static void unexpected(void)
{
	const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	enum { MANY = 600, SIZE = 64 };
	static uint8_t out[MANY][SIZE], in[SIZE];
	MPI_Request requests[MANY];

	for (int k = 0; k < MANY; k++) {
		for (int i = 0; i < SIZE; i++)
			out[k][i] = octet(rank, k, SIZE, i);
		MPI_Isend(out[k], SIZE, MPI_BYTE, next, k, MPI_COMM_WORLD, &requests[k]);
	}
	for (int k = MANY - 1; k >= 0; k--) {
		MPI_Recv(in, SIZE, MPI_BYTE, last, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		NEED(!wrong(in, last, k, SIZE));
	}
	MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

static void collectives(int count)
{
	int64_t *mine = memory(sizeof(*mine) * (size_t)count);
	int64_t *sum = memory(sizeof(*sum) * (size_t)count);
	int *all = memory(sizeof(*all) * (size_t)ranks);

	for (int i = 0; i < count; i++)
		mine[i] = (int64_t)(rank + 1) * (i + 1);
	MPI_Allreduce(mine, sum, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		NEED(sum[i] == (int64_t)ranks * (ranks + 1) / 2 * (i + 1));
	for (int root = 0; root < ranks; root++) {
		for (int i = 0; i < count; i++)
			mine[i] = rank == root ? root * 1000 + i : -1;
		MPI_Bcast(mine, count, MPI_INT64_T, root, MPI_COMM_WORLD);
		for (int i = 0; i < count; i++)
			NEED(mine[i] == root * 1000 + i);
	}
	MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < ranks; i++)
		NEED(all[i] == i);
	MPI_Barrier(MPI_COMM_WORLD);
	free(mine);
	free(sum);
	free(all);
}

/* One-sided: each rank puts into the next one, adds to rank 0, and reads from the next. */
static void windows(void)
{
	const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	enum { COUNT = 5000 };
	static int32_t out[COUNT], in[COUNT];
	const int32_t one = 1;
	int32_t *base;
	MPI_Win win;

	MPI_Win_allocate((COUNT + 1) * sizeof(*base), sizeof(*base), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &base, &win);
	memset(base, 0, (COUNT + 1) * sizeof(*base));
	for (int i = 0; i < COUNT; i++)
		out[i] = rank * COUNT + i;
	MPI_Win_fence(0, win);
	MPI_Put(out, COUNT, MPI_INT32_T, next, 1, COUNT, MPI_INT32_T, win);
	MPI_Accumulate(&one, 1, MPI_INT32_T, 0, 0, 1, MPI_INT32_T, MPI_SUM, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < COUNT; i++)
		NEED(base[1 + i] == last * COUNT + i);
	NEED(rank || base[0] == ranks);
	MPI_Get(in, COUNT, MPI_INT32_T, next, 1, COUNT, MPI_INT32_T, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < COUNT; i++)
		NEED(in[i] == rank * COUNT + i);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int size = 0; size <= LARGEST; size = size ? size * 4 : 1)
		messages(size);
	messages(LARGEST - 1);
	unexpected();
	for (int i = 0; i < ROUNDS; i++)
		collectives(1 + i * 997);
	windows();
	MPI_Finalize();
	if (!rank)
		printf("all right\n");
	return 0;
}
