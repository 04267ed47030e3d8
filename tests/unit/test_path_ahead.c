// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer repeats what it was told of by the socket alone, whose packets go around xiw_egress, and acknowledges what the
 * socket has sent that way. The socket knows whether it did.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* The functions under test are static. */
#include "path/direct.c"

#include "handoff/sock.h"
#include "tests/unit/stretch_rig.h"

#define SENT 10u

static struct stretch t;
static struct xiw_conn *const c = &t.c;
static struct xiw_flow *const flow = &t.flow;
static int peer;

/* A socket that has sent some octets, and what is known of it. */
static void connected(int *fd, struct xiw_sock_state *now)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int l = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);

	cr_assert(!bind(l, (struct sockaddr *)&at, len) && !listen(l, 1));
	cr_assert(!getsockname(l, (struct sockaddr *)&at, &len));
	*fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(!connect(*fd, (struct sockaddr *)&at, len));
	peer = accept(l, NULL, NULL);
	close(l);
	cr_assert_eq(send(*fd, "0123456789", SENT, 0), (ssize_t)SENT);
	cr_assert(!xiw_sock_read(*fd, now));
}

/* xiw_egress has not seen the last `unseen` octets. */
static void setup(uint32_t unseen)
{
	if (xiw_sock_allowed())
		cr_skip_test("needs CAP_NET_ADMIN");
	stretch_begin(&t);
	/* The socket has not been given the first octets of this connection. */
	flow->kernel_nxt = xiw_kernel_nxt_pack(AT - 5 * LEN, c->stretch.epoch);
	connected(&c->fd, &c->reg.sock);
	flow->snd_nxt = c->reg.sock.snd_nxt - unseen;
}

static void teardown(void)
{
	close(c->fd);
	close(peer);
}

/* The segment in front of the stretch comes once more. Of what xiw_egress has not seen, it acknowledges `n` octets. */
static void comes_with(enum xiw_tcp_drop why, uint32_t n)
{
	const struct xiw_segment s = stretch_segment(&t, AT - LEN, LEN);
	const struct xiw_tcp_seg seg = { .seq = AT - LEN, .ack = flow->snd_nxt + n };

	c->tcp.last_drop = (uint8_t)why;
	refused(c, &s, &seg);
	t.e.now_ms += 250;
}

static void comes(enum xiw_tcp_drop why)
{
	comes_with(why, SENT);
}

Test(path_ahead, what_the_socket_has_sent_around_xiw_egress)
{
	setup(SENT);
	comes(XIW_TCP_DROP_ACK_NEW);
	cr_expect(c->stretch.state == XIW_STRETCH_RUNS, "one segment may be late");
	comes(XIW_TCP_DROP_ACK_NEW);
	cr_expect(c->stretch.state == XIW_STRETCH_ENDS);
	cr_expect_eq(c->handoff.reason, XIW_REASON_EGRESS);
	cr_expect_eq(flow->barred, XIW_REASON_EGRESS);
	cr_expect(c->progress.cut_off);
	teardown();
}

/* It may be on its way to xiw_egress. A peer that has it has no more than that. */
Test(path_ahead, what_the_socket_has_not_sent_beyond_that)
{
	setup(SENT);
	for (int i = 0; i < 5; i++) {
		comes_with(XIW_TCP_DROP_ACK_NEW, SENT + 1);
		comes_with(XIW_TCP_DROP_ACK_NEW, 1u << 30);
	}
	cr_expect(c->stretch.state == XIW_STRETCH_RUNS);
	cr_expect_not(flow->barred);
	/* xiw_egress has seen it meanwhile. */
	comes_with(XIW_TCP_DROP_ACK_NEW, 0);
	comes_with(XIW_TCP_DROP_ACK_NEW, 0);
	cr_expect(c->stretch.state == XIW_STRETCH_RUNS);
	comes_with(XIW_TCP_DROP_ACK_NEW, 1);
	comes_with(XIW_TCP_DROP_ACK_NEW, 1);
	cr_expect(c->stretch.state == XIW_STRETCH_ENDS);
	teardown();
}

/* It is asked as well, and has not sent the rest. */
Test(path_ahead, a_socket_that_has_more_to_send)
{
	uint8_t octets[65536] = {};
	uint32_t sent;

	setup(SENT);
	while (send(c->fd, octets, sizeof(octets), MSG_DONTWAIT) > 0)
		;
	cr_assert(!xiw_sock_sent(c->fd, &c->reg.sock, &sent));
	flow->snd_nxt = sent;
	comes(XIW_TCP_DROP_ACK_NEW);
	comes(XIW_TCP_DROP_ACK_NEW);
	cr_expect(c->stretch.state == XIW_STRETCH_RUNS, "the peer has more than was sent");
	flow->snd_nxt = sent - SENT;
	comes(XIW_TCP_DROP_ACK_NEW);
	comes(XIW_TCP_DROP_ACK_NEW);
	cr_expect(c->stretch.state == XIW_STRETCH_ENDS);
	cr_expect_eq(flow->barred, XIW_REASON_EGRESS);
	teardown();
}

/* Anybody may say that. A real repetition in between is the first of its kind. */
Test(path_ahead, what_the_socket_has_not_sent)
{
	setup(0);
	for (int i = 0; i < 5; i++)
		comes(XIW_TCP_DROP_ACK_NEW);
	comes(XIW_TCP_DROP_DUP);
	for (int i = 0; i < 5; i++)
		comes(XIW_TCP_DROP_ACK_NEW);
	cr_expect(c->stretch.state == XIW_STRETCH_RUNS);
	cr_expect_not(flow->barred);
	cr_expect_not(c->progress.cut_off);
	teardown();
}

/* Other segments that are dropped say nothing, whatever the socket does. */
Test(path_ahead, what_was_dropped_for_another_reason)
{
	setup(SENT);
	for (int i = 0; i < 5; i++) {
		comes(XIW_TCP_DROP_ACK_OLD);
		comes(XIW_TCP_DROP_PAWS);
	}
	cr_expect(c->stretch.state == XIW_STRETCH_RUNS);
	teardown();
}
