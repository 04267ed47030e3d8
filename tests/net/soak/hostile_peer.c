// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attackers: each connection does one thing that no honest peer does. The seed decides which one, and how.
 *
 *   hostile_peer HOST PORT CONNECTIONS SEED INTERFACE MAC
 *
 * Four processes work at once. Connections that keep the library waiting are held until there are many, and then
 * closed, the oldest one first. A fifth process sends forged frames by a packet socket on INTERFACE to MAC
 * (hostile_frames.c). Prints how many there were of each kind. Exit codes: 0, 1 no connection could be made, 2 usage.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ddp/hdr.h"
#include "mpa/startup.h"
#include "mpa/tx.h"
#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"
#include "tests/net/soak/hostile_frames.h"

#define WORKERS 4
#define HELD 48
#define STAG 0x1234u
#define ELSEWHERE 262144u /* in the buffer: not where honest peers write */
#define WAIT_MS 300

static struct sockaddr_storage target;
static socklen_t target_len;
static uint64_t rng;
static int held[HELD];
static unsigned int nheld, made, refused;

static uint32_t rnd(uint32_t below)
{
	return lcg(&rng, below);
}

/* ---- a connection -------------------------------------------------------------------------------- */

static void finish(int fd, bool reset)
{
	const struct linger l = { .l_onoff = 1, .l_linger = 0 };

	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

/* The connection stays as it is until others take its place. */
static void hold(int fd)
{
	if (nheld == HELD) {
		finish(held[0], rnd(2));
		memmove(held, held + 1, sizeof(held[0]) * --nheld);
	}
	held[nheld++] = fd;
}

static void give(int fd, const void *p, size_t len)
{
	struct pollfd w = { .fd = fd, .events = POLLOUT };
	const uint8_t *at = p;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno != EAGAIN || poll(&w, 1, 20) <= 0))
			return; /* it does not take more: so be it */
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
}

/* Reads to the end of the stream, with a time limit. */
static void drain(int fd)
{
	struct pollfd r = { .fd = fd, .events = POLLIN };
	uint8_t buf[65536];

	for (int i = 0; i < 100 && poll(&r, 1, WAIT_MS) > 0; i++)
		if (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) <= 0)
			return;
}

static int tcp(bool small)
{
	int fd = socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, size = 2048;
	struct timeval t = { 2, 0 };

	if (fd < 0)
		return -1;
	if (small)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	if (connect(fd, (struct sockaddr *)&target, target_len)) {
		close(fd);
		refused++;
		return -1;
	}
	made++;
	return fd;
}

static void request(int fd)
{
	struct xiw_mpa_frame f = { .rev = rnd(4) ? 1 : 2, .crc = true };
	uint8_t buf[XIW_MPA_FRAME_MAX];

	f.has_enhanced = f.rev == 2;
	f.enhanced.ird = f.enhanced.ord = 4;
	give(fd, buf, (size_t)xiw_mpa_frame_encode(&f, buf, sizeof(buf)));
}

static bool startup(int fd)
{
	struct pollfd r = { .fd = fd, .events = POLLIN };
	uint8_t reply[XIW_MPA_FRAME_MAX];

	request(fd);
	return poll(&r, 1, 2000) > 0 && recv(fd, reply, XIW_MPA_FRAME_HDR, 0) > 0;
}

/* ---- FPDUs --------------------------------------------------------------------------------------- */

static uint8_t out[1 << 20];
static uint32_t nout;

static void fpdu(const struct xiw_ddp_hdr *h, const void *payload, uint32_t len)
{
	struct xiw_mpa_tx tx = { .crc = true };
	uint8_t header[XIW_DDP_HDR_MAX];
	uint32_t hlen = xiw_ddp_hdr_encode(h, header);

	nout += xiw_mpa_build(&tx, out + nout, header, hlen, payload, len);
}

static void good_write(uint32_t len)
{
	static uint8_t payload[60000];
	struct xiw_ddp_hdr h = { .tagged = true,
				 .last = true,
				 .dv = 1,
				 .stag = STAG,
				 .to = ELSEWHERE + rnd(1000),
				 .rsvdulp = { 0x40 } };

	fpdu(&h, payload, len);
}

/* RDMAP: a Read Request of what we could have, or not. */
static void read_request(uint32_t msn)
{
	struct xiw_ddp_hdr h = { .last = true, .dv = 1, .qn = 1, .msn = msn, .rsvdulp = { 0x41 } };
	uint8_t payload[28];

	put(payload, rnd(100), 4);
	put(payload + 4, rnd(100000), 8);
	put(payload + 12, 65536, 4);
	put(payload + 16, STAG, 4);
	put(payload + 20, rnd(4096), 8);
	fpdu(&h, payload, sizeof(payload));
}

