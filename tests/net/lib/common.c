// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/lib/common.h"

void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

void die_errno(const char *what)
{
	die("%s: %s", what, strerror(errno));
}

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

socklen_t address_of(const char *host, uint16_t port, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *a4 = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	a4->sin_port = htons(port); /* where IPv6 has it, too */
	if (inet_pton(AF_INET, host, &a4->sin_addr) == 1) {
		a4->sin_family = AF_INET;
		return sizeof(*a4);
	}
	a6->sin6_family = AF_INET6;
	return inet_pton(AF_INET6, host, &a6->sin6_addr) == 1 ? sizeof(*a6) : 0;
}

int listen_on(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 16))
		die_errno("listen");
	return fd;
}

/* ---- streams of octets, each a function of the stream and its offset alone ----------------------- */

uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t lcg(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

uint64_t stream_word(uint64_t stream, uint64_t n)
{
	return mix((stream + n) * MIX_STEP);
}

void stream_octets(uint64_t stream, uint64_t off, uint8_t *out, size_t len)
{
	uint64_t w;

	for (; len && off % 8; len--, off++) {
		w = stream_word(stream, off / 8);
		*out++ = ((uint8_t *)&w)[off % 8];
	}
	for (; len >= 8; len -= 8, off += 8, out += 8) {
		w = stream_word(stream, off / 8);
		memcpy(out, &w, 8);
	}
	w = stream_word(stream, off / 8);
	memcpy(out, &w, len);
}

int64_t stream_wrong(uint64_t stream, uint64_t off, const uint8_t *got, size_t len)
{
	uint8_t want[4096];

	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < sizeof(want) ? len - at : sizeof(want);
		stream_octets(stream, off + at, want, n);
		if (!memcmp(got + at, want, n))
			continue;
		for (size_t i = 0; i < n; i++)
			if (got[at + i] != want[i])
				return (int64_t)(at + i);
	}
	return -1;
}
