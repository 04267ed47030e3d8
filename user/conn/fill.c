// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fills TCP segments: messages are cut into FPDUs so that every segment begins with an FPDU (RFC 5044 section
 * 5.1 and appendix A). send.c explains how the kernel's TCP is made to keep these segments.
 */
#include "conn/fill.h"

#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/be.h"
#include "crc32c/crc32c.h"

/* RFC 9293 section 3.7.1. Where a path carries less, TCP cuts such segments. */
#define SMALLEST_MSS 536
#define SACK_ROOM 36 /* octets of the option with four blocks; with three, beside timestamps */
#define SACK_ROOM_TS 28
/* What a peer may take back of its window: it rounds down to what its scale can say (RFC 7323 section 2.4). */
#define WINDOW_MARGIN (64u << 10)
#define FEW 4 /* messages that are looked at before a stage is filled */
#define SACK_MS 250 /* a gap is assumed to last for so long if nothing shows it */

/*
 * Returns how many octets, at least, fit into the peer's window behind all that TCP has. It is too many only for a
 * moment after the EMSS became smaller, as segments are counted that were longer. fits_window() is for less than a
 * stage, for which this is too cautious: it counts each segment as whole.
 */
static uint32_t window_left(const struct tcp_info *info)
{
	const uint64_t sent = (uint64_t)info->tcpi_unacked * info->tcpi_snd_mss,
		       has = sent + info->tcpi_notsent_bytes + WINDOW_MARGIN;

	return has < info->tcpi_snd_wnd ? (uint32_t)(info->tcpi_snd_wnd - has) : 0;
}

/*
 * Asks TCP for the present EMSS, which options and path MTU may change (section 4.5), for the peer's window, and for
 * what there is to know of SACK. Returns the window, or 0 if it is not known.
 */
static uint32_t look_at_tcp(struct xiw_conn *c)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	if (info.tcpi_snd_mss)
		c->send.emss =
			(uint16_t)(info.tcpi_snd_mss < UINT16_MAX ? info.tcpi_snd_mss : UINT16_MAX);
	if (info.tcpi_snd_wnd > c->send.peer_window)
		c->send.peer_window = info.tcpi_snd_wnd;
	c->send.window_left = window_left(&info);
	c->send.sack_room = !(info.tcpi_options & TCPI_OPT_SACK)      ? 0
			    : info.tcpi_options & TCPI_OPT_TIMESTAMPS ? SACK_ROOM_TS
								      : SACK_ROOM;
	if (info.tcpi_rcv_ooopack != c->send.ooo_seen) {
		c->send.ooo_seen = info.tcpi_rcv_ooopack;
		c->send.ooo_ms = c->engine->now_ms;
	}
	return info.tcpi_snd_wnd;
}

/*
 * Returns how many octets of a segment SACK blocks may take now. It is 0 if the socket holds nothing out of
 * order. The socket's memory holds octets out of order and octets to be read, and mostly there are none of the
 * latter. If there are both, the count of packets out of order tells.
 */
