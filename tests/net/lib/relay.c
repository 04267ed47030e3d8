// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * relay - joins two interfaces, and impairs the packets between them, in the same way each time.
 *
 *   relay [OPTION...] IF0 IF1
 *
 *   -f KNOBS impairments of IF0 -> IF1 -r KNOBS impairments of IF1 -> IF0
 *   -s SEED    of all decisions (1)             -a N       let the first N packets of each class pass (0)
 *   -S N       corrupt-fixed spares the first N octets of a stream (600): MPA's startup has no CRC
 *
 * KNOBS are NAME=P[:...], with commas between them, P per cent. They are for the direction's data segments, or,
 * with "ack-" in front, for its segments without data:
 *
 *   loss=P   dup=P   reorder=P[:BY[:MS]]   held until up to BY packets went by, or for MS (3, 5)
 *   corrupt=P         up to 3 octets of payload, wrong checksum
 *   corrupt-fixed=P   the same, right checksum: CRC32c must see it
 *   corrupt-header=P  a bit of the IP or TCP header, wrong checksum
 *   corrupt-tsval=P   an upper bit of the timestamp, wrong checksum
 *   split=P           into 2 or 3
 *   merge=P[:N[:MS]]  with up to N - 1 that follow, cut anew anywhere, waits MS at most (3, 2)
 *   squeeze=P[:N[:MS]] the offered window's right edge stands still for N segments or MS (16, 20); see
 *                     relay_flow.c. Without "ack-": for both classes
 *   ce=P              Congestion Experienced, where ECT
 *   delay=MS[:JITTER] the direction's packets all, in order
 *
 * SYN, RST and packets that are not TCP are only delayed. Changed packets get full checksums: use interfaces without
 * checksum offload. Prints "ready", and a line of JSON upon SIGUSR1 and at its end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "relay_core.h"

#define BATCH 32
#define RCVBUF (64 << 20)

static struct relay relay;

struct port {
	int fd;
	uint64_t overrun; /* frames for which the socket had no room */
	uint64_t refused; /* frames that the interface did not take */
	uint64_t odd;	  /* frames too long to be handled */
	struct relay_pkt *batch[BATCH];
};

static struct port ports[2];

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void open_port(struct port *p, const char *ifname, uint32_t *mtu)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq promisc = { .mr_type = PACKET_MR_PROMISC };
	struct ifreq ifr = {};
	int on = 1, size = RCVBUF;

	addr.sll_ifindex = promisc.mr_ifindex = (int)if_nametoindex(ifname);
	if (!addr.sll_ifindex)
		die(ifname);
	/* Protocol 0: nothing comes from other interfaces before the socket is bound. */
	p->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		die("socket");
	if (setsockopt(p->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
	    setsockopt(p->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) ||
	    setsockopt(p->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc)) ||
	    setsockopt(p->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(p->fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    bind(p->fd, (struct sockaddr *)&addr, sizeof(addr)))
		die(ifname);
	strncpy(ifr.ifr_name, ifname, IFNAMSIZ - 1);
	if (ioctl(p->fd, SIOCGIFMTU, &ifr))
		die(ifname);
	if (!*mtu || (uint32_t)ifr.ifr_mtu < *mtu)
		*mtu = (uint32_t)ifr.ifr_mtu;
}

/* Returns how many frames came. */
static int receive(unsigned int dir)
{
	struct port *p = &ports[dir];
	struct mmsghdr m[BATCH] = {};
	struct iovec v[BATCH];
	uint64_t now;
	int n;

	for (unsigned int i = 0; i < BATCH; i++) {
		if (!p->batch[i])
			p->batch[i] = relay_get(&relay);
		v[i] = (struct iovec){ p->batch[i]->data, RELAY_FRAME_MAX };
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(p->fd, m, BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ENETDOWN)
			die("recvmmsg");
		return 0;
	}
	now = now_ns();
	for (int i = 0; i < n; i++) {
		if (m[i].msg_len > RELAY_FRAME_MAX) {
			p->odd++;
			continue;
		}
		p->batch[i]->len = m[i].msg_len;
		relay_input(&relay, dir, p->batch[i], now);
		p->batch[i] = NULL;
	}
	return n;
}

/* A full ring is soon empty again, but a link that is down is not worth waiting for. */
static void send_batch(struct port *out, struct mmsghdr *m, unsigned int n)
{
	unsigned int done = 0, tries = 0;

	while (done < n) {
		int put = sendmmsg(out->fd, m + done, n - done, MSG_DONTWAIT);

		if (put > 0) {
			done += (unsigned int)put;
			tries = 0;
		} else if ((errno == ENOBUFS || errno == EAGAIN) && tries++ < 100) {
			struct pollfd pfd = { .fd = out->fd, .events = POLLOUT };
			struct timespec ts = { .tv_nsec = 20000 };

			poll(&pfd, 1, 1);
			nanosleep(&ts, NULL);
		} else {
			out->refused++;
			done++;
			tries = 0;
		}
	}
}

static void transmit(unsigned int dir)
{
	struct relay_pkt *batch[BATCH];
	struct mmsghdr m[BATCH] = {};
	struct iovec v[BATCH];
	unsigned int n;

	do {
		for (n = 0; n < BATCH && (batch[n] = relay_output(&relay, dir)); n++) {
			v[n] = (struct iovec){ batch[n]->data, batch[n]->len };
			m[n].msg_hdr.msg_iov = &v[n];
			m[n].msg_hdr.msg_iovlen = 1;
		}
		send_batch(&ports[!dir], m, n);
		for (unsigned int i = 0; i < n; i++)
			relay_put(&relay, batch[i]);
	} while (n == BATCH);
}

static void print(void)
{
	char extra[256];

	for (unsigned int i = 0; i < 2; i++) {
		struct tpacket_stats st = {};
		socklen_t len = sizeof(st);

		/* Reading resets them. */
		if (!getsockopt(ports[i].fd, SOL_PACKET, PACKET_STATISTICS, &st, &len))
			ports[i].overrun += st.tp_drops;
	}
	snprintf(extra, sizeof(extra),
		 "\"overrun\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"odd\":%" PRIu64 ",",
		 ports[0].overrun + ports[1].overrun, ports[0].refused + ports[1].refused,
		 ports[0].odd + ports[1].odd);
	relay_print(&relay, stdout, extra);
}

/* True: it was told to end. */
static bool signalled(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGUSR1)
			return true;
		print();
	}
	return false;
}

