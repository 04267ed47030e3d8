// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bpf_bench XIWARP.BPF.O AGAIN.BPF.O ROUNDS [OTHER.BPF.O]: what xiw_ingress costs for a segment that continues a
 * stretch. Prints lines for bench_rows.
 *
 * BPF_PROG_TEST_RUN repeats the program on one segment of a flow in DIRECT, which has a timestamp, no markers, and one
 * FPDU. The segment lies beyond rcv_nxt, as all but the first of a batch do, and no frame ever waits for the engine, so
 * that each repetition finds the flow as the one before found it. In each round xiw_ingress takes turns with what it
 * is compared with: the xiw_ingress of another object, or else a program that does no more than to send the packet to
 * AF_XDP with room for metadata. From each of them is taken off what a repetition costs that does nothing. That has one
 * bpf_xdp_adjust_head(), which the programs need, and one that they do not.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xiwarp/abi.h>

#include "base/be.h"
#include "tests/bench/summary.h"

#define META sizeof(struct xiw_meta)
#define ETH 14u
#define IP 20u
#define TCP 32u
#define PAYLOAD 1448u
#define FRAME (ETH + IP + TCP + PAYLOAD)
#define RCV_NXT 1000000u
#define ENGINE 7u
#define EPOCH 5u
#define REPEAT 20000 /* a turn is short, so that another process spoils only some */
#define TURNS 9	     /* in a round */

enum { OURS, OTHER, NOTHING, PROGRAMS };

/* One loaded object of xiwarp. */
struct ingress {
	struct bpf_object *obj;
	struct xiw_flow *flow;
	int program;
};

static uint8_t packet[META + FRAME];
static const struct xiw_flow_key key = {
	.remote_addr = { 0, 0, 0xffff0000, 0x010200c0 },
	.local_addr = { 0, 0, 0xffff0000, 0x020200c0 },
	.remote_port = 0x1234,
	.local_port = 0x5678,
};

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bpf_bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static struct bpf_object *open_object(const char *path)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);

	if (!obj || bpf_object__load(obj))
		die("%s: cannot be loaded: %s (it needs root, or is not built: make bench)", path,
		    strerror(errno));
	return obj;
}

static int map_of(struct bpf_object *obj, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(obj, name);

	if (fd < 0)
		die("%s: there is no such map", name);
	return fd;
}

static int program_of(struct bpf_object *obj, const char *name)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(obj, name));

	if (fd < 0)
		die("%s: there is no such program", name);
	return fd;
}

static void *memory_of(struct bpf_object *obj, const char *name, size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, map_of(obj, name), 0);

	if (at == MAP_FAILED)
		die("%s: cannot be mapped: %s", name, strerror(errno));
	return at;
}

/* An AF_XDP socket on lo, from which nobody reads: a test run redirects nothing, but looks the socket up. */
static int open_xsk(void)
{
	size_t size = 64 * 4096;
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xdp_umem_reg reg = { .addr = (uintptr_t)area, .len = size, .chunk_size = 4096 };
	struct sockaddr_xdp to = { .sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY };
	int entries = 64, fd = socket(AF_XDP, SOCK_RAW, 0);

	to.sxdp_ifindex = if_nametoindex("lo");
	if (fd < 0 || setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, sizeof(entries)) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &entries, sizeof(entries)) ||
	    setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)) ||
	    bind(fd, (void *)&to, sizeof(to)))
		die("no AF_XDP socket on lo: %s", strerror(errno));
	return fd;
}

static void put_xsk(struct bpf_object *obj, const char *map, int xsk)
{
	uint32_t queue = 0;

	if (bpf_map_update_elem(map_of(obj, map), &queue, &xsk, BPF_ANY))
		die("%s: takes no socket: %s", map, strerror(errno));
}

static void build_packet(void)
{
	uint8_t *ip = packet + META + ETH, *tcp = ip + IP;

	xiw_put_be16(ip - 2, 0x0800);
	ip[0] = 0x45;
	xiw_put_be16(ip + 2, IP + TCP + PAYLOAD);
	ip[6] = 0x40; /* DF */
	ip[9] = IPPROTO_TCP;
	memcpy(ip + 12, &key.remote_addr[3], 4);
	memcpy(ip + 16, &key.local_addr[3], 4);
	memcpy(tcp, &key.remote_port, 2);
	memcpy(tcp + 2, &key.local_port, 2);
	xiw_put_be32(tcp + 4, RCV_NXT + PAYLOAD);
	tcp[12] = TCP / 4 << 4;
	tcp[13] = 0x10;
	xiw_put_be32(tcp + 20, 0x0101080a);
	/* ULPDU_Length does not count itself and the CRC. No padding is needed. */
	xiw_put_be16(tcp + TCP, PAYLOAD - 6);
}

