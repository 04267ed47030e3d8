// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cases of rdmap.c about the first FPDU: the ready-to-receive messages of RFC 6581 section 9.2, which an Initiator
 * offers of its own accord, and what it sends where none was agreed on, so that a Responder that keeps RFC 5044 section
 * 7.1.2 rule 4 may send.
 */
#include "tests/net/peer/rdmap.h"

#define LD (LAST | DV)
#define RTR_ALL (RTR_SEND | RTR_WRITE | RTR_READ)

/* The first message is not an RTR indication, or it is a Terminate, which is allowed. */
static const char *not_ready(int terminate)
{
	static const uint8_t body[] = { 0x20, 6, 0, 0 };
	struct ulpdu *m;

	TRY(begin("role=r ops=s"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, RTR_WRITE, DEPTH, DEPTH), 0));
	TRY(expect_frame(REPLY, C | S, 2,
			 enhanced(1, RTR_SEND | RTR_WRITE | RTR_READ, DEPTH, DEPTH), 0));
	if (!terminate) {
		TRY(push_send(SEND, 0, 1, 10));
		TRY(pull_terminate("2.0.7", NULL));
		return ended("events=eX sent=2.0.7 received=none");
	}
	m = untagged_ulpdu(LD, TERMINATE, 0, 2, 1, 0, sizeof(body));
	memcpy(m->u + 18, body, sizeof(body));
	TRY(push_ulpdu(m));
	return ended("events=tX sent=none received=2.0.6");
}

/* ---- an Initiator with default options -------------------------------------------------------- */

static const char *pull_empty_write(void)
{
	return pull_tagged(WRITE, 0, 0, 0, 0);
}

/* The library has offered all kinds, and this peer says what it supports. The Write comes before anything else. */
static const char *offered(int what)
{
	static const struct {
		int peer_to_peer, rtr;
	} all[] = { { 1, RTR_ALL }, { 1, RTR_WRITE }, { 0, 0 } };
	struct fpdu f;

	TRY(begin("role=i rev=0 rtr=0 ops=s len=70"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(1, RTR_ALL, DEPTH, DEPTH), 0));
	TRY(send_frame(REPLY, C | S, 2, enhanced(all[what].peer_to_peer, all[what].rtr, 1, 2), 0));
	TRY(pull_empty_write());
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 70));
	TRY(push_send(SEND, 0, 1, 100));
	return finished("status=0 sent=none received=none sends=1/1 writes=0/0 ird=4 ord=1");
}

/* A Send, or a Read that the library answers like any other, is the message if the peer knows no other one. */
static const char *offered_one(int kind)
{
	uint32_t sink = 0, size = 1;
	struct fpdu f;

	TRY(begin("role=i rev=0 rtr=0 ops=s len=70"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(1, RTR_ALL, DEPTH, DEPTH), 0));
	TRY(send_frame(REPLY, C | S, 2, enhanced(1, kind, DEPTH, DEPTH), 0));
	if (kind == RTR_SEND) {
		TRY(pull_untagged(&f, SEND, 0, 0, 1, 0));
	} else {
		TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 1, READ_LEN));
		sink = (uint32_t)get(f.ulpdu + 18, 4);
		size = (uint32_t)get(f.ulpdu + 30, 4);
		CHECK(!size, "%u octets", size);
		TRY(push_ulpdu(tagged_ulpdu(LD, READ_RESPONSE, sink, get(f.ulpdu + 22, 8), 0)));
	}
	TRY(pull_untagged(&f, SEND, 0, 0, kind == RTR_SEND ? 2 : 1, 70));
	return finished("events=CsEX status=0 sent=none received=none sends=0/1 reads=0/0");
}

