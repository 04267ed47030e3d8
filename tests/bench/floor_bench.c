// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The floor below every receiver on AF_XDP in copy mode: frames as long as those of a direct stream, each redirected by
 * floor.bpf.c and its payload copied once to the place that the frame names. There is no TCP, no CRC, and no answer.
 *
 *   floor_bench recv IFNAME MTU MIB REGION_MIB CREDIT NAPI MAP   prints what it cost, as wire_bench does
 *   floor_bench send IFNAME MTU MIB REGION_MIB CREDIT IN_FLIGHT
 *
 * CREDIT is a file of 4 KiB that both ends map. The receiver says there how much it has received. So the sender never
 * has more than IN_FLIGHT octets in flight, and no frame is lost. Frames leave in bursts of half of that, at a stretch:
 * the receiver is woken as rarely as by a TCP that is clocked by ACKs. MAP is the pinned XSKMAP.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <xdp/xsk.h>

#include "base/be.h"
#include "tests/bench/account.h"
#include "tests/bench/area.h"

/* Constants of Linux 6.6, which older headers lack. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

#define TYPE 0x88b5 /* IEEE 802: for local experiments */
#define TO_OFF 14   /* where in a frame the payload's place and length are */
#define LEN_OFF 22
#define PAYLOAD_OFF (14 + 20 + 32 + 2 + 14) /* as behind IPv4, TCP with timestamps, MPA and DDP */
#define CRC_LEN 4
#define FRAMES 256 /* as many as the library lends before a burst has used most of them */
#define BATCH 64
#define SEND_MAX 128
#define WAIT_NS 20000

/* What the receiver tells the sender. */
struct credit {
	uint32_t ready;
	uint32_t frames; /* received so far */
};

struct end {
	const char *ifname;
	uint32_t mtu, in_flight; /* the latter in frames */
	uint64_t octets, region;
	uint8_t *area;
	volatile struct credit *credit;
	struct napis napi;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod fill;
	uint8_t *frames;
	uint64_t got;
	uint8_t *at; /* where the rest of a frame goes */
	uint32_t left;
};

static void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "floor_bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static uint32_t payload_max(const struct end *e)
{
	return e->mtu + 14 - PAYLOAD_OFF - CRC_LEN;
}

/* ---- the receiver -------------------------------------------------------------------------------- */

static int open_socket(struct end *e, const char *map)
{
	uint32_t frame = e->mtu > 3000 ? 4096 : 2048, idx = 0, queue = 0;
	struct xsk_umem_config uc = { .fill_size = FRAMES,
				      .comp_size = FRAMES,
				      .frame_size = frame };
	struct xsk_socket_config sc = {
		.rx_size = 2 * FRAMES,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_USE_NEED_WAKEUP | XDP_COPY | (e->mtu > 3000 ? XDP_USE_SG : 0),
	};
	static struct xsk_ring_cons done;
	struct xsk_umem *umem;
	struct xsk_socket *xsk;
	int err, fd;

	e->frames = area_make((uint64_t)FRAMES * frame);
	err = xsk_umem__create(&umem, e->frames, (uint64_t)FRAMES * frame, &e->fill, &done, &uc);
	if (err)
		die("UMEM", err);
	err = xsk_socket__create(&xsk, e->ifname, 0, umem, &e->rx, NULL, &sc);
	if (err)
		die("AF_XDP socket", err);
	xsk_ring_prod__reserve(&e->fill, FRAMES, &idx);
	for (uint32_t i = 0; i < FRAMES; i++)
		*xsk_ring_prod__fill_addr(&e->fill, idx + i) = (uint64_t)i * frame;
	xsk_ring_prod__submit(&e->fill, FRAMES);
	fd = xsk_socket__fd(xsk);
	err = bpf_obj_get(map);
	if (err < 0 || bpf_map_update_elem(err, &queue, &fd, 0))
		die(map, errno);
	return fd;
}

/* Copies what a piece of a frame has of the payload. */
static void place(struct end *e, const uint8_t *piece, uint32_t len, bool first)
{
	if (first) {
		uint64_t to;

		e->left = 0;
		if (len < PAYLOAD_OFF || xiw_get_be16(piece + 12) != TYPE)
			return; /* a frame of the kernel's */
		to = xiw_get_be64(piece + TO_OFF);
		e->left = xiw_get_be32(piece + LEN_OFF);
		if (e->left > payload_max(e) || to > e->region || e->region - to < e->left)
			die("a frame's place", ERANGE);
		e->at = e->area + to;
		e->got += e->left;
		e->credit->frames++;
		piece += PAYLOAD_OFF;
		len -= PAYLOAD_OFF;
	}
	len = MIN(len, e->left);
	memcpy(e->at, piece, len);
	e->at += len;
	e->left -= len;
}

static uint32_t receive_batch(struct end *e)
{
	static bool first = true;
	uint32_t in, out = 0, n = xsk_ring_cons__peek(&e->rx, BATCH, &in);

	if (!n)
		return 0;
	if (xsk_ring_prod__reserve(&e->fill, n, &out) != n)
		die("the fill ring", ENOSPC);
	for (uint32_t i = 0; i < n; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&e->rx, in + i);

		place(e, e->frames + d->addr, d->len, first);
		first = !(d->options & XDP_PKT_CONTD);
		*xsk_ring_prod__fill_addr(&e->fill, out + i) = d->addr & ~2047ull;
	}
	xsk_ring_prod__submit(&e->fill, n);
	xsk_ring_cons__release(&e->rx, n);
	return n;
}

