// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads a socket under TCP_REPAIR, and opens its window, while the peer's window changes. At each of the system calls
 * in turn the peer reads what it has, so its kernel sends a window update.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <criterion/criterion.h>

#include "handoff/sock.h"

#define CALLS 40 /* more calls than either function makes */
#define MOST (4 << 20)

static int ours = -1, peers = -1;
static int calls, when = -1; /* the peer reads before the call with this number; -1: before none */
static int repair_mode;	     /* the last value set */
static size_t arrived, queued;

static void peer_reads(void)
{
	static char buf[65536];
	ssize_t n;

	while ((n = recv(peers, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		arrived += (size_t)n;
}

static struct tcp_info info(void)
{
	struct tcp_info i = { 0 };
	socklen_t len = sizeof(i);

	cr_assert(!syscall(SYS_getsockopt, ours, IPPROTO_TCP, TCP_INFO, &i, &len));
	return i;
}

/* The peer reads, and waits until its kernel has told ours. That is immediate unless the machine is busy. */
static void a_call(int fd)
{
	uint32_t before;

	if (fd != ours || when < 0 || calls++ != when)
		return;
	before = info().tcpi_segs_in;
	peer_reads();
	for (int i = 0; i < 1000 && info().tcpi_segs_in == before; i++)
		usleep(100);
}

/* The C library's function, after the peer's turn. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	a_call(fd);
	if (fd == ours && level == IPPROTO_TCP && name == TCP_REPAIR)
		repair_mode = *(const int *)value;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	a_call(fd);
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	a_call(fd);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

/* A connection whose peer does not read, with more to send than the peer's window holds. */
static void connect_and_fill(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int l = socket(AF_INET, SOCK_STREAM, 0), size = 65536, mss = 1000;
	static const char octets[16384];
	socklen_t len = sizeof(at);
	ssize_t n;

	when = -1;
	cr_assert(!setsockopt(l, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	cr_assert(!bind(l, (struct sockaddr *)&at, len) && !listen(l, 1));
	cr_assert(!getsockname(l, (struct sockaddr *)&at, &len));
	ours = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(!setsockopt(ours, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)));
	cr_assert(!connect(ours, (struct sockaddr *)&at, len));
	peers = accept(l, NULL, NULL);
	cr_assert(peers >= 0);
	close(l);
	arrived = queued = 0;
	while (queued < MOST &&
	       (n = send(ours, octets, sizeof(octets), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
		queued += (size_t)n;
	cr_assert(info().tcpi_notsent_bytes, "the peer's window took all of %zu octets", queued);
	calls = 0;
}

static void reads_all(void)
{
	struct pollfd p = { .fd = peers, .events = POLLIN };

	when = -1;
	while (arrived < queued) {
		peer_reads();
		if (arrived < queued)
			cr_assert_eq(poll(&p, 1, 10000), 1, "%zu octets of %zu", arrived, queued);
	}
}

static void all_arrives(void)
{
	reads_all();
	close(ours);
	close(peers);
	ours = peers = -1;
}

/* The peer reads before call n of reading the socket. Is anything sent again? -1: there is no such call. */
static int sent_again(int n)
{
	struct xiw_sock_state before, s;
	int again = -1;

	connect_and_fill();
	cr_assert(!xiw_sock_read(ours, &before));
	when = n;
	cr_assert(!xiw_sock_read(ours, &s));
	if (calls > n) {
		cr_expect((int32_t)(s.snd_nxt - before.snd_nxt) >= 0);
		cr_expect_eq(s.rcv_nxt, before.rcv_nxt);
		reads_all();
		again = info().tcpi_total_retrans > 0;
	}
	all_arrives();
	return again;
}

/* What the socket sends while it is read really goes out, except at one moment between two calls. */
Test(handoff_sock, sends_while_it_is_read)
{
	int lost = 0, n, again;

	if (xiw_sock_allowed())
		cr_skip_test("needs CAP_NET_ADMIN");
	connect_and_fill();
	reads_all();
	if (info().tcpi_total_retrans)
		cr_skip_test("on this machine octets are sent again in any case");
	all_arrives();
	for (n = 0; n < CALLS && (again = sent_again(n)) >= 0; n++) {
		/* A slow machine resends what was not lost, but not each time. */
		for (int i = 0; i < 2 && again > 0; i++)
			again = sent_again(n);
		lost += again > 0;
	}
	cr_assert(n > 8 && n < CALLS, "%d calls", n);
	cr_assert(lost <= 1, "octets were lost in %d of %d moments", lost, n);
}

/* If opening our window would undo an update of the peer's, the peer is asked for it again, and only then. */
Test(handoff_sock, window_of_the_peer)
{
	int asked = 0, n;

	if (xiw_sock_allowed())
		cr_skip_test("needs CAP_NET_ADMIN");
	for (n = 0; n < CALLS; n++) {
		connect_and_fill();
		when = n;
		cr_assert(!xiw_sock_open_window(ours, 1 << 20));
		cr_assert(repair_mode == TCP_REPAIR_OFF || repair_mode == TCP_REPAIR_OFF_NO_WP);
		asked += repair_mode == TCP_REPAIR_OFF;
		if (calls <= n) {
			cr_assert_eq(repair_mode, TCP_REPAIR_OFF_NO_WP);
			all_arrives();
			break;
		}
		all_arrives();
	}
	cr_assert(n > 5 && n < CALLS, "%d calls", n);
	/* There is at least one such moment, between the reading and the writing. */
	cr_assert(asked >= 1 && asked < n, "%d of %d", asked, n);
}

/* An acknowledgement of more than the peer has acknowledged would lose octets; whenever it acknowledges, it is less. */
Test(handoff_sock, acknowledged_by_the_peer)
{
	struct xiw_sock_state s, now;
	uint32_t snd_una;
	uint16_t wnd;
	int n;

	if (xiw_sock_allowed())
		cr_skip_test("needs CAP_NET_ADMIN");
	for (n = 0; n < CALLS; n++) {
		connect_and_fill();
		when = n;
		cr_assert(!xiw_sock_read(ours, &s));
		reads_all();
		cr_assert(!xiw_sock_peer(ours, &s, &snd_una, &wnd));
		cr_assert(!xiw_sock_read(ours, &now));
		cr_assert((int32_t)(now.snd_una - snd_una) >= 0, "call %d: %u, not %u", n, snd_una,
			  now.snd_una);
		cr_assert_eq(wnd, info().tcpi_snd_wnd >> info().tcpi_snd_wscale);
		if (calls <= n) {
			cr_assert_eq(snd_una, now.snd_una);
			cr_assert((int32_t)(snd_una - s.snd_una) > 0);
			all_arrives();
			break;
		}
		all_arrives();
	}
	cr_assert(n > 5 && n < CALLS, "%d calls", n);
}

/* Whenever the peer reads while the socket is asked how far it has sent, it has sent no less, and sends on. */
Test(handoff_sock, sent_by_the_socket)
{
	struct xiw_sock_state s, now;
	uint32_t sent;
	int n;

	if (xiw_sock_allowed())
		cr_skip_test("needs CAP_NET_ADMIN");
	for (n = 0; n < CALLS; n++) {
		connect_and_fill();
		cr_assert(!xiw_sock_read(ours, &s));
		cr_assert(!xiw_sock_sent(ours, &s, &sent));
		cr_assert_eq(sent, s.snd_nxt);
		when = n;
		cr_assert(!xiw_sock_sent(ours, &s, &sent));
		const int needed = calls;
		cr_assert(!xiw_sock_read(ours, &now));
		cr_assert((int32_t)(now.snd_nxt - sent) >= 0, "call %d: %u, not %u", n, sent,
			  now.snd_nxt);
		cr_assert((int32_t)(sent - s.snd_nxt) >= 0);
		all_arrives();
		if (needed <= n)
			break;
	}
	cr_assert(n >= 4 && n < CALLS, "%d calls", n);
}