/* A Responder without RFC 6581 closes, is asked once more, and has an FPDU at once all the same. */
static const char *falls_back(int unused)
{
	struct fpdu f;
	int l;

	(void)unused;
	peer.keep_listening = true;
	TRY(begin("role=i rev=0 rtr=0 ops=s len=70"));
	l = peer.listener;
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(1, RTR_ALL, DEPTH, DEPTH), 0));
	close(peer.fd);
	peer.fd = accept_from(l);
	close(l);
	TRY(expect_frame(REQUEST, C, 1, NULL, 0));
	TRY(send_frame(REPLY, C, 1, NULL, 0));
	TRY(pull_empty_write());
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 70));
	TRY(push_send(SEND, 0, 1, 100));
	return finished("status=0 sends=1/1 writes=0/0 ird=4 ord=4");
}

/* Rev 2 was asked for: there is no second attempt. */
static const char *no_fall_back(int unused)
{
	(void)unused;
	TRY(begin("role=i rtr=0"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(1, RTR_ALL, DEPTH, DEPTH), 0));
	TRY(half_close());
	TRY(closed());
	return result("events=FX status=-104");
}

/* The application asks for Rev 1, or its Private Data leave no room for those of RFC 6581. */
static const char *rev_1(int pd)
{
	struct fpdu f;

	TRY(begin(pd ? "role=i rev=0 rtr=0 ops=s len=70 pd=%d" : "role=i rev=1 rtr=0 ops=s len=70",
		  pd));
	TRY(expect_frame(REQUEST, C, 1, NULL, (size_t)pd));
	TRY(send_frame(REPLY, C, 1, NULL, 0));
	TRY(pull_empty_write());
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 70));
	return finished("events=CsEX status=0 sends=0/1 writes=0/0");
}

static const char *private_data_508(int unused)
{
	(void)unused;
	TRY(begin("role=i rev=0 rtr=0 pd=508"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(1, RTR_ALL, DEPTH, DEPTH), 508));
	TRY(send_frame(REPLY, C | S, 2, enhanced(1, RTR_WRITE, DEPTH, DEPTH), 0));
	TRY(pull_empty_write());
	return finished("events=CEX status=0");
}

/* XIW_RTR_NONE: client and server in Rev 1, or with negotiated depths; nothing leaves before the application's Send. */
static const char *none(int rev)
{
	struct fpdu f;

	TRY(begin("role=i rev=%d ops=s len=70", rev));
	TRY(expect_frame(REQUEST, rev ? C | S : C, rev ? 2 : 1,
			 rev ? enhanced(0, 0, DEPTH, DEPTH) : NULL, 0));
	TRY(send_frame(REPLY, rev ? C | S : C, rev ? 2 : 1,
		       rev ? enhanced(0, 0, DEPTH, DEPTH) : NULL, 0));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 70));
	return finished("events=CsEX status=0 sends=0/1");
}

/*
 * This peer says nothing, as Linux's siw does if it has overlooked the first FPDU. Two more come, although the
 * application's Sends wait behind a Read that is not answered.
 */
static const char *prompts(int peer_to_peer)
{
	struct fpdu f;

	TRY(begin("role=i rev=0 rtr=0 ops=rf"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(1, RTR_ALL, DEPTH, DEPTH), 0));
	TRY(send_frame(REPLY, C | S, 2,
		       enhanced(peer_to_peer, peer_to_peer ? RTR_WRITE : 0, DEPTH, DEPTH), 0));
	TRY(pull_empty_write());
	TRY(pull_untagged(&f, READ_REQUEST, 0, 1, 1, READ_LEN));
	TRY(pull_empty_write());
	TRY(pull_empty_write());
	TRY(push_send(SEND, 0, 1, 100));
	TRY(push_ulpdu(tagged_ulpdu(LD, READ_RESPONSE, (uint32_t)get(f.ulpdu + 18, 4),
				    get(f.ulpdu + 22, 8), 100)));
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 100));
	return finished("events=CrdsEX status=0 sends=1/1 reads=0/1 writes=0/0");
}

/*
 * A Responder that sends before it has an FPDU, and only a part of one right behind its Reply: then it resets, closes,
 * or sends the rest late, an octet at a time.
 */