static void receive(struct end *e, const char *map)
{
	struct pollfd p = { .fd = open_socket(e, map), .events = POLLIN };
	struct account from = { 0 }, to;

	e->credit->ready = 1;
	while (e->got < e->octets) {
		if (receive_batch(e))
			;
		else if (poll(&p, 1, 10000) != 1)
			die("no frame for 10 s", ETIMEDOUT);
		if (!from.octets && e->got >= MIB)
			from = account_now(&e->napi, e->got);
	}
	to = account_now(&e->napi, e->got);
	area_check(e->area, MIN(e->octets, e->region));
	printf("{ \"path\": \"floor\", \"octets\": %" PRIu64
	       ", \"seconds\": %.6f, \"app_cpu_ns\": %" PRIu64 ", \"napi_cpu_ns\": %" PRIu64
	       ", \"switches\": %" PRIu64 ", \"direct_share\": 0 }\n",
	       to.octets - from.octets, (double)(to.ns - from.ns) / 1e9, to.app_ns - from.app_ns,
	       to.napi_ns - from.napi_ns, to.switches - from.switches);
}

/* ---- the sender ---------------------------------------------------------------------------------- */

static int open_packet(const struct end *e)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET,
				  .sll_protocol = 0, /* it receives nothing */
				  .sll_ifindex = (int)if_nametoindex(e->ifname) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || !ll.sll_ifindex || bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
		die("packet socket", errno);
	return fd;
}

/* Writes the headers of the frame whose payload begins at octet `sent` of all. Returns the payload's length. */
static uint32_t header(const struct end *e, uint64_t sent, uint8_t *h)
{
	/* Frames end where messages of 1 MiB would. */
	uint32_t room = MIB - sent % MIB, len = MIN(room, payload_max(e));

	memset(h, 0, PAYLOAD_OFF);
	memset(h, 0xff, 6); /* to everybody: nothing but the program looks at it */
	xiw_put_be16(h + 12, TYPE);
	xiw_put_be64(h + TO_OFF, sent % e->region);
	xiw_put_be32(h + LEN_OFF, len);
	return len;
}

static void transmit(struct end *e)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	static uint8_t h[SEND_MAX][PAYLOAD_OFF], crc[CRC_LEN];
	static struct iovec iov[SEND_MAX][3];
	static struct mmsghdr m[SEND_MAX];
	const uint32_t burst = MIN(e->in_flight / 2, SEND_MAX);
	const struct sched_param fifo = { .sched_priority = 1 };
	int fd = open_packet(e);
	uint32_t frames = 0;
	uint64_t sent = 0;

	/* The NAPI threads of the wire share the core. They run when a burst is complete. */
	if (sched_setscheduler(0, SCHED_FIFO, &fifo) || prctl(PR_SET_TIMERSLACK, 1000))
		die("scheduling", errno);
	while (sent < e->octets || e->credit->frames != frames) {
		uint32_t room = e->in_flight - (frames - e->credit->frames), n = 0;

		if (sent == e->octets || room < burst || !e->credit->ready) {
			nanosleep(&wait, NULL);
			continue;
		}
		for (; n < burst && sent < e->octets; n++) {
			uint32_t len = header(e, sent, h[n]);

			iov[n][0] = (struct iovec){ h[n], PAYLOAD_OFF };
			iov[n][1] = (struct iovec){ e->area + sent % e->region, len };
			iov[n][2] = (struct iovec){ crc, CRC_LEN };
			m[n].msg_hdr.msg_iov = iov[n];
			m[n].msg_hdr.msg_iovlen = 3;
			sent += len;
		}
		if (sendmmsg(fd, m, n, 0) != (int)n)
			die("send", errno);
		frames += n;
	}
}

/* ---- the command line ---------------------------------------------------------------------------- */

static volatile struct credit *map_credit(const char *name)
{
	int fd = open(name, O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || p == MAP_FAILED)
		die(name, errno);
	return p;
}

int main(int argc, char **argv)
{
	bool receiver = argc > 1 && !strcmp(argv[1], "recv");
	struct end e = { 0 };

	if (argc != (receiver ? 9 : 8) || (!receiver && strcmp(argv[1], "send"))) {
		fprintf(stderr,
			"usage: floor_bench recv IFNAME MTU MIB REGION_MIB CREDIT NAPI MAP\n"
			"       floor_bench send IFNAME MTU MIB REGION_MIB CREDIT IN_FLIGHT\n");
		return 2;
	}
	e.ifname = argv[2];
	e.mtu = (uint32_t)atoi(argv[3]);
	e.octets = strtoull(argv[4], NULL, 10) * MIB;
	e.region = strtoull(argv[5], NULL, 10) * MIB;
	e.credit = map_credit(argv[6]);
	if (e.mtu < 576 || e.mtu > 9000 || !e.region || e.octets < 2 * MIB)
		die("arguments", EINVAL);
	e.area = area_make(e.region);
	if (receiver) {
		e.napi = napis_open(argv[7]);
		receive(&e, argv[8]);
	} else {
		e.in_flight = (uint32_t)atoi(argv[7]) / e.mtu;
		area_fill(e.area, e.region);
		transmit(&e);
	}
	return 0;
}
