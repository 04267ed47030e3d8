// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * order - messages out of order on the wire, and a receiver that watches its buffer.
 *
 *   order [-m] [-x] LEN          Responder, by the library: LEN octets come, each message behind the other
 *   order [OPTION...] send ADDR  Initiator, by a plain socket: FPDUs of a SLOT each, SLOTS to a segment, which is a
 *                                message, but for untagged ones, each of which is one
 *
 * The Responder prints how many octets are in place while there are holes in front of them, each time that this grows:
 * "early N", and a "map" with a digit for each SLOT. At the connection's end it prints one line of JSON, and the
 * buffer on stderr. -m: ask for markers. -x: some of the messages are untagged. SIGUSR1: registers the STag again for
 * other memory, which holds only what was delivered, and prints "again".
 *
 *   -n N       segments (12): three with pauses, for the Responder to go direct, then the others at once
 *   -i ISN     initial sequence number
 *   -x         some of the messages are untagged
 *   -G N       the STag of segment N is wrong
 *   -W N       segment N is one FPDU by its length, and its Marker points to another one inside it
 *   -H N       the wire holds back segment N
 *   -o FILE    write what the Responder's buffer must hold at the end
 *
 * The Initiator prints the "map" that is to be seen while the segment is held back (RFC 5044 section 6), and
 * "marked N, behind N": early FPDUs in place that have a Marker, and that only a ULPDU_Length leads to; and how many
 * "messages" there are. The last FPDU of a message is never early, nor is any behind a wrong STag.
 */
#include <getopt.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <xiwarp/xiwarp.h>

#include "crc32c/crc32c.h"
#include "tests/net/lib/ended.h"
#include "tests/net/lib/plain.h"

#define STAG 0x1234u
#define PORT 15046
#define SLOT 192u
#define SLOTS 6u
#define SEGMENT_MAX 2048
#define CONTENT 1 /* the stream of that number */

static struct {
	uint32_t isn;
	unsigned int segments, held, wrong, guess;
	bool set_isn, mixed, markers;
	const char *image;
} opt = { .segments = 12 };

static bool untagged(unsigned int slot)
{
	return opt.mixed && stream_word(CONTENT, ~(uint64_t)slot) % 3 == 0;
}

/* ---- the library's end --------------------------------------------------------------------------- */

static uint8_t *buffer;
static size_t len, early, holes;

/* Random content has only short runs of zeros: a page of zeros is a hole. */
static size_t in_place(void)
{
	static const uint8_t zeros[64];
	size_t n = 0;

	holes = 0;
	for (size_t i = 0; i + sizeof(zeros) <= len; i += sizeof(zeros)) {
		bool there = memcmp(buffer + i, zeros, sizeof(zeros));

		n += there ? sizeof(zeros) : 0;
		/* A hole is missing octets in front of some that are there. */
		if (there && i && !memcmp(buffer + i - sizeof(zeros), zeros, sizeof(zeros)))
			holes++;
	}
	return n;
}

static void print_map(void)
{
	static const uint8_t zeros[SLOT];

	printf("map ");
	for (size_t at = 0; at + SLOT <= len; at += SLOT)
		putchar(memcmp(buffer + at, zeros, SLOT) ? '1' : '0');
	putchar('\n');
}

static volatile sig_atomic_t again;

static void on_signal(int number)
{
	(void)number;
	again = 1;
}

static int offer(struct xiw_engine *e, struct xiw_region **r)
{
	uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };

	buffer = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return buffer == MAP_FAILED ? -ENOMEM : xiw_region_register(e, buffer, len, &ro, r);
}

static int offer_again(struct xiw_engine *e, struct xiw_region **r, uint64_t delivered)
{
	uint8_t *old = buffer;
	int err;

	again = 0;
	xiw_region_free(*r);
	err = offer(e, r);
	if (err)
		return err;
	memcpy(buffer, old, delivered);
	munmap(old, len);
	printf("again\n");
	return 0;
}

/* An untagged message's buffer is where a tagged one would go: the image is the same. */
static void post_untagged(struct xiw_conn *c)
{
	for (unsigned int slot = 0; (slot + 1) * SLOT <= len; slot++)
		if (untagged(slot) && xiw_conn_post_recv(c, 0, buffer + slot * SLOT, SLOT, slot))
			exit(1);
}

static bool in_turn(const struct xiw_completion *c, uint64_t delivered)
{
	if (c->event == XIW_EV_RECEIVED)
		return c->user_data * SLOT == delivered && c->length == SLOT;
	return c->to == delivered && !(opt.mixed && untagged((unsigned int)(delivered / SLOT)));
}

