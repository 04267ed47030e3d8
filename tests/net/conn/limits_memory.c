// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of limits.c: memory of the budget that the application sets. */
#include "tests/net/conn/limits.h"

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/tx.h"

static uint8_t message[8u << 20];

/* One FPDU of a tagged message, to be given in parts. */
static uint32_t fpdu(uint8_t *to, uint32_t payload)
{
	struct xiw_ddp_hdr h = { .tagged = true, .last = true, .dv = 1, .stag = STAG };
	struct xiw_mpa_tx tx = { .crc = true };
	static uint8_t octets[65536];
	uint8_t header[XIW_DDP_HDR_MAX];
	uint32_t hlen = xiw_ddp_hdr_encode(&h, header);

	return xiw_mpa_build(&tx, to, header, hlen, octets, payload);
}

static const struct xiw_engine_opts tight = {
	.size = sizeof(tight), .memory = MIN_MEMORY, .frames = 256, .max_unstarted = 100000
};

static const char *for_connections(void)
{
	const struct xiw_conn_opts opts = unstarted_opts(100000, 100000);

	TRY(open_engine(&tight, &opts));
	idle(MANY - 10, 1, 0);
	calm();
	CHECK(engine_info().memory_refused > 0 && t.told_memory == 1);
	CHECK(engine_info().memory <= MIN_MEMORY);
	drop_peers();
	calm();
	CHECK(served(dial(1, 0)));
	return all_back();
}

/* Each Request makes the engine allocate what a stream needs. */
static const char *for_queues(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts), .queues = XIW_QUEUES_MAX };
	unsigned int ok = 0;

	TRY(open_engine(&tight, &opts));
	for (int i = 0; i < 60; i++)
		ok += served(dial(1, 0));
	CHECK(ok > 2 && ok < 60 && t.told_memory >= 1);
	drop_peers();
	calm();
	CHECK(served(dial(1, 0)));
	return all_back();
}

/*
 * A peer that uses RFC 6581 gets a Terminate with code 5 (section 9.3) in answer to its first FPDU. The library waits
 * for that FPDU no longer than a startup may take.
 */
static const char *for_queues_told(void)
{
	static const uint8_t terminate[22] = { 0x41, 0x47, [9] = 2, [13] = 1, [18] = 0x20, 5 };
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .queues = XIW_QUEUES_MAX,
					    .startup_timeout_ms = 300 };
	const struct xiw_mpa_frame f = { .rev = 2, .crc = true, .has_enhanced = true };
	uint8_t frame[XIW_MPA_FRAME_MAX], reply[XIW_MPA_FRAME_HDR + 4], first[64], last[28];
	size_t len = (size_t)xiw_mpa_frame_encode(&f, frame, sizeof(frame));
	int told, silent;

	TRY(open_engine(&tight, &opts));
	for (int i = 0; i < 60; i++)
		served(dial(1, 0));
	CHECK(engine_info().memory_refused > 0);
	told = dial(1, 0);
	CHECK(give(told, frame, len) && take(told, reply, sizeof(reply)));
	CHECK(!(reply[16] & 0x20));
	CHECK(give(told, first, fpdu(first, 10)) && take(told, last, sizeof(last)));
	CHECK(!memcmp(last + 2, terminate, sizeof(terminate)));
	CHECK(!take(told, last, 1));
	silent = dial(1, 0);
	CHECK(give(silent, frame, len) && take(silent, reply, sizeof(reply)));
	CHECK(!take(silent, last, 1) && !t.written);
	return all_back();
}

/* 64 KiB each for an FPDU that never completes. A peer that completes its FPDU gets the memory of one that does not. */
static const char *for_fpdus(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .recv_depth = 1,
					    .send_depth = 1 };
	static uint8_t f[70000];
	uint32_t len = fpdu(f, 60000);
	int honest;

	TRY(open_engine(&tight, &opts));
	/* First, as what the others leave may not be enough for a connection. */
	honest = dial(1, 0);
	CHECK(served(honest));
	for (int i = 0; i < 100; i++) {
		int fd = dial(1, 0);

		if (served(fd))
			give(fd, f, len - 10);
	}
	calm();
	CHECK(engine_info().memory_refused > 0);
	for (uint64_t until = now_ms() + 2500; now_ms() < until;)
		turn(10);
	CHECK(give(honest, f, 40000));
	calm();
	CHECK(give(honest, f + 40000, len - 40000));
	for (uint64_t until = now_ms() + PATIENCE_MS; !t.written && now_ms() < until;)
		turn(10);
	CHECK(t.written == 1);
	return all_back();
}

/* A quarter of a MiB each for messages that the peers do not read. */
static const char *for_sending(void)
{
	const struct xiw_conn_opts opts = { .size = sizeof(opts),
					    .recv_depth = 1,
					    .send_depth = 4 };
	struct xiw_message m = {
		.buf = message, .len = sizeof(message), .tagged = true, .stag = 1, .user_data = 1
	};
	static uint8_t f[2000], got[sizeof(message)];
	uint32_t len = fpdu(f, 100);
	unsigned int small = 4096;
	int fd = -1;

	TRY(open_engine(&tight, &opts));
	for (int i = 0; i < 41; i++) {
		fd = dial(1, 0);
		if (i < 40)
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		CHECK(served(fd) && give(fd, f, len));
	}
	calm();
	CHECK(t.nopen == 41 && t.written == 41);
	for (int i = 0; i < 40; i++)
		CHECK(!xiw_conn_send(t.open[i], &m));
	calm();
	CHECK(engine_info().memory_refused > 0);
	/* The last one reads. */
	CHECK(!xiw_conn_send(t.open[40], &m));
	CHECK(take(fd, got, sizeof(got)));
	return all_back();
}

const struct limit_case memory_cases[] = {
	{ "memory-for-connections", for_connections }, { "memory-for-queues", for_queues },
	{ "memory-for-queues-told", for_queues_told }, { "memory-for-fpdus", for_fpdus },
	{ "memory-for-sending", for_sending },	       {},
};