static void terminate_message(void)
{
	struct xiw_ddp_hdr h = { .last = true, .dv = 1, .qn = 2, .msn = 1, .rsvdulp = { 0x47 } };
	uint8_t payload[4] = { (uint8_t)rnd(256), (uint8_t)rnd(256), (uint8_t)rnd(256), 0 };

	fpdu(&h, payload, sizeof(payload));
}

static void send_message(uint32_t msn, uint32_t len)
{
	static const uint8_t payload[512];
	struct xiw_ddp_hdr h = { .last = true, .dv = 1, .msn = msn, .rsvdulp = { 0x43 } };

	fpdu(&h, payload, len);
}

static void bad_fpdu(void)
{
	struct xiw_ddp_hdr h = {
		.tagged = rnd(2), .last = rnd(2), .dv = 1, .stag = STAG, .msn = 1
	};
	uint8_t payload[200] = {};
	uint32_t at = nout;

	switch (rnd(6)) {
	case 0:
		h.stag = rnd(UINT32_MAX);
		break;
	case 1:
		h.to = UINT64_MAX - rnd(100);
		break;
	case 2:
		h.dv = (uint8_t)rnd(4);
		break;
	case 3:
		h.qn = rnd(100);
		h.mo = rnd(UINT32_MAX);
		break;
	case 4:
		h.msn = rnd(UINT32_MAX);
		break;
	}
	fpdu(&h, payload, rnd(sizeof(payload)));
	if (!rnd(3))
		out[at + rnd(nout - at)] ^= 1 << rnd(8);
}

static void flush_out(int fd)
{
	give(fd, out, nout);
	nout = 0;
}

/* ---- the attacks --------------------------------------------------------------------------------- */

static void idle(int fd)
{
	hold(fd);
}

static void half_request(int fd)
{
	give(fd, "MPA ID Req Frame", 1 + rnd(16));
	hold(fd);
}

static void garbage(int fd)
{
	for (uint32_t i = nout = 0; i < 1 + rnd(3000); i++)
		out[nout++] = (uint8_t)rnd(256);
	flush_out(fd);
	finish(fd, rnd(2));
}

static void gone_at_once(int fd)
{
	if (rnd(2))
		request(fd);
	finish(fd, rnd(2));
}

static void bad_and_reset(int fd)
{
	if (startup(fd)) {
		for (uint32_t n = rnd(3); n; n--)
			good_write(rnd(1400));
		bad_fpdu();
		flush_out(fd);
	}
	finish(fd, true);
}

static void bad_and_wait(int fd)
{
	if (startup(fd)) {
		bad_fpdu();
		flush_out(fd);
		if (rnd(2))
			shutdown(fd, SHUT_WR);
		drain(fd);
	}
	finish(fd, rnd(2));
}

static void terminate_and_fin(int fd)
{
	if (startup(fd)) {
		for (uint32_t n = 1; n < 1 + rnd(4); n++)
			read_request(n);
		terminate_message();
		flush_out(fd);
		shutdown(fd, SHUT_WR);
		if (rnd(2))
			drain(fd);
	}
	rnd(2) ? finish(fd, rnd(2)) : hold(fd);
}

/* Also those with the smallest of buffers. */
static void no_read(int fd)
{
	if (startup(fd)) {
		send_message(1, 100);
		for (uint32_t n = 1; n <= 4; n++)
			read_request(n);
		flush_out(fd);
	}
	hold(fd);
}

static void half_close(int fd)
{
	if (startup(fd)) {
		good_write(rnd(1400));
		flush_out(fd);
		shutdown(fd, SHUT_WR);
	}
	rnd(2) ? drain(fd), finish(fd, false) : hold(fd);
}

static void fin_in_an_fpdu(int fd)
{
	if (startup(fd)) {
		good_write(100 + rnd(1000));
		nout -= 1 + rnd(nout - 1);
		flush_out(fd);
		shutdown(fd, SHUT_WR);
		drain(fd);
	}
	finish(fd, rnd(2));
}

static void unfinished_fpdu(int fd)
{
	if (startup(fd)) {
		good_write(59000);
		nout -= 1 + rnd(1000);
		flush_out(fd);
	}
	hold(fd);
}