static void report(struct xiw_conn *c)
{
	struct xiw_conn_info i;

	xiw_conn_info(c, &i, sizeof(i));
	printf("{\"fpdus\":%llu,\"fpdus_early\":%llu,\"messages\":%llu,\"octets_direct\":%llu,"
	       "\"octets_kernel\":%llu,\"mpa_error\":%d,\"ddp_error\":%d,\"crc_errors\":%llu,"
	       "\"early_refused\":%llu,\"early\":%zu}\n",
	       (unsigned long long)i.fpdus, (unsigned long long)i.fpdus_early,
	       (unsigned long long)i.messages, (unsigned long long)i.octets_direct,
	       (unsigned long long)i.octets_kernel, i.mpa_error, i.ddp_error,
	       (unsigned long long)i.crc_errors, (unsigned long long)i.early_refused, early);
}

/* Returns the exit code at the end, or -1 to go on. */
static int on_event(const struct xiw_completion *c, uint64_t *delivered)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		post_untagged(c->conn);
		xiw_conn_accept(c->conn, NULL, 0);
		break;
	case XIW_EV_WRITTEN:
	case XIW_EV_RECEIVED:
		if (!in_turn(c, *delivered))
			return 1;
		*delivered += c->length;
		break;
	case XIW_EV_CLOSED:
		report(c->conn);
		xiw_conn_free(c->conn);
		return write(STDERR_FILENO, buffer, len) != (ssize_t)len;
	default:
		follow_end(c);
		break;
	}
	return -1;
}

static void look_early(void)
{
	size_t now = in_place();

	if (now > early && holes) {
		early = now;
		printf("early %zu, %zu holes\n", now, holes);
		print_map();
	}
}

static int receive(void)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1 };
	struct xiw_conn_opts co = { .size = sizeof(co),
				    .path = XIW_USE_DIRECT,
				    .markers = opt.markers };
	struct sigaction usr1 = { .sa_handler = on_signal };
	struct xiw_listener *l;
	struct xiw_engine *e;
	struct xiw_region *r;
	struct xiw_completion c;
	uint64_t delivered = 0;
	int err, rc = -1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGUSR1, &usr1, NULL);
	co.recv_depth = (unsigned int)(len / SLOT) + 1;
	if (xiw_engine_create(&eo, &e) || offer(e, &r) ||
	    xiw_listen(e, (struct sockaddr *)&any, sizeof(any), &co, &l))
		return 1;
	while (rc < 0) {
		err = xiw_engine_run(e, 20);
		if ((err < 0 && err != -EINTR) || (again && offer_again(e, &r, delivered)))
			return 1;
		look_early();
		while (rc < 0 && xiw_engine_next(e, &c))
			rc = on_event(&c, &delivered);
	}
	xiw_region_free(r);
	xiw_engine_destroy(e);
	return rc;
}

/* ---- the plain end ------------------------------------------------------------------------------- */

static bool ends_message(unsigned int slot)
{
	return slot % SLOTS == SLOTS - 1 || untagged(slot) || untagged(slot + 1);
}

/* A slot or several of a message, in an FPDU. */
static uint32_t put(struct xiw_mpa_tx *tx, uint8_t *out, unsigned int slot, unsigned int slots)
{
	struct xiw_ddp_hdr h = { .dv = 1, .last = ends_message(slot), .tagged = !untagged(slot) };
	uint8_t raw[XIW_DDP_HDR_MAX], payload[SLOTS * SLOT];
	static uint32_t msn;

	if (h.tagged) {
		h.stag = slot / SLOTS + 1 == opt.guess ? STAG + 1 : STAG;
		h.to = (uint64_t)slot * SLOT;
	} else {
		h.msn = ++msn;
	}
	stream_octets(CONTENT, (uint64_t)slot * SLOT, payload, slots * SLOT);
	return xiw_mpa_build(tx, out, raw, xiw_ddp_hdr_encode(&h, raw), payload, slots * SLOT);
}

/*
 * By its ULPDU_Length this is one FPDU with a good CRC. Its Marker points to another good FPDU, which is its payload.
 */
static uint32_t put_wrong(struct xiw_mpa_tx *tx, uint8_t *out, unsigned int slot)
{
	struct xiw_ddp_hdr h = { .dv = 1, .last = true, .tagged = true, .stag = STAG };
	uint32_t head = XIW_MPA_LEN_SIZE + XIW_DDP_TAGGED_LEN, lead = xiw_mpa_lead(tx->phase), n;
	struct xiw_mpa_tx inner = *tx;

	h.to = (uint64_t)slot * SLOT;
	xiw_ddp_hdr_encode(&h, out + XIW_MPA_LEN_SIZE);
	inner.phase = (tx->phase + head) % XIW_MPA_MARKER_INTERVAL;
	n = head + put(&inner, out + head, slot, SLOTS);
	if (lead < head || lead >= n || (n - lead) % XIW_MPA_MARKER_INTERVAL == 0)
		die("no Marker where it should be");
	xiw_put_be16(out, (uint16_t)(n - XIW_MPA_LEN_SIZE -
				     XIW_MPA_MARKER_SIZE *
					     (1 + (n - 1 - lead) / XIW_MPA_MARKER_INTERVAL)));
	xiw_mpa_put_crc(out + n, xiw_crc32c(0, out, n));
	n += XIW_MPA_CRC_SIZE;
	tx->phase = (tx->phase + n) % XIW_MPA_MARKER_INTERVAL;
	return n;
}

