// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/peer/peer.h"

struct sink sink;

/* ---- segments -------------------------------------------------------------------------------- */

uint32_t good(uint8_t *to, uint8_t last, uint32_t len)
{
	uint32_t n = tagged_segment(to, DV | last, sink.stag, sink.to, len);

	sink.to += len;
	return n;
}

const char *prelude(unsigned int segments)
{
	uint8_t f[2048];

	for (unsigned int i = 1; i <= segments; i++)
		TRY(push(f, good(f, i == segments ? LAST : 0, 1000)));
	return NULL;
}

/* ---- the connection -------------------------------------------------------------------------- */

const char *start(uint8_t ours)
{
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons(++sink.from) };

	/* Of a port of its own, by which the sink's line is found. */
	peer.fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!bind(peer.fd, (struct sockaddr *)&local, sizeof(local)), "%s", strerror(errno));
	CHECK(!connect(peer.fd, (struct sockaddr *)&sink.addr, sizeof(sink.addr)), "%s",
	      strerror(errno));
	prepare(peer.fd);
	peer.out = peer.in = 0;
	sink.begun = sink.to;
	TRY(send_frame(REQUEST, ours, 1, NULL, 0));
	TRY(expect_frame(REPLY, sink.theirs | (ours & C), 1, NULL, 0));
	peer.markers_in = ours & M;
	peer.markers_out = sink.theirs & M;
	peer.crc = (ours | sink.theirs) & C;
	return NULL;
}

/* The sink's line about this connection. */
static const char *report(void)
{
	char name[64];

	snprintf(name, sizeof(name), "\"peer\":\"10.77.0.1:%u\"", sink.from);
	for (int i = 0; i < 500; i++) {
		FILE *f = fopen(sink.json, "r");

		CHECK(f);
		while (fgets(peer.result, sizeof(peer.result), f))
			if (strstr(peer.result, name) && strchr(peer.result, '\n')) {
				fclose(f);
				return NULL;
			}
		fclose(f);
		usleep(10000);
	}
	peer.result[0] = '\0';
	CHECK(false, "no report of %s", name);
	return NULL;
}

const char *field(const char *key, char *buf, size_t size)
{
	char pattern[64];
	const char *p;

	snprintf(pattern, sizeof(pattern), "\"%s\":", key);
	p = strstr(peer.result, pattern);
	if (!p)
		return "(absent)";
	p += strlen(pattern);
	p += *p == '"';
	snprintf(buf, size, "%.*s", (int)strcspn(p, "\",}"), p);
	return buf;
}

const char *reported(const char *fmt, ...)
{
	char want[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	TRY(report());
	return compare(want, field);
}

const char *content(void)
{
	static uint8_t got[SIZE];
	size_t len = sink.to - sink.begun;
	bool read = false;

	CHECK(sink.to <= SIZE);
	/* The file comes behind the line. */
	for (int i = 0; i < 200 && !read; i++) {
		FILE *f = fopen(sink.out, "r");

		read = f && !fseek(f, (long)sink.begun, SEEK_SET) && fread(got, 1, len, f) == len;
		if (f)
			fclose(f);
		usleep(read ? 0 : 10000);
	}
	CHECK(read);
	for (size_t i = 0; i < len; i++)
		CHECK(got[i] == octet(sink.begun + i), "octet at TO %zu", sink.begun + i);
	return NULL;
}

const char *finish(void)
{
	TRY(half_close());
	return closed_orderly();
}

const char *end_anyhow(unsigned int fpdus, unsigned int tagged_messages,
		       unsigned int untagged_octets)
{
	unsigned long long octets = sink.to - sink.begun;
	char got[32];

	TRY(finish());
	TRY(reported(CLEAN "fpdus=%u tagged_messages=%u tagged_octets=%llu untagged_messages=%d "
			   "untagged_octets=%u",
		     fpdus, tagged_messages, octets, !!untagged_octets, untagged_octets));
	CHECK(atoll(field("octets_direct", got, sizeof(got))) >= (peer.direct ? 3000 : 0));
	return content();
}

const char *end_all(unsigned int fpdus, unsigned int tagged_messages,
		    unsigned int untagged_messages, uint32_t untagged_octets)
{
	unsigned long long octets = sink.to - sink.begun;

	TRY(finish());
	TRY(reported(CLEAN "fpdus=%u tagged_messages=%u tagged_octets=%llu untagged_messages=%u "
			   "untagged_octets=%u octets_%s=0 octets_%s=%llu",
		     fpdus, tagged_messages, octets, untagged_messages, untagged_octets,
		     peer.direct ? "kernel" : "direct", peer.direct ? "direct" : "kernel",
		     octets + untagged_octets));
	return content();
}
