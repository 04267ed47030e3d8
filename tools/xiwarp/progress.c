// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a terminal is shown: times and rates in units that fit, and a line of progress that stays one line.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "cli.h"

#define BAR 24

const char *xiw_seconds(double s, char buf[32])
{
	if (s >= 0.1)
		snprintf(buf, 32, "%.2f s", s);
	else if (s >= 1e-4)
		snprintf(buf, 32, "%.2f ms", s * 1e3);
	else
		snprintf(buf, 32, "%.0f us", s * 1e6);
	return buf;
}

const char *xiw_rate(uint64_t octets, double s, char buf[32])
{
	double bits = s > 0 ? (double)octets * 8 / s : 0;

	if (bits >= 1e8)
		snprintf(buf, 32, "%.2f Gbit/s", bits / 1e9);
	else if (bits >= 1e5)
		snprintf(buf, 32, "%.2f Mbit/s", bits / 1e6);
	else
		snprintf(buf, 32, "%.2f kbit/s", bits / 1e3);
	return buf;
}

/* In whatever locale this runs: file names are shown as UTF-8. */
static int width_of(wchar_t c)
{
	static locale_t utf8;
	locale_t old;
	int n;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	if (!utf8)
		return 1;
	old = uselocale(utf8);
	n = wcwidth(c);
	uselocale(old);
	return n < 0 ? 1 : n;
}

size_t xiw_columns(const char *s, unsigned int most, unsigned int *taken)
{
	unsigned int columns = 0;
	size_t n = 0;

	while (s[n]) {
		uint32_t code;
		size_t len = xiw_utf8(s + n, &code);
		unsigned int width = len ? (unsigned int)width_of((wchar_t)code) : 1;

		if (columns + width > most)
			break;
		columns += width;
		n += len ? len : 1;
	}
	*taken = columns;
	return n;
}

static unsigned int terminal_columns(void)
{
	struct winsize w;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80;
}

void xiw_progress(const char *name, uint64_t done, uint64_t total, double seconds, bool last)
{
	/* The last column stays free: some terminals wrap when it is written. */
	unsigned int columns = terminal_columns() - 1, taken, name_columns;
	double share = total ? (double)done / (double)total : 1;
	char octets[32], rate[32], bar[BAR + 4] = "", text[128];
	int n;

	xiw_octets(done, octets);
	xiw_rate(done, seconds, rate);
	n = snprintf(text, sizeof(text), " %3.0f %%  %s  %s", share * 100, octets, rate);
	if (!last && done)
		snprintf(text + n, sizeof(text) - (size_t)n, "  %.0f s left",
			 seconds * (double)(total - done) / (double)done);
	if (columns >= strlen(text) + BAR + 3 + 8) {
		memset(bar, ' ', BAR + 3);
		bar[1] = '[';
		bar[BAR + 2] = ']';
		memset(bar + 2, '#', (size_t)(share * BAR));
	}
	name_columns = columns > strlen(text) + strlen(bar)
			       ? columns - (unsigned int)(strlen(text) + strlen(bar))
			       : 0;
	n = (int)xiw_columns(name, name_columns, &taken);
	taken += (unsigned int)strlen(bar);
	fprintf(stderr, "\r%.*s%s%.*s\033[K%s", n, name, bar,
		(int)(columns > taken ? columns - taken : 0), text, last ? "\n" : "");
}