static unsigned int n_marked, n_behind, n_messages;

/* Segment `nth`, counted from 1; and in `map`, which of its slots are filled while one is held back. */
static uint32_t segment(struct xiw_mpa_tx *tx, uint8_t *out, unsigned int nth, char *map)
{
	bool ahead = nth > opt.held, proven = !ahead, never = opt.guess && nth >= opt.guess;
	unsigned int slot = (nth - 1) * SLOTS;
	uint32_t n = 0, size, lead;

	if (nth == opt.wrong) {
		memset(map, '1', SLOTS);
		return put_wrong(tx, out, slot);
	}
	for (unsigned int i = 0; i < SLOTS; i++) {
		lead = tx->markers ? xiw_mpa_lead(tx->phase) : XIW_MPA_NO_MARKER;
		size = put(tx, out + n, slot + i, 1);
		proven = proven || lead < size;
		map[i] = '0';
		n_messages += ends_message(slot + i);
		if (nth != opt.held && proven && !(ahead && ends_message(slot + i)) && !never) {
			map[i] = '1';
			n_marked += ahead && lead < size;
			n_behind += ahead && lead >= size;
		}
		n += size;
	}
	return n;
}

static void write_image(void)
{
	size_t size = (size_t)opt.segments * SLOTS * SLOT;
	uint8_t *image = malloc(size);
	FILE *f = fopen(opt.image, "wb");

	if (!image || !f)
		die_errno(opt.image);
	stream_octets(CONTENT, 0, image, size);
	if (fwrite(image, 1, size, f) != size || fclose(f))
		die_errno(opt.image);
	free(image);
}

/* Waits so that TCP's whole first window is free for what follows. */
static void await_acknowledged(void)
{
	int unacked = 1;

	for (int i = 0; i < 10000 && !ioctl(plain.sock, SIOCOUTQ, &unacked) && unacked; i++)
		usleep(1000);
}

/*
 * Three with pauses, the others by one system call: if the process slept between those, TCP would take the held one
 * for lost, and send no more until it has come.
 */
static void send_segments(struct xiw_mpa_tx *tx, char *map)
{
	struct mmsghdr *m = calloc(opt.segments, sizeof(*m));
	struct iovec *v = calloc(opt.segments, sizeof(*v));
	uint8_t *out = malloc((size_t)opt.segments * SEGMENT_MAX);
	int n;

	if (!m || !v || !out)
		die_errno("memory");
	for (unsigned int i = 0; i < opt.segments; i++) {
		v[i].iov_base = out + (size_t)i * SEGMENT_MAX;
		v[i].iov_len = segment(tx, v[i].iov_base, i + 1, map + i * SLOTS);
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	for (unsigned int i = 0; i < opt.segments; i += (unsigned int)n) {
		n = sendmmsg(plain.sock, m + i, i < 3 ? 1 : opt.segments - i,
			     MSG_EOR | MSG_NOSIGNAL);
		if (n < 1 || m[i].msg_len != v[i].iov_len)
			die_errno("send");
		if (i < 3) {
			usleep(60000);
			await_acknowledged();
		}
	}
	free(out);
	free(v);
	free(m);
}

static int send_all(const char *host)
{
	char *map = calloc(opt.segments, SLOTS + 1);
	struct xiw_mpa_tx tx;
	uint8_t back[64];
	ssize_t n;

	if (!map)
		die_errno("memory");
	if (opt.image)
		write_image();
	plain_connect(host, PORT, opt.set_isn ? &opt.isn : NULL);
	tx = plain_startup();
	send_segments(&tx, map);
	printf("map %s\nmarked %u, behind %u\nmessages %u\n", map, n_marked, n_behind, n_messages);
	fflush(stdout);
	shutdown(plain.sock, SHUT_WR);
	while ((n = recv(plain.sock, back, sizeof(back), 0)) > 0)
		;
	close(plain.sock);
	free(map);
	return n && !opt.wrong && !opt.guess;
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "mxn:i:G:W:H:o:")) != -1) {
		switch (o) {
		case 'm':
			opt.markers = true;
			break;
		case 'x':
			opt.mixed = true;
			break;
		case 'n':
			opt.segments = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'i':
			opt.isn = (uint32_t)strtoul(optarg, NULL, 0);
			opt.set_isn = true;
			break;
		case 'G':
			opt.guess = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'W':
			opt.wrong = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'H':
			opt.held = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'o':
			opt.image = optarg;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind == 2 && !strcmp(argv[optind], "send"))
		return send_all(argv[optind + 1]);
	if (argc - optind != 1)
		return 2;
	len = strtoul(argv[optind], NULL, 0);
	return receive();
}
