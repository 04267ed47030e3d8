// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "progress.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "exit.h"
#include "text.h"

#define BAR 24

/* The width of a UTF-8 character, whatever the locale is. */
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

/* How many octets of `s` fit into `most` columns of a terminal; `*taken` gets the columns that they take. */
static size_t octets_in_columns(const char *s, unsigned int most, unsigned int *taken)
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
	xiw_line_open = !last;
	n = (int)octets_in_columns(name, name_columns, &taken);
	taken += (unsigned int)strlen(bar);
	fprintf(stderr, "\r%.*s%s%.*s\033[K%s", n, name, bar,
		(int)(columns > taken ? columns - taken : 0), text, last ? "\n" : "");
}
