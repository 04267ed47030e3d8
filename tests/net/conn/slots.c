// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots of the flow table: which connections take them, and when they are free again. Several programs in one:
 *
 *   slots hold DIR FREE     takes all slots of the table pinned in DIR but FREE, until SIGUSR1
 *   slots used DIR          how many are taken
 *   slots collect DIR       frees those that have no owner, as every engine does at its start; prints how many
 *   slots adopt DIR         a connection leaves its slot, and another with the same addresses takes it
 *   slots idle HOST PORT N  N TCP connections that say nothing, until SIGUSR1
 *   slots send HOST PORT [split] ROUNDS   connections one after the other: some octets in aligned segments, or each
 *                           FPDU in two; the receiver closes first
 *   slots stay HOST PORT    one connection: some octets; at SIGUSR1, more; the receiver closes first
 *   slots recv PORT         the library's end: a line about each connection
 *
 * Prints `ready` when it has begun. Exit codes: 0, 1 something went wrong, 2 usage.
 */
#include <signal.h>

#include <xiwarp/xiwarp.h>

#include "handoff/table.h"
#include "tests/net/lib/octets.h"
#include "tests/net/lib/plain.h"

#define STAG 0x1234u
#define SIZE (1u << 20)
#define PIECE 1000u
#define PIECES 20u
#define MORE 200u