static uint16_t sack_room(struct xiw_conn *c)
{
	uint32_t mem[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(mem);
	int unread = 0;

	if (!c->send.sack_room || !c->send.ooo_seen)
		return 0;
	if (getsockopt(c->fd, SOL_SOCKET, SO_MEMINFO, mem, &len) || !mem[SK_MEMINFO_RMEM_ALLOC])
		return 0;
	if (ioctl(c->fd, SIOCINQ, &unread) ||
	    (unread && c->engine->now_ms - c->send.ooo_ms > SACK_MS))
		return 0;
	return c->send.sack_room;
}

/* Asks TCP all that. Returns the window as look_at_tcp() does. */
static uint32_t ask_tcp(struct xiw_conn *c)
{
	const uint32_t window = look_at_tcp(c);

	c->send.sacks = sack_room(c);
	c->send.asked_ms = c->engine->now_ms;
	return window;
}

/* Returns how many octets the peer has not acknowledged, those that TCP has not sent included. */
static uint32_t unacknowledged(struct xiw_conn *c)
{
	int n = 0;

	return ioctl(c->fd, SIOCOUTQ, &n) || n < 0 ? UINT32_MAX : (uint32_t)n;
}

/*
 * Says whether the stage has all that is queued, and the window is open for all of it. It stays so, because the right
 * edge of a window does not move to the left. What is unacknowledged was asked before the window was: an ACK in between
 * may leave the edge where it is, and then the window is smaller by what it acknowledges.
 */
static bool fits_window(const struct xiw_conn *c, uint32_t unacked, uint32_t window)
{
	return c->send.staged == c->send.count &&
	       (uint64_t)unacked + c->send.stage_len <= window;
}

/* Returns the length of what is left of a message, as one ULPDU. */
static uint64_t ulpdu_left(const struct xiw_queued *q)
{
	return (uint64_t)q->cut.hdr.len + q->cut.len - q->cut.off;
}

/* Returns the octets of at most n messages that are not in the stage, if each is one FPDU. Counts up to `enough`. */
static uint64_t queued(struct xiw_conn *c, uint32_t n, uint64_t enough)
{
	uint64_t octets = 0;

	for (uint32_t i = c->send.staged; i < c->send.count && n && octets < enough; i++, n--)
		octets += ulpdu_left(xiw_queued_at(c, i)) + XIW_MPA_OVERHEAD;
	return octets;
}

/* Returns where the run begins that is being filled. */
static uint32_t run_start(const struct xiw_stage *s)
{
	return s->nends ? s->end[s->nends - 1] : 0;
}

/* Returns the longest run. TCP puts no more than half of the largest window it has seen into one buffer. */
static uint32_t longest_run(const struct xiw_conn *c)
{
	return c->send.peer_window < 2 * XIW_RUN_MAX ? c->send.peer_window / 2 : XIW_RUN_MAX;
}

/* Says whether the rest of the last message is likely to fit into so many octets. */
static bool rest_fits(struct xiw_conn *c, uint32_t room)
{
	const uint64_t rest = ulpdu_left(xiw_queued_at(c, c->send.staged));

	return c->send.staged + 1 == c->send.count && rest + rest / 16 <= room;
}

/*
 * Says whether the stage ends where a segment begins: it has no room for that, or for the whole of a run that would
 * begin. However short a run is, it costs TCP and the driver as much as a long one. But nothing is left for another
 * stage that need not be.
 */
static bool stage_ends(struct xiw_conn *c, uint32_t begin, uint32_t longest, uint32_t run_max)
{
	const bool run_begins = c->send.runs && begin == run_start(c->send.stage);

	if (begin + longest > XIW_TX_STAGE)
		return true;
	return run_begins && begin + run_max > XIW_TX_STAGE && !rest_fits(c, XIW_TX_STAGE - begin);
}

/* Ends the run, so that the next segment is a write of its own. */
static void end_run(struct xiw_conn *c, uint32_t mss)
{
	struct xiw_stage *s = c->send.stage;
	uint32_t len = c->send.stage_len - run_start(s);

	if (!len)
		return;
	s->end[s->nends++] = c->send.stage_len;
	c->send.runs |= len > c->send.emss;
	c->send.short_end = len % mss;
}

/*
 * Says whether the rest of the queue can wait one turn. It does not fill a segment and other segments leave
 * before it; their completions make the application queue more. A message with nothing in front of it never
 * waits.
 */
static bool can_wait(struct xiw_conn *c, uint32_t mss)
{
	return !c->opts.no_pack && !xiw_queued_at(c, c->send.staged)->cut.off &&
	       queued(c, UINT32_MAX, mss) < mss;
}

/*
 * Returns the room for the next FPDU behind those that are in the segment already; 0 if the FPDU must begin
 * another segment.
 */
static uint32_t room_behind(struct xiw_conn *c, const struct xiw_queued *q, uint32_t left)
{
	uint32_t fit = xiw_mpa_ulpdu_fit(left, c->send.mpa.markers, c->send.mpa.phase);

	if (c->opts.no_pack)
		return 0;
	/* Section 4.5: no MULPDU is below 128, but a small message may still be packed. */
	return fit >= XIW_MPA_MULPDU_MIN || ulpdu_left(q) <= fit ? fit : 0;
}

/* Puts one FPDU of a message into the stage. Its ULPDU has at most `mulpdu` octets. */
static void put_fpdu(struct xiw_conn *c, struct xiw_queued *q, uint32_t mulpdu)
{
	uint8_t header[XIW_DDP_HDR_MAX];
	struct xiw_vec whole;
	struct xiw_vec_cur at;
	struct xiw_ddp_seg seg;
	uint32_t hlen;

	/* This cannot fail: mulpdu has room for the header and one octet, or for all that is left. */
	if (xiw_ddp_tx_next(&q->cut, mulpdu, &seg) <= 0)
		abort();
	hlen = xiw_ddp_hdr_encode(&seg.hdr, header);
	whole = (struct xiw_vec){ q->buf, q->len };
	at = xiw_vec_at(q->npieces ? q->buf : &whole, q->npieces ? q->npieces : 1, seg.off);
	c->send.stage_len += xiw_mpa_build_vec(&c->send.mpa,
					       c->send.stage->octets + c->send.stage_len, header,
					       hlen, &at, seg.len);
	c->counts.octets_sent += seg.len;
	if (q->cut.done)
		c->send.staged++;
}

/*
 * Returns how many whole segments of a message may be built without a look at each: one FPDU fills each of them, none
 * is the message's last, and stage and run have room for all. The segment that begins now has room in the stage.
 */
static uint32_t straight_most(const struct xiw_conn *c, const struct xiw_queued *q, uint32_t mulpdu,
			      uint32_t longest, uint32_t run_max)
{
	const uint32_t mss = mulpdu + XIW_MPA_OVERHEAD, begin = c->send.stage_len,
		       run = begin - run_start(c->send.stage), left = q->cut.len - q->cut.off,
		       in_stage = (XIW_TX_STAGE - longest - begin) / mss + 1;
	uint32_t n;

	if (q->npieces || c->send.mpa.markers || !c->send.mpa.crc || !left || run >= run_max)
		return 0;
	n = (left - 1) / (mulpdu - q->cut.hdr.len);
	if (n > (run_max - run) / mss)
		n = (run_max - run) / mss;
	return n < in_stage ? n : in_stage;
}

/* Puts n segments of a message into the stage, each with one FPDU of `mulpdu` octets: only TO or MO differs in them. */
static void put_straight(struct xiw_conn *c, struct xiw_queued *q, uint32_t mulpdu, uint32_t n)
{
	const uint32_t mss = mulpdu + XIW_MPA_OVERHEAD, room = mulpdu - q->cut.hdr.len;
	const uint8_t *from = (const uint8_t *)q->buf + q->cut.off;
	uint8_t *out = c->send.stage->octets + c->send.stage_len;
	uint8_t head[XIW_MPA_LEN_SIZE + XIW_DDP_HDR_MAX], *ddp = head + XIW_MPA_LEN_SIZE;
	const uint32_t len = XIW_MPA_LEN_SIZE + xiw_ddp_hdr_encode(&q->cut.hdr, ddp);
	uint32_t crc;

	xiw_put_be16(head, (uint16_t)mulpdu);
	for (uint32_t i = 0; i < n; i++, from += room, out += mss) {
		if (q->cut.hdr.tagged)
			xiw_put_be64(ddp + XIW_DDP_OFF_TO, q->cut.hdr.to + q->cut.off + i * room);
		else
			xiw_put_be32(ddp + XIW_DDP_OFF_MO, q->cut.off + i * room);
		memcpy(out, head, sizeof(head)); /* of a constant length; the payload replaces what is too much */
		crc = xiw_crc32c(0, head, len);
		crc = xiw_crc32c_copy(crc, out + len, from, room);
		xiw_mpa_put_crc(out + mss - XIW_MPA_CRC_SIZE, crc);
	}
	q->cut.off += n * room;
	c->send.stage_len += n * mss;
	c->counts.octets_sent += (uint64_t)n * room;
}

/* Says whether the peer may still read the memory of a message from a region. */
static bool may_read(struct xiw_conn *c, struct xiw_queued *q)
{
	const uint64_t now = c->engine->regions.generation;

	if (!q->generation || q->generation == now)
		return true;
	q->generation = now;
	return c->ulp->readable(c, q->user_data, q->cut.off);
}

/* Says whether all that is to be sent fits into a segment whatever TCP says of its size: TCP need not be asked. */
static bool fits_anyhow(struct xiw_conn *c)
{
	const uint32_t most = SMALLEST_MSS - 2 * SACK_ROOM;

	return c->send.count - c->send.staged <= FEW && c->send.emss >= SMALLEST_MSS &&
	       queued(c, FEW, most + 1) <= most;
}

/* Says whether more is queued than the stage takes: then the stage is not all that there is to send. */
static bool exceeds_stage(struct xiw_conn *c)
{
	return queued(c, FEW, XIW_TX_STAGE + 1) > XIW_TX_STAGE;
}

/* Says whether what TCP has said is new enough for a stage that others follow. */
static bool asked_just_now(const struct xiw_conn *c)
{
	return c->send.emss && c->send.asked_ms == c->engine->now_ms;
}

/* Takes the stage's octets off what is left of the window. Returns whether it had room for them. */
static bool use_window(struct xiw_conn *c)
{
	const bool had_room = c->send.stage_len <= c->send.window_left;

	c->send.window_left -= had_room ? c->send.stage_len : c->send.window_left;
	return had_room;
}

/* Joins each run to the one before, if that ends with a whole segment. */
static void join_runs(struct xiw_stage *s, uint32_t mss)
{
	uint32_t n = 0, begin = 0, end = 0;

	for (uint32_t i = 0; i < s->nends; i++) {
		if (!n || (end - begin) % mss) {
			begin = end;
			n++;
		}
		end = s->end[n - 1] = s->end[i];
	}
	s->nends = n;
}

void xiw_stage_fill(struct xiw_conn *c, bool alone)
{
	const bool small = fits_anyhow(c), others_follow = !small && exceeds_stage(c);
	const bool asks = !small && !(others_follow && asked_just_now(c));
	const uint32_t unacked = asks && !others_follow ? unacknowledged(c) : UINT32_MAX;
	const uint32_t window = asks ? ask_tcp(c) : 0;
	const uint16_t whole = c->send.emss ? c->send.emss : SMALLEST_MSS,
		       room = small ? 0 : c->send.sacks;
	const uint16_t sacks = whole > 4 * room ? room
						: 0; /* otherwise hardly a segment would be left */
	const uint32_t mss = whole - sacks;
	/* A segment is never longer than this, even if the EMSS cannot hold the smallest MULPDU. */
	const uint32_t longest = mss > 2 * XIW_MPA_MULPDU_MIN ? mss : 2 * XIW_MPA_MULPDU_MIN;
	struct xiw_stage *s = c->send.stage;
	const uint32_t run_max = sacks ? 0 : longest_run(c);
	uint32_t begin = 0; /* where the segment begins */

	c->send.stage_len = c->send.stage_off = 0;
	s->nends = 0;
	c->send.runs = s->full = false;
	while (c->send.staged < c->send.count && s->nends < XIW_RUNS) {
		struct xiw_queued *q = xiw_queued_at(c, c->send.staged);
		uint32_t mulpdu, straight = 0;

		if (!may_read(c, q))
			break;
		if (c->send.stage_len == begin) {
			if (stage_ends(c, begin, longest, run_max) || (begin && can_wait(c, mss)))
				break;
			mulpdu = xiw_mpa_mulpdu(mss, c->send.mpa.markers, c->send.mpa.phase);
			if (mulpdu + XIW_MPA_OVERHEAD == mss && !xiw_mpa_pad(mulpdu))
				straight = straight_most(c, q, mulpdu, longest, run_max);
		} else {
			mulpdu = room_behind(c, q, mss - (c->send.stage_len - begin));
			if (!mulpdu) {
				end_run(c, mss);
				begin = c->send.stage_len;
				continue;
			}
		}
		if (straight)
			put_straight(c, q, mulpdu, straight);
		else
			put_fpdu(c, q, mulpdu);
		if (c->send.stage_len - begin >= mss)
			begin = c->send.stage_len;
		if (c->send.stage_len == begin && begin - run_start(s) + mss > run_max)
			end_run(c, mss);
	}
	if (s->nends < XIW_RUNS)
		end_run(c, mss);
	c->send.fits = c->send.runs && fits_window(c, unacked, window);
	if (use_window(c) && alone && !sacks)
		join_runs(s, mss);
}