static void load(struct ingress *in, const char *path, int xsk)
{
	struct xiw_queue *queues;
	uint32_t index = 3;

	in->obj = open_object(path);
	in->program = program_of(in->obj, "xiw_ingress");
	put_xsk(in->obj, "xiw_xsks", xsk);
	in->flow =
		(struct xiw_flow *)memory_of(in->obj, "xiw_flows", sizeof(*in->flow) * 8) + index;
	*in->flow = (struct xiw_flow){
		.owner = xiw_owner_pack(RCV_NXT, EPOCH, XIW_PATH_DIRECT),
		.kernel_nxt = xiw_kernel_nxt_pack(RCV_NXT, EPOCH),
		.kernel_high = RCV_NXT,
		.kernel_edge = RCV_NXT + 65536,
		.direct_edge = RCV_NXT + 65536,
		.served_by = ENGINE,
		.key = key,
	};
	queues = memory_of(in->obj, "xiw_queues", sizeof(*queues) * XIW_MAX_QUEUES);
	queues[0].engine = ENGINE;
	queues[0].takes = 16384;
	queues[0].emptied_ns = INT64_MAX; /* no frame waits, ever */
	if (bpf_map_update_elem(map_of(in->obj, "xiw_flow_index"), &key, &index, BPF_ANY))
		die("the flow cannot be inserted: %s", strerror(errno));
}

/* Runs the program in the slot REPEAT times. Returns the nanoseconds of one, without what the system call takes. */
static double turn(int again)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = REPEAT);

	if (bpf_prog_test_run_opts(again, &opts) || opts.retval != XDP_REDIRECT)
		die("a test run ended with %d, action %u", errno, opts.retval);
	return opts.duration;
}

/* The mean of the faster half, because the kernel gives whole nanoseconds. */
static double of_turns(double *ns)
{
	double sum = 0;

	qsort(ns, TURNS, sizeof(*ns), by_value);
	for (int i = 0; i < (TURNS + 1) / 2; i++)
		sum += ns[i];
	return sum / ((TURNS + 1) / 2);
}

static void one_round(const int programs[PROGRAMS], int again, int slots, double ns[PROGRAMS])
{
	double turns[PROGRAMS][TURNS];
	uint32_t slot = 0;

	for (int i = 0; i < TURNS * PROGRAMS; i++) {
		int which = i % PROGRAMS;

		if (bpf_map_update_elem(slots, &slot, &programs[which], BPF_ANY))
			die("a program cannot be called: %s", strerror(errno));
		turns[which][i / PROGRAMS] = turn(again);
	}
	for (int i = 0; i < PROGRAMS; i++)
		ns[i] = of_turns(turns[i]);
}

static void measure(const int programs[PROGRAMS], struct bpf_object *again, int rounds,
		    const char *other)
{
	int program = program_of(again, "again"), slots = map_of(again, "again_program");
	double ns[PROGRAMS];

	for (int round = 0; round <= rounds; round++) {
		one_round(programs, program, slots, ns);
		if (round)
			printf("bpf_ingress 1500 0 ns %f %f "
			       "BPF_PROG_TEST_RUN of xiw_ingress on a segment of one FPDU, "
			       "without markers, that continues a stretch, one run; everything in "
			       "the cache; other: %s; both less a repetition that does nothing, "
			       "which took %.1f ns\n",
			       ns[OURS] - ns[NOTHING], ns[OTHER] - ns[NOTHING], other, ns[NOTHING]);
	}
}

int main(int argc, char **argv)
{
	struct ingress ours, older;
	struct bpf_object *again;
	int programs[PROGRAMS], xsk;

	if (argc < 4 || argc > 5) {
		fputs("usage: bpf_bench XIWARP.BPF.O AGAIN.BPF.O ROUNDS [OTHER.BPF.O]\n", stderr);
		return 2;
	}
	if (unshare(CLONE_NEWNET) || system("ip link set lo up"))
		die("no network namespace: %s (it needs root)", strerror(errno));
	build_packet();
	xsk = open_xsk();
	load(&ours, argv[1], xsk);
	again = open_object(argv[2]);
	put_xsk(again, "again_xsks", xsk);
	programs[OURS] = ours.program;
	programs[OTHER] = program_of(again, "again_least");
	programs[NOTHING] = program_of(again, "again_nothing");
	if (argc == 5) {
		load(&older, argv[4], xsk);
		programs[OTHER] = older.program;
	}
	measure(programs, again, atoi(argv[3]),
		argc == 5 ? argv[4]
			  : "a program that does no more than to send the packet to AF_XDP, with "
			    "room for metadata");
	if (ours.flow->direct_segs < REPEAT)
		die("the segments did not go direct");
	return 0;
}