static const char *behind_reply(int then)
{
	const struct linger linger = { .l_onoff = 1 };
	const struct ulpdu *m = tagged_ulpdu(LD, WRITE, WRITE_STAG, BASE, 300);
	uint8_t octets[1024];
	uint32_t reply, n;
	struct fpdu f;

	TRY(begin("role=i ops=s len=70"));
	TRY(expect_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	reply = (uint32_t)make_frame(octets, REPLY, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0);
	n = reply + make_fpdu(octets + reply, m->u, m->len);
	TRY(push(octets, n / 2));
	if (then == 'r' || then == 'f') {
		TRY(all_acknowledged());
		setsockopt(peer.fd, SOL_SOCKET, SO_LINGER, &linger,
			   then == 'r' ? sizeof(linger) : 0);
		then == 'r' ? close(peer.fd) : shutdown(peer.fd, SHUT_WR);
		if (then == 'r')
			peer.fd = -1;
		return result("writes=0/0 touched=0");
	}
	for (uint32_t i = n / 2; i < n; i++) {
		TRY(push(octets + i, 1));
		usleep(then);
	}
	TRY(pull_untagged(&f, SEND, 0, 0, 1, 70));
	return finished("events=CsEX status=0 sends=0/1 writes=1/0 write_octets=300 touched=0");
}

/* The message that makes the library ready comes twice. The second one is like any other; both Reads are answered. */
static const char *rtr_twice(int kind)
{
	struct fpdu f;

	TRY(begin("role=r ops=s len=70"));
	TRY(send_frame(REQUEST, C | S, 2, enhanced(1, kind, DEPTH, DEPTH), 0));
	TRY(expect_frame(REPLY, C | S, 2, enhanced(1, RTR_ALL, DEPTH, DEPTH), 0));
	for (uint32_t i = 1; i <= 2; i++) {
		if (kind == RTR_SEND)
			TRY(push_send(SEND, 0, i, 0));
		else if (kind == RTR_WRITE)
			TRY(push_ulpdu(tagged_ulpdu(LD, WRITE, 0, BASE, 0)));
		else
			TRY(push_ulpdu(read_ulpdu(i, 0, 0, 0, 0, 0)));
	}
	for (int i = 0; i < (kind == RTR_READ ? 3 : 1); i++)
		TRY(pull_fpdu(&f));
	return finished("status=0 sends=%d/1 writes=%d/0 reads=%d/0 sent=none",
			kind == RTR_SEND, kind == RTR_WRITE, 2 * (kind == RTR_READ));
}

const struct test_case first_cases[] = {
	{ "behind-reply-reset", behind_reply, 'r' },
	{ "behind-reply-fin", behind_reply, 'f' },
	{ "behind-reply-slow", behind_reply, 1000 },
	{ "rtr-twice-send", rtr_twice, RTR_SEND },
	{ "rtr-twice-write", rtr_twice, RTR_WRITE },
	{ "rtr-twice-read", rtr_twice, RTR_READ },
	{ "rtr-not-ready", not_ready, 0 },
	{ "rtr-terminate", not_ready, 1 },
	{ "rtr-offered", offered, 0 },
	{ "rtr-offered-write", offered, 1 },
	{ "rtr-offered-refused", offered, 2 },
	{ "rtr-offered-send", offered_one, RTR_SEND },
	{ "rtr-offered-read", offered_one, RTR_READ },
	{ "rtr-falls-back", falls_back, 0 },
	{ "rtr-falls-back-not", no_fall_back, 0 },
	{ "rtr-private-data-508", private_data_508, 0 },
	{ "first-write-rev-1", rev_1, 0 },
	{ "first-write-private-data", rev_1, 509 },
	{ "rtr-none", none, 2 },
	{ "rtr-none-rev-1", none, 0 },
	{ "prompts-peer-to-peer", prompts, 1 },
	{ "prompts-client-and-server", prompts, 0 },
	{},
};
