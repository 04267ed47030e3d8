// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trouble_send - the sender of the tests of faults: a plain socket on the kernel's TCP.
 *
 *   trouble_send [-n ID] [-P PORT] [-p SOURCE-PORT] [-b MiB] [-r MiB/s] [-t USER-TIMEOUT-MS] [-m] ADDRESS
 *
 * Sends tagged messages, aligned (-m: not) to segments, until -b MiB are sent or SIGUSR1 says to finish at the
 * end of a message. Then it closes its half and waits for the peer's. SIGUSR2 changes from aligned to misaligned
 * or back. Prints one line of JSON with what this end saw. Exit codes: 0 complete, 7 the connection failed.
 */
#include <getopt.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/tx.h"
#include "tests/net/faults/trouble.h"

static struct {
	unsigned int id, port, source_port, user_timeout;
	uint64_t octets; /* 0: until told */
	double rate;	 /* octets per second; 0: as fast as can be */
} opt = { .id = 1, .port = 15046 };

static volatile sig_atomic_t finish, misaligned;
static int sock = -1;
static uint64_t sent;
static struct xiw_mpa_tx tx;

static void on_finish(int number)
{
	(void)number;
	finish = 1;
}

static void on_change(int number)
{
	(void)number;
	misaligned = !misaligned;
}

static void __attribute__((noreturn)) done(const char *end, const char *call, int err)
{
	printf("{\"id\":%u,\"sent\":%llu,\"end\":\"%s\",\"call\":\"%s\",\"error\":\"%s\"}\n",
	       opt.id, (unsigned long long)sent, end, call, err ? strerror(err) : "");
	fflush(stdout);
	_exit(err ? 7 : 0);
}

static void failed(const char *call)
{
	done("failed", call, errno);
}

static void write_all(const uint8_t *p, size_t len)
{
	struct pollfd pfd = { .fd = sock, .events = POLLOUT };

	while (len) {
		ssize_t n = send(sock, p, len, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&pfd, 1, -1);
		} else if (errno != EINTR) {
			failed("send");
		}
	}
}

static void connect_to(const char *host)
{
	struct sockaddr_storage to, from;
	socklen_t len = address_of(host, (uint16_t)opt.port, &to);
	int on = 1;

	if (!len) {
		errno = EINVAL;
		failed("address");
	}
	address_of(len == sizeof(struct sockaddr_in) ? "0.0.0.0" : "::", (uint16_t)opt.source_port,
		   &from);
	sock = socket(to.ss_family, SOCK_STREAM, 0);
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (opt.user_timeout)
		setsockopt(sock, IPPROTO_TCP, TCP_USER_TIMEOUT, &opt.user_timeout,
			   sizeof(opt.user_timeout));
	if (opt.source_port && bind(sock, (struct sockaddr *)&from, len))
		failed("bind");
	if (connect(sock, (struct sockaddr *)&to, len))
		failed("connect");
}

static void startup(void)
{
	uint8_t id = (uint8_t)opt.id, buf[XIW_MPA_FRAME_MAX];
	struct xiw_mpa_frame f = { .rev = 1, .crc = true, .pd = &id, .pd_len = 1 };
	size_t need = XIW_MPA_FRAME_HDR, have = 0;

	write_all(buf, (size_t)xiw_mpa_frame_encode(&f, buf, sizeof(buf)));
	do {
		ssize_t n = recv(sock, buf + have, need - have, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = ECONNABORTED;
		if (n <= 0)
			failed("startup");
		have += (size_t)n;
	} while (xiw_mpa_frame_decode(buf, have, true, &f, &need) == XIW_MPA_START_MORE);
	tx = (struct xiw_mpa_tx){ .crc = true, .markers = f.markers };
}

static uint32_t mss(void)
{
	socklen_t len = sizeof(int);
	int v = 1460;

	getsockopt(sock, IPPROTO_TCP, TCP_MAXSEG, &v, &len);
	return (uint32_t)v;
}

/* One message: FPDUs that fill segments, each run of full ones a write; or of sizes that fit nothing. */
static void message(void)
{
	static uint8_t out[TROUBLE_MSG * 2], payload[TROUBLE_MSG];
	uint64_t end = sent + TROUBLE_MSG;
	bool odd = misaligned;
	size_t len = 0;

	while (sent < end) {
		uint32_t n = odd ? 3001 : xiw_mpa_mulpdu(mss(), tx.markers, tx.phase);
		struct xiw_ddp_hdr h = { .tagged = true,
					 .dv = 1,
					 .stag = TROUBLE_STAG + opt.id,
					 .to = sent % (TROUBLE_MSG * TROUBLE_SLOTS) };
		uint8_t raw[XIW_DDP_HDR_MAX];

		n -= XIW_DDP_TAGGED_LEN;
		if (n > end - sent)
			n = (uint32_t)(end - sent);
		h.last = sent + n == end;
		stream_octets(trouble_stream(opt.id), sent, payload, n);
		len += xiw_mpa_build(&tx, out + len, raw, xiw_ddp_hdr_encode(&h, raw), payload, n);
		sent += n;
	}
	write_all(out, len);
}

static void pace(double start)
{
	double ahead = (double)sent / opt.rate - (now_s() - start);

	if (ahead > 0.001)
		usleep((useconds_t)(ahead * 1e6));
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_finish };
	double start;
	char c;
	int o;

	while ((o = getopt(argc, argv, "n:P:p:b:r:t:m")) != -1) {
		unsigned long v = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (o) {
		case 'n':
			opt.id = (unsigned int)v % TROUBLE_IDS;
			break;
		case 'P':
			opt.port = (unsigned int)v;
			break;
		case 'p':
			opt.source_port = (unsigned int)v;
			break;
		case 'b':
			opt.octets = (uint64_t)v << 20;
			break;
		case 'r':
			opt.rate = strtod(optarg, NULL) * 1048576;
			break;
		case 't':
			opt.user_timeout = (unsigned int)v;
			break;
		case 'm':
			misaligned = 1;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc)
		return 2;
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = on_change;
	sigaction(SIGUSR2, &sa, NULL);
	connect_to(argv[optind]);
	startup();
	start = now_s();
	while (!finish && (!opt.octets || sent < opt.octets)) {
		message();
		if (opt.rate > 0)
			pace(start);
	}
	if (shutdown(sock, SHUT_WR))
		failed("shutdown");
	for (;;) {
		ssize_t n = recv(sock, &c, 1, 0);

		if (!n)
			done("complete", "", 0);
		if (n < 0 && errno != EINTR)
			failed("recv");
	}
}
