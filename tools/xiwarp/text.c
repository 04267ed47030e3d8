// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "text.h"

#include <stdio.h>
#include <time.h>

const char *xiw_octets(uint64_t n, char buf[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)n;
	int unit = 0;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

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

double xiw_gbit_per_s(uint64_t octets, double s)
{
	return s > 0 ? (double)octets * 8 / s / 1e9 : 0;
}

const char *xiw_rate(uint64_t octets, double s, char buf[32])
{
	double gbit = xiw_gbit_per_s(octets, s);

	if (gbit >= 0.1)
		snprintf(buf, 32, "%.2f Gbit/s", gbit);
	else if (gbit >= 1e-4)
		snprintf(buf, 32, "%.2f Mbit/s", gbit * 1e3);
	else
		snprintf(buf, 32, "%.2f kbit/s", gbit * 1e6);
	return buf;
}

void xiw_hex(const uint8_t *data, size_t len, char *text)
{
	*text = '\0';
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", data[i]);
}

size_t xiw_utf8(const char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	size_t n = *u < 0x80   ? 1
		   : *u < 0xc0 ? 0
		   : *u < 0xe0 ? 2
		   : *u < 0xf0 ? 3
		   : *u < 0xf8 ? 4
			       : 0;

	if (!n)
		return 0;
	*code = n == 1 ? *u : *u & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (u[i] & 0x3f);
	}
	return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

const char *xiw_printable(const char *s, char *buf, size_t len)
{
	size_t i = 0, n;
	uint32_t code;

	while (*s) {
		n = xiw_utf8(s, &code);
		if (i + (n ? n : 1) >= len)
			break;
		/* Both sets of control characters: some terminals obey the second one (C1) in UTF-8 too. */
		if (!n || code < 0x20 || (code >= 0x7f && code < 0xa0))
			buf[i++] = '?';
		else
			for (size_t k = 0; k < n; k++)
				buf[i++] = s[k];
		s += n ? n : 1;
	}
	buf[i] = '\0';
	return buf;
}
