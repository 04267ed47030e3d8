// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * alt - one stream, alternately aligned and misaligned, with data flowing back: does every octet arrive once, in its
 * place, on either path?
 *
 *   alt recv [OPTION...]        Responder, by the library; checks what comes, sends as much back as it can
 *   alt send [OPTION...] ADDR   Initiator, by plain sockets; the kernel's TCP makes the segments
 *
 * The octet at offset n of either stream is a function of n alone, so both ends can check every one.
 * Messages are tagged, have MSG octets, and use the places of a buffer of SLOTS messages in turn.
 */
#include <getopt.h>
#include <sys/mman.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/lib/ended.h"
#include "tests/net/lib/json.h"
#include "tests/net/lib/turns.h"

#define STAG 0x51000001u

#define MSG (256u << 10)
#define SLOTS 64u
#define PORT 15045

static struct {
	uint64_t octets; /* to send forward */
	unsigned int turns;
	uint64_t seed;
	uint32_t isn;
	bool set_isn, markers;
	enum xiw_use_path path;
} opt = { .octets = 1ull << 30, .turns = 220, .seed = 1 };

static void check(const char *what, const uint8_t *got, uint64_t off, size_t len)
{
	int64_t at = stream_wrong(opt.seed, off, got, len);

	if (at >= 0)
		die("%s: wrong octet %02x at %llu (message offset %lld)", what, got[at],
		    (unsigned long long)off + (unsigned long long)at, (long long)at);
}

/* ---- the library's end --------------------------------------------------------------------------- */

static uint8_t *ring;
static uint64_t forward, back, back_done;
static uint8_t back_buf[16][MSG];

/* A quarter of what came, so that the stream under test does not starve. */
static void send_back(struct xiw_conn *c)
{
	while (back - back_done < 16 && back * (MSG / 16) <= forward / 4) {
		struct xiw_message m = {
			.buf = back_buf[back % 16],
			.len = MSG / 16,
			.tagged = true,
			.stag = STAG,
			.to = back * (MSG / 16),
		};

		stream_octets(opt.seed, back * (MSG / 16), back_buf[back % 16], MSG / 16);
		if (xiw_conn_send(c, &m))
			return;
		back++;
	}
}

static void on_written(const struct xiw_completion *c)
{
	if (c->stag != STAG || c->to != forward % (MSG * SLOTS) || c->length > MSG)
		die("message with STag %#x, TO %llu, length %llu after %llu octets", c->stag,
		    (unsigned long long)c->to, (unsigned long long)c->length,
		    (unsigned long long)forward);
	check("forward", ring + c->to, forward, c->length);
	forward += c->length;
	/* A second delivery, or a late stray write, would not find the octets that it should. */
	memset(ring + c->to, 0xee, c->length);
}

static void report(const struct xiw_conn_info *i, double seconds)
{
	struct json_object *o = json_object_new_object();

	add(o, "octets", forward);
	add(o, "octets_back", back_done * (MSG / 16));
	add(o, "octets_direct", i->octets_direct);
	add(o, "octets_kernel", i->octets_kernel);
	add(o, "went_direct", i->went_direct);
	add(o, "went_kernel", i->went_kernel);
	add(o, "injected", i->injected);
	add(o, "acks_sent", i->acks_sent);
	add(o, "crc_errors", i->crc_errors);
	json_object_object_add(o, "no_direct", json_object_new_string(i->no_direct));
	json_object_object_add(o, "seconds", json_object_new_double(seconds));
	add_reasons(o, i);
	print_json(o);
}

static double started;