static void run(int sig)
{
	struct pollfd pfd[] = {
		{ .fd = ports[0].fd, .events = POLLIN },
		{ .fd = ports[1].fd, .events = POLLIN },
		{ .fd = sig, .events = POLLIN },
	};

	for (;;) {
		uint64_t now = now_ns(), due = relay_tick(&relay, now);
		uint64_t wait = due > now ? due - now : 0;
		struct timespec ts = { (time_t)(wait / 1000000000), (long)(wait % 1000000000) };

		transmit(0);
		transmit(1);
		if (ppoll(pfd, 3, due == RELAY_NEVER ? NULL : &ts, NULL) < 0 && errno != EINTR)
			die("ppoll");
		if (pfd[2].revents && signalled(sig))
			return;
		for (unsigned int d = 0; d < 2; d++) {
			/* One direction must not starve the other, nor the held packets. */
			if (pfd[d].revents)
				receive(d);
			transmit(d);
		}
	}
}

static void usage(void)
{
	fprintf(stderr, "usage: relay [-s SEED] [-a N] [-S N] [-f KNOBS] [-r KNOBS] IF0 IF1\n");
	exit(2);
}

int main(int argc, char **argv)
{
	struct relay_conf conf;
	uint32_t mtu = 0;
	sigset_t set;
	int o, sig;

	relay_conf_default(&conf);
	while ((o = getopt(argc, argv, "s:a:S:f:r:")) != -1) {
		switch (o) {
		case 's':
			conf.seed = strtoull(optarg, NULL, 0);
			break;
		case 'a':
			conf.after = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'S':
			conf.spare = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'f':
		case 'r':
			if (!relay_conf_parse(&conf, o == 'r', optarg))
				return 2;
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 2)
		usage();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sig = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sig < 0)
		die("signalfd");
	open_port(&ports[0], argv[optind], &mtu);
	open_port(&ports[1], argv[optind + 1], &mtu);
	conf.mtu = mtu;
	relay_init(&relay, &conf);
	printf("ready\n");
	fflush(stdout);
	run(sig);
	print();
	for (unsigned int d = 0; d < 2; d++)
		for (unsigned int i = 0; i < BATCH; i++)
			if (ports[d].batch[i])
				relay_put(&relay, ports[d].batch[i]);
	relay_free(&relay);
	return 0;
}