static void wait_for_end(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("ready\n");
	fflush(stdout);
	sigwait(&set, &sig);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static struct xiw_table table;

static void open_table(const char *dir)
{
	int err = xiw_table_open(&table, dir);

	if (err)
		die("%s: %s", dir, strerror(-err));
}

static void hold(const char *dir, uint32_t left)
{
	static int slots[XIW_MAX_FLOWS];
	struct xiw_flow_key key = { .local_port = htons(1) };
	uint32_t n = 0, skew;

	open_table(dir);
	do {
		key.remote_addr[3] = htonl(n + 1);
		slots[n] = xiw_table_claim(&table, &key, &skew);
	} while (slots[n] >= 0 && ++n < XIW_MAX_FLOWS);
	for (uint32_t i = 0; i < left && i < n; i++)
		xiw_table_remove(&table, (uint32_t)slots[i]);
	wait_for_end();
	for (uint32_t i = left; i < n; i++)
		xiw_table_remove(&table, (uint32_t)slots[i]);
}

static void used(const char *dir)
{
	unsigned int n = 0;

	open_table(dir);
	for (uint32_t i = 0; i < table.nflows; i++)
		n += table.flows[i].engine != 0;
	printf("%u\n", n);
}

static void collect(const char *dir)
{
	open_table(dir);
	printf("%u\n", xiw_table_collect(&table));
}

/* Translation goes on by the same skew; nothing else remains of the previous connection. */
static void adopt(const char *dir)
{
	struct xiw_flow_key key = { .local_port = htons(9), .remote_port = htons(9) };
	uint32_t skew = 0, epoch;
	struct xiw_flow *f;
	int slot;

	open_table(dir);
	slot = xiw_table_claim(&table, &key, &skew);
	if (slot < 0 || xiw_table_insert(&table, (uint32_t)slot))
		die("claim: %d", slot);
	f = &table.flows[slot];
	epoch = xiw_owner_epoch(f->owner) + 1;
	f->owner = xiw_owner_pack(77, epoch, XIW_PATH_ARMED);
	f->ece = XIW_ECE_ON;
	f->barred = XIW_REASON_UNSEEN;
	f->ts_recent = f->beyond = f->run_end = f->run_len = f->try_nxt = f->reasons[3] = 5;
	f->kernel_segs = f->direct_segs = f->elsewhere_segs = f->try_ns = 6;
	xiw_table_abandon(&table, (uint32_t)slot);
	if (xiw_table_claim(&table, &key, &skew) != slot)
		die("not adopted");
	printf("skew %u path %u: %u %u %u %u %u %u %u %u %u %u %u %u\n", skew,
	       xiw_owner_path(f->owner), f->ece, f->barred, f->ts_recent, f->beyond, f->run_end,
	       f->run_len, f->try_nxt, f->reasons[3], (unsigned int)f->kernel_segs,
	       (unsigned int)f->direct_segs, (unsigned int)f->elsewhere_segs,
	       (unsigned int)f->try_ns);
	xiw_table_remove(&table, (uint32_t)slot);
}

/* ---- the peer ------------------------------------------------------------------------------------ */

static struct xiw_mpa_tx tx;
static uint64_t sent;

static void give(const uint8_t *p, size_t len)
{
	if (send(plain.sock, p, len, MSG_EOR | MSG_NOSIGNAL) != (ssize_t)len)
		die_errno("send");
}

static void give_fpdu(const struct xiw_ddp_hdr *h, const void *payload, uint32_t len, bool split)
{
	uint8_t header[XIW_DDP_HDR_MAX], fpdu[2048];
	uint32_t hlen = xiw_ddp_hdr_encode(h, header);
	uint32_t n = xiw_mpa_build(&tx, fpdu, header, hlen, payload, len);

	if (split)
		give(fpdu, 5);
	give(fpdu + (split ? 5 : 0), n - (split ? 5 : 0));
}

static void begin(const char *host, uint16_t port)
{
	plain_connect(host, port, NULL);
	tx = plain_startup();
	sent = 0;
}

static void pieces(unsigned int n, bool split)
{
	struct xiw_ddp_hdr h = { .tagged = true, .last = true, .dv = 1, .stag = STAG };
	uint8_t payload[PIECE];

	for (; n--; sent += PIECE) {
		for (uint32_t i = 0; i < PIECE; i++)
			payload[i] = octet(sent + i);
		h.to = sent;
		give_fpdu(&h, payload, PIECE, split);
	}
}

/* Makes the receiver close first; or, for `report`, print what there is. */
static void ask(const char *what, uint32_t msn, bool split)
{
	struct xiw_ddp_hdr h = { .last = true, .dv = 1, .msn = msn };
	char c;

	give_fpdu(&h, what, (uint32_t)strlen(what), split);
	if (strcmp(what, "close"))
		return;
	while (recv(plain.sock, &c, 1, 0) > 0)
		;
	close(plain.sock);
}

static void rounds(const char *host, uint16_t port, bool split, int n)
{
	while (n--) {
		/*
		 * A slot that has just been left is free for others at the library's next check, at most 100 ms
		 * later.
		 */
		usleep(30000);
		begin(host, port);
		pieces(PIECES, split);
		ask("close", 1, split);
	}
}

static void stay(const char *host, uint16_t port)
{
	begin(host, port);
	pieces(PIECES, false);
	ask("report", 1, false);
	wait_for_end();
	pieces(MORE, false);
	ask("close", 2, false);
}

static void idle(const char *host, uint16_t port, int n)
{
	while (n--)
		plain_connect(host, port, NULL);
	wait_for_end();
}

/* ---- the library's end --------------------------------------------------------------------------- */

static uint8_t buffer[SIZE];
static char texts[8][16];

static void report(struct xiw_conn *c)
{
	struct xiw_conn_info i;
	uint64_t octets;
	int64_t bad = -1;

	xiw_conn_info(c, &i, sizeof(i));
	octets = i.octets_direct + i.octets_kernel;
	for (uint64_t at = 0; at + PIECE <= octets && bad < 0; at++)
		if (buffer[at] != octet(at))
			bad = (int64_t)at;
	printf("direct=%llu kernel=%llu went=%llu error=%d bad=%lld no_direct=%s\n",
	       (unsigned long long)i.octets_direct, (unsigned long long)i.octets_kernel,
	       (unsigned long long)i.went_direct, i.error, (long long)bad, i.no_direct);
	fflush(stdout);
}

static void on_event(const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		memset(buffer, 0, sizeof(buffer));
		for (unsigned int i = 0; i < 8; i++)
			xiw_conn_post_recv(c->conn, 0, texts[i], sizeof(texts[i]), i);
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_RECEIVED:
		if (!strncmp(texts[c->user_data], "close", 5))
			xiw_conn_close(c->conn);
		else
			report(c->conn);
		break;
	case XIW_EV_ERROR:
		xiw_conn_abort(c->conn);
		break;
	case XIW_EV_CLOSED:
		report(c->conn);
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

static void receive(uint16_t port)
{
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct xiw_engine_opts eopts = { .size = sizeof(eopts), .app_ring_fd = -1 };
	struct xiw_conn_opts opts = { .size = sizeof(opts) };
	uint32_t stag = STAG;
	struct xiw_region_opts ropts = { .size = sizeof(ropts), .stag = &stag };
	struct xiw_listener *l;
	struct xiw_region *r;
	struct xiw_engine *e;
	struct xiw_completion c;
	int err = xiw_engine_create(&eopts, &e);

	if (!err)
		err = xiw_region_register(e, buffer, SIZE, &ropts, &r);
	if (!err)
		err = xiw_listen(e, (struct sockaddr *)&local, sizeof(local), &opts, &l);
	if (err)
		die("%s", strerror(-err));
	while (xiw_engine_run(e, -1) >= 0)
		while (xiw_engine_next(e, &c) > 0)
			on_event(&c);
	xiw_listener_free(l);
	xiw_region_free(r);
	xiw_engine_destroy(e);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	uint16_t port = argc > 3 ? (uint16_t)atoi(argv[3]) : 0;

	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(what, "hold") && argc == 4)
		hold(argv[2], port);
	else if (!strcmp(what, "used"))
		used(argv[2]);
	else if (!strcmp(what, "adopt"))
		adopt(argv[2]);
	else if (!strcmp(what, "collect"))
		collect(argv[2]);
	else if (!strcmp(what, "recv"))
		receive((uint16_t)atoi(argv[2]));
	else if (!strcmp(what, "idle") && argc == 5)
		idle(argv[2], port, atoi(argv[4]));
	else if (!strcmp(what, "send") && argc >= 5)
		rounds(argv[2], port, argc == 6, atoi(argv[argc - 1]));
	else if (!strcmp(what, "stay") && argc == 4)
		stay(argv[2], port);
	else
		return 2;
	return 0;
}
