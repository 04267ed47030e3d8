// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Floods against a shared receive queue: attackers send empty Sends or Immediate Data as fast as the library
 * (flood_end.c) takes them, or begin Sends that never end, while honest peers send and await an answer to each of their
 * Sends.
 *
 *   flood ADDRESS CONTROL-PORT kernel|direct [CASE]
 *
 * Prints PASS or FAIL for each case. Exit codes: 0 all passed, 1 some failed, 2 usage.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/net/peer/rdmap.h"

enum { HONEST = 4, ATTACKERS = 3, ROUNDS = 150, AT_ONCE = 64, IMMEDIATE = 0x48 };

static const char *dial(void)
{
	struct sockaddr_in a = peer.end;

	a.sin_port = htons((uint16_t)peer.port);
	peer.fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(peer.fd, (struct sockaddr *)&a, sizeof(a)), "%s", strerror(errno));
	prepare(peer.fd);
	peer.out = peer.in = 0;
	TRY(send_frame(REQUEST, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0));
	return expect_frame(REPLY, C | S, 2, enhanced(0, 0, DEPTH, DEPTH), 0);
}

static const char *honest(void)
{
	struct fpdu f;

	TRY(dial());
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		TRY(push_send(SEND, 0, i, 100 + i * 7 % 1300));
		TRY(pull_untagged(&f, SEND, 0, 0, i, 10));
	}
	TRY(half_close());
	return closed();
}

/* Until the stream ends. Each octet comes in a segment of its own if `slowly`. */
static const char *attack(int opcode, bool slowly)
{
	static uint8_t out[AT_ONCE * 64];
	uint32_t msn = 1, n;

	TRY(dial());
	for (;;) {
		n = 0;
		for (int i = 0; i < AT_ONCE; i++) {
			const struct ulpdu *m = untagged_ulpdu(LAST | DV, (uint8_t)opcode, 0, 0,
							       msn++, 0,
							       opcode == IMMEDIATE ? 8 : 0);

			n += make_fpdu(out + n, m->u, m->len);
		}
		for (uint32_t i = 0; i < n; i += slowly ? 1 : n)
			TRY(push(out + i, slowly ? 1 : n));
	}
}

static pid_t begin_attack(int i)
{
	const pid_t pid = fork();

	if (pid)
		return pid;
	for (;;) {
		attack(i % 2 ? SEND : IMMEDIATE, i == 2);
		close(peer.fd);
		usleep(5000);
	}
}

/* A Send that is begun; more of its octets come now and then, if it `trickles`. Nothing is read. */
static const char *begin_send(bool trickles)
{
	const struct ulpdu *m = untagged_ulpdu(DV, SEND, 0, 0, 1, 0, 100);
	uint8_t out[256];
	uint32_t n = make_fpdu(out, m->u, m->len), mo = 100;

	TRY(dial());
	TRY(push(out, n));
	while (trickles && mo < 1600) {
		usleep(100000);
		m = untagged_ulpdu(DV, SEND, 0, 0, 1, mo, 1);
		n = make_fpdu(out, m->u, m->len);
		TRY(push(out, n));
		mo++;
	}
	for (;;)
		pause();
}

static pid_t begin_honest(void)
{
	const pid_t pid = fork();
	const char *why;

	if (pid)
		return pid;
	why = honest();
	if (why)
		printf("  an honest peer: %s\n", why);
	fflush(stdout);
	_exit(why != NULL);
}

static const char *flood(int limited)
{
	static const char *const lines[] = { "max=0 hold=30000", "max=4 hold=30000",
					     "max=4 hold=0" };
	pid_t pids[HONEST + ATTACKERS];
	int status, failed = 0;

	TRY(begin("role=r honest=%d %s", HONEST, lines[limited]));
	close(peer.fd);
	peer.fd = -1;
	for (int i = 0; i < ATTACKERS; i++)
		pids[HONEST + i] = begin_attack(i);
	usleep(100000);
	for (int i = 0; i < HONEST; i++)
		pids[i] = begin_honest();
	for (int i = 0; i < HONEST; i++) {
		waitpid(pids[i], &status, 0);
		failed += status != 0;
	}
	for (int i = 0; i < ATTACKERS; i++) {
		kill(pids[HONEST + i], SIGKILL);
		waitpid(pids[HONEST + i], NULL, 0);
	}
	TRY(result("bad=0 flooded=1"));
	CHECK(!failed, "%d honest peers failed", failed);
	return NULL;
}

/* All buffers are kept by Sends that do not end. Honest peers get theirs before their time is over. */
static const char *never_ends(int trickle)
{
	enum { KEEPERS = 64 };
	pid_t pids[KEEPERS], honest_pid;
	int status;

	TRY(begin("role=r honest=1 max=0 hold=8000 ended=1"));
	close(peer.fd);
	peer.fd = -1;
	for (int i = 0; i < KEEPERS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		begin_send(trickle);
		pause();
	}
	usleep(500000);
	honest_pid = begin_honest();
	waitpid(honest_pid, &status, 0);
	for (int i = 0; i < KEEPERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	TRY(result("bad=0 slow=1"));
	CHECK(!status, "the honest peer failed");
	return NULL;
}

static const struct test_case all_cases[] = {
	{ "held", flood, 0 },
	{ "limited-and-held", flood, 1 },
	{ "limited", flood, 2 },
	{ "never-end", never_ends, 0 },
	{ "trickle", never_ends, 1 },
	{},
};

int main(int argc, char **argv)
{
	open_control(argc, argv);
	run_cases(all_cases);
	return failures > 0;
}