static void flood_of_reads(int fd)
{
	if (startup(fd)) {
		for (uint32_t n = 1; n < 2000; n++)
			read_request(n);
		flush_out(fd);
	}
	rnd(2) ? finish(fd, true) : hold(fd);
}

/* Immediate Data, atomic operations and their answers (RFC 7306), and Sends that invalidate any STag. */
static void extensions(int fd)
{
	static const uint8_t opcodes[] = { 0x48, 0x49, 0x4a, 0x4b, 0x44, 0x46 };
	static const uint32_t lens[] = { 8, 8, 52, 12, 100, 100 };

	if (startup(fd)) {
		for (uint32_t n = 1; n < 1 + rnd(5); n++) {
			const uint32_t i = rnd(6);
			struct xiw_ddp_hdr h = { .last = rnd(4), .dv = 1, .msn = n };
			uint8_t payload[100];

			h.qn = rnd(8) ? (i < 2 || i > 3 ? 0 : 2 * i - 3) : rnd(5);
			h.rsvdulp[0] = opcodes[i];
			put(h.rsvdulp + 1, rnd(2) ? STAG : rnd(UINT32_MAX), 4);
			for (uint32_t k = 0; k < sizeof(payload); k++)
				payload[k] = (uint8_t)rnd(256);
			fpdu(&h, payload, rnd(8) ? lens[i] : rnd(sizeof(payload)));
		}
		flush_out(fd);
		if (rnd(2))
			shutdown(fd, SHUT_WR);
		drain(fd);
	}
	finish(fd, rnd(2));
}

static void flood_of_small_ones(int fd)
{
	if (startup(fd)) {
		for (uint32_t n = 1; n < 5000; n++)
			rnd(8) ? good_write(rnd(3)) : send_message(n, 0);
		flush_out(fd);
		shutdown(fd, SHUT_WR);
		drain(fd);
	}
	finish(fd, rnd(2));
}

static const struct {
	const char *name;
	void (*run)(int fd);
	bool small; /* receive buffer */
} attacks[] = {
	{ "idle", idle, false },
	{ "half a Request", half_request, false },
	{ "garbage", garbage, false },
	{ "gone at once", gone_at_once, false },
	{ "bad FPDU, reset", bad_and_reset, false },
	{ "bad FPDU, FIN", bad_and_wait, false },
	{ "Terminate, FIN", terminate_and_fin, false },
	{ "no read", no_read, false },
	{ "zero window", no_read, true },
	{ "half-close", half_close, false },
	{ "FIN inside an FPDU", fin_in_an_fpdu, false },
	{ "unfinished FPDU", unfinished_fpdu, false },
	{ "flood of Reads", flood_of_reads, true },
	{ "extensions", extensions, false },
	{ "flood of small messages", flood_of_small_ones, false },
};
#define ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

static int work(unsigned int n, uint64_t seed)
{
	unsigned int count[ATTACKS] = {};

	rng = seed;
	rnd(1);
	while (n--) {
		uint32_t i = rnd(ATTACKS);
		int fd = tcp(attacks[i].small);

		nout = 0;
		if (fd < 0)
			continue;
		count[i]++;
		attacks[i].run(fd);
	}
	while (nheld)
		finish(held[--nheld], rnd(2));
	for (unsigned int i = 0; i < ATTACKS; i++)
		printf("%u %s\n", count[i], attacks[i].name);
	printf("%u refused\n", refused);
	fflush(stdout);
	return !made;
}

/* ---- run ----------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	unsigned int n;
	uint8_t mac[6];
	int failed = 0, status;
	pid_t frame_pid;
	uint64_t seed;

	if (argc != 7 ||
	    sscanf(argv[6], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		   &mac[4], &mac[5]) != 6 ||
	    !(target_len = address_of(argv[1], (uint16_t)atoi(argv[2]), &target)))
		return 2;
	n = (unsigned int)atoi(argv[3]);
	seed = strtoull(argv[4], NULL, 0);
	signal(SIGPIPE, SIG_IGN);
	frame_pid = fork();
	if (!frame_pid)
		send_frames(argv[5], mac, (struct sockaddr_in *)&target, seed);
	for (int i = 0; i < WORKERS; i++)
		if (!fork())
			_exit(work(n / WORKERS, mix(seed + (uint64_t)i)));
	for (int i = 0; i < WORKERS;) {
		pid_t pid = wait(&status);

		if (pid < 0)
			break;
		if (pid == frame_pid)
			die("no frames");
		failed |= status != 0;
		i++;
	}
	kill(frame_pid, SIGKILL);
	wait(NULL);
	return failed;
}