/* False: the connection is over. */
static bool on_event(const struct xiw_completion *c)
{
	struct xiw_conn_info info = {};

	switch (c->event) {
	case XIW_EV_REQUEST:
		started = now_s();
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_CONNECTED:
		send_back(c->conn);
		break;
	case XIW_EV_SENT:
		back_done++;
		send_back(c->conn);
		break;
	case XIW_EV_WRITTEN:
		on_written(c);
		send_back(c->conn);
		break;
	case XIW_EV_CLOSED:
		xiw_conn_info(c->conn, &info, sizeof(info));
		report(&info, now_s() - started);
		if (c->status)
			die("closed: %s, MPA error %d, DDP error %#x", strerror(-c->status),
			    info.mpa_error, info.ddp_error);
		xiw_conn_free(c->conn);
		return false;
	default:
		/* What is queued still goes out; the sender reads to the end. */
		follow_end(c);
		break;
	}
	return true;
}

static int receive(void)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1, .path = opt.path };
	struct xiw_conn_opts co = { .size = sizeof(co), .markers = opt.markers, .send_depth = 16 };
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct xiw_engine *e;
	struct xiw_listener *l;
	struct xiw_region *r;
	struct xiw_completion c;
	bool more = true;
	int err;

	ring = mmap(NULL, MSG * SLOTS, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if ((err = xiw_engine_create(&eo, &e)) ||
	    (err = xiw_region_register(e, ring, MSG * SLOTS, &ro, &r)) ||
	    (err = xiw_listen(e, (struct sockaddr *)&any, sizeof(any), &co, &l)))
		die("%s", strerror(-err));
	while (more) {
		err = xiw_engine_run(e, 1000);
		if (err < 0)
			die("engine: %s", strerror(-err));
		while (more && xiw_engine_next(e, &c))
			more = on_event(&c);
	}
	xiw_region_free(r);
	xiw_engine_destroy(e);
	return 0;
}

/* ---- the plain end ------------------------------------------------------------------------------- */

static void on_back(const uint8_t *payload, uint32_t len, bool last)
{
	(void)last;
	check("back", payload, turns.back_seen, len);
}

/* A message ends at every multiple of MSG. */
static void put(uint32_t ulpdu)
{
	static uint8_t payload[65536];
	uint32_t len = ulpdu - XIW_DDP_TAGGED_LEN;
	struct xiw_ddp_hdr h = { .tagged = true, .dv = 1, .stag = STAG };

	if (len > MSG - turns.sent % MSG)
		len = MSG - (uint32_t)(turns.sent % MSG);
	if (len > opt.octets - turns.sent)
		len = (uint32_t)(opt.octets - turns.sent);
	h.to = turns.sent % (MSG * SLOTS);
	turns.done = turns.sent + len == opt.octets;
	h.last = (turns.sent + len) % MSG == 0 || turns.done;
	stream_octets(opt.seed, turns.sent, payload, len);
	put_segment(&h, payload, len);
}

static int send_all(const char *host)
{
	turns.put = put;
	turns.on_back = on_back;
	turns.stag = STAG;
	plain_connect(host, PORT, opt.set_isn ? &opt.isn : NULL);
	send_by_turns(opt.octets, opt.turns, opt.seed);
	printf("{\"sent\":%llu,\"octets_back\":%llu}\n", (unsigned long long)turns.sent,
	       (unsigned long long)turns.back_seen);
	return turns.back_seen ? 0 : 1;
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "b:t:s:i:mkd")) != -1) {
		switch (o) {
		case 'b':
			opt.octets = strtoull(optarg, NULL, 0) << 20;
			break;
		case 't':
			opt.turns = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'i':
			opt.isn = (uint32_t)strtoul(optarg, NULL, 0);
			opt.set_isn = true;
			break;
		case 'm':
			opt.markers = true;
			break;
		case 'k':
			opt.path = XIW_USE_KERNEL;
			break;
		case 'd':
			opt.path = XIW_USE_DIRECT;
			break;
		default:
			die("usage: alt [-b MiB] [-t TURNS] [-s SEED] [-i ISN] [-m] [-k|-d] recv | "
			    "send ADDR");
		}
	}
	if (argc - optind == 1 && !strcmp(argv[optind], "recv"))
		return receive();
	if (argc - optind == 2 && !strcmp(argv[optind], "send"))
		return send_all(argv[optind + 1]);
	die("recv or send ADDR");
}
