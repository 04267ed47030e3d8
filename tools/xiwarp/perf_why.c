// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What held a figure of `xiwarp perf` back, as far as the counters of both ends tell. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "perf.h"
#include "report.h"
#include "text.h"

#define MUCH 0.2   /* a share of the time that is worth a word */
#define BUSY 0.9   /* of a thread's time */
#define DIRECT 0.9 /* a share of octets below which the path is worth a word */
#define RARE 1000  /* one of so many segments or messages is not worth a word */
#define SEGMENT 1448

struct line {
	char *text;
	size_t len, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *fmt, ...)
{
	va_list args;

	if (l->used && l->used + 2 < l->len)
		l->used += (size_t)snprintf(l->text + l->used, l->len - l->used, "; ");
	va_start(args, fmt);
	if (l->used < l->len)
		l->used += (size_t)vsnprintf(l->text + l->used, l->len - l->used, fmt, args);
	va_end(args);
	if (l->used >= l->len)
		l->used = l->len - 1;
}

/* By which path an end has received, and why not by the direct one. */
static void path(struct line *l, const char *who, const struct xiw_perf_end *e,
		 const struct xiw_perf_result *r)
{
	const char *reason = xiw_reason_name(e->reason);
	const double kernel = 100 - 100 * xiw_share(e->direct, e->kernel);
	char shown[XIW_PERF_TEXT];

	if (!xiw_perf_receives(e, r) || xiw_share(e->direct, e->kernel) >= DIRECT)
		return;
	if (*e->no_direct)
		add(l, "the %s received %.0f %% by the kernel path: %s", who, kernel,
		    xiw_printable(e->no_direct, shown, sizeof(shown)));
	else if (e->reason_count && reason)
		add(l, "the %s received %.0f %% by the kernel path: %s (%" PRIu32 " times)", who,
		    kernel, reason, e->reason_count);
	else
		add(l, "the %s received %.0f %% by the kernel path", who, kernel);
}

/* Is one thread the limit? With several, the process' time is compared to that of those that had work. */
static void processor(struct line *l, const char *who, const struct xiw_perf_end *e,
		      unsigned int used)
{
	const double busy =
		e->wall_ns && used ? (double)e->cpu_ns / (double)e->wall_ns / (double)used : 0;

	if (busy < BUSY || e->spins)
		return;
	if (used < e->threads)
		add(l,
		    "the %s's connections came on %u of its %" PRIu32
		    " threads, which had no time to spare (%.0f %%)",
		    who, used, e->threads, 100 * busy);
	else
		add(l, "the %s's CPU had no time to spare (%.0f %% of %u thread%s)", who,
		    100 * busy, used, used == 1 ? "" : "s");
	if (e->direct && !e->zero_copy)
		add(l, "the %s's driver copies each frame for AF_XDP", who);
}

/* Had the whole host no time to spare, as with other programs, or with the kernel's threads for the interface? */
static void host(struct line *l, const char *who, const struct xiw_perf_end *e)
{
	const double all = (double)e->wall_ns * e->cpus;

	if (all > 0 && (double)e->host_ns >= BUSY * all && !e->spins)
		add(l,
		    "the %" PRIu32 " CPUs of the %s's host had no time to spare, of which this "
		    "process took %.0f %%",
		    e->cpus, who, 100 * (double)e->cpu_ns / (double)e->host_ns);
}

static void refused(struct line *l, const char *who, const struct xiw_perf_end *e,
		    const struct xiw_perf_result *r)
{
	if (e->dropped * SEGMENT * RARE > e->direct)
		add(l, "the %s's direct path refused %" PRIu64 " segments", who, e->dropped);
	if (e->crc_errors)
		add(l, "%" PRIu64 " FPDUs came to the %s with a wrong CRC32c", e->crc_errors, who);
	if (e->holds * RARE > r->here.messages + r->there.messages)
		add(l, "%" PRIu64 " Sends found no buffer posted at the %s", e->holds, who);
}

static void sending(struct line *l, const struct xiw_perf_result *r)
{
	const double busy = (double)r->tcp_busy;

	if (r->tcp_again * RARE > r->tcp_segments)
		add(l, "the client's TCP sent %" PRIu64 " of %" PRIu64 " segments again",
		    r->tcp_again, r->tcp_segments);
	if (!r->tcp_busy)
		return;
	if ((double)r->tcp_peer_window > MUCH * busy)
		add(l, "the client's TCP waited for the server's window for %.0f %% of the time",
		    100 * (double)r->tcp_peer_window / busy);
	if ((double)r->tcp_send_buffer > MUCH * busy)
		add(l,
		    "the client's TCP had nothing more to send for %.0f %% of the time, as its "
		    "send buffer (net.ipv4.tcp_wmem) was full of what is on its way",
		    100 * (double)r->tcp_send_buffer / busy);
}

const char *xiw_perf_why(const struct xiw_perf_result *r, char buf[512])
{
	struct line l = { .text = buf, .len = 512 };

	*buf = '\0';
	path(&l, "server", &r->there, r);
	path(&l, "client", &r->here, r);
	processor(&l, "server", &r->there, r->threads_there);
	processor(&l, "client", &r->here, r->threads_here);
	host(&l, "server", &r->there);
	host(&l, "client", &r->here);
	sending(&l, r);
	refused(&l, "server", &r->there, r);
	refused(&l, "client", &r->here, r);
	return buf;
}
