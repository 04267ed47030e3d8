/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer made of plain sockets that goes through cases, for tests/net/peer/startup.c, rdmap.c and peer*.c: the control
 * connection to the library's end (end.h), and the connection under test. Nothing here is the library's. Each case
 * is a function that returns NULL, or what was wrong.
 */
#ifndef XIW_TESTS_NET_CASES_H
#define XIW_TESTS_NET_CASES_H

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"

struct startup_case {
	const char *name;
	const char *(*run)(int arg);
	int arg;
};

static struct {
	struct sockaddr_in end; /* of the library */
	int control, fd;
	bool keep_listening; /* for one more connection of the library */
	int listener;
	int port;
	bool direct;
	const char *only;		   /* the cases with this in their name */
	bool markers_out, markers_in, crc; /* as both frames say */
	uint32_t out, in;		   /* stream positions behind the frames */
	uint8_t frame[1024];		   /* the library's startup frame */
	char result[2048];
	char why[4096];
} peer;

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			int _n = snprintf(peer.why, sizeof(peer.why), "line %d: %s: ", __LINE__,   \
					  #cond);                                                  \
			snprintf(peer.why + _n, sizeof(peer.why) - (size_t)_n, " " __VA_ARGS__);   \
			return peer.why;                                                           \
		}                                                                                  \
	} while (0)
#define TRY(call)                                                                                  \
	do {                                                                                       \
		const char *_why = (call);                                                         \
		if (_why)                                                                          \
			return _why;                                                               \
	} while (0)

/* ---- the control connection ---------------------------------------------------------------------- */

static inline bool control_line(char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(peer.control, line + n, 1) == 1)
		if (line[n++] == '\n')
			break;
	line[n] = '\0';
	return n && line[n - 1] == '\n';
}

static inline const char *value(const char *key, char *buf, size_t size)
{
	char pattern[64];
	const char *p;
	size_t n;

	snprintf(pattern, sizeof(pattern), " %s=", key);
	p = strncmp(peer.result, pattern + 1, strlen(pattern) - 1) ? strstr(peer.result, pattern)
								   : peer.result - 1;
	if (!p)
		return "(absent)";
	p += strlen(pattern);
	n = strcspn(p, " \n");
	snprintf(buf, size, "%.*s", (int)n, p);
	return buf;
}

/* Is all of `key=value ...` so? `got` finds a key's value. */
static inline const char *compare(char *want,
				  const char *(*got)(const char *key, char *buf, size_t size))
{
	char buf[512], *save, *word, *v;

	for (word = strtok_r(want, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		v = strchr(word, '=');
		*v++ = '\0';
		CHECK(!strcmp(got(word, buf, sizeof(buf)), v), "%s is not %s in %s", word, v,
		      peer.result);
	}
	return NULL;
}

/* Awaits the library's account and compares it with `key=value ...`. */
static inline const char *result(const char *want)
{
	char copy[512];

	if (peer.fd >= 0)
		close(peer.fd);
	peer.fd = -1;
	CHECK(control_line(peer.result, sizeof(peer.result)));
	snprintf(copy, sizeof(copy), "%s", want);
	return compare(copy, value);
}

static inline void prepare(int fd)
{
	struct timeval patience = { .tv_sec = 15 };
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

static inline int accept_from(int l)
{
	struct pollfd p = { .fd = l, .events = POLLIN };
	int fd = poll(&p, 1, 15000) == 1 ? accept(l, NULL, NULL) : -1;

	prepare(fd);
	return fd;
}

/*
 * The library makes a connection as `line` says; peer.fd is our end of it. It is the TCP client if it is the
 * Initiator, except when it upgrades.
 */
static inline const char *begin(const char *fmt, ...)
{
	char line[512], answer[64];
	int l = -1, n;
	va_list ap;

	peer.port++;
	n = snprintf(line, sizeof(line), "port=%d ", peer.port);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	strcat(line, "\n");
	if (strstr(line, "role=i") && !strstr(line, "upgrade=1") && !strstr(line, "fails=1"))
		l = listen_on((uint16_t)peer.port);
	CHECK(write(peer.control, line, (size_t)n + 1) == n + 1);
	CHECK(control_line(answer, sizeof(answer)) && !strcmp(answer, "ready\n"), "%s", answer);
	if (l >= 0) {
		peer.fd = accept_from(l);
		peer.listener = l;
		if (!peer.keep_listening)
			close(l);
		peer.keep_listening = false;
	} else if (!strstr(line, "fails=1")) {
		struct sockaddr_in a = peer.end;

		a.sin_port = htons((uint16_t)peer.port);
		peer.fd = socket(AF_INET, SOCK_STREAM, 0);
		n = connect(peer.fd, (struct sockaddr *)&a, sizeof(a));
		CHECK(!n, "%s", strerror(errno));
	}
	prepare(peer.fd);
	peer.out = peer.in = 0;
	peer.markers_in = peer.markers_out = false;
	peer.crc = true;
	return NULL;
}

/* With `hold=1` the library's application decides when it is told, however long that takes. */
static inline const char *decide_now(void)
{
	CHECK(write(peer.control, "\n", 1) == 1);
	return NULL;
}

/* ---- octets -------------------------------------------------------------------------------------- */

static inline const char *push(const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = send(peer.fd, p, len, MSG_EOR | MSG_NOSIGNAL);

		CHECK(n > 0, "%s", strerror(errno));
		p += n;
		len -= (size_t)n;
	}
	return NULL;
}

static inline const char *pull(void *data, size_t len)
{
	ssize_t n = recv(peer.fd, data, len, MSG_WAITALL);

	CHECK(n == (ssize_t)len, "%zd of %zu octets: %s", n, len, n < 0 ? strerror(errno) : "");
	return NULL;
}

/* The library has closed the connection, with or without a reset, and sent nothing else. */
static inline const char *closed(void)
{
	char c;
	ssize_t n = recv(peer.fd, &c, 1, 0);

	CHECK(n == 0 || (n < 0 && errno == ECONNRESET), "%zd, %s", n, n < 0 ? strerror(errno) : "");
	return NULL;
}

/* With a FIN: a reset might have overtaken what was sent before. */
static inline const char *closed_orderly(void)
{
	char c;
	ssize_t n = recv(peer.fd, &c, 1, 0);

	CHECK(n == 0, "%s", n < 0 ? strerror(errno) : "octets");
	return NULL;
}

static inline const char *all_acknowledged(void)
{
	int unsent = 1;

	for (int i = 0; i < 20000 && unsent; i++) {
		CHECK(!ioctl(peer.fd, SIOCOUTQ, &unsent));
		usleep(unsent ? 500 : 0);
	}
	CHECK(!unsent);
	return NULL;
}

static inline const char *half_close(void)
{
	TRY(all_acknowledged()); /* a segment with FIN is the socket's */
	shutdown(peer.fd, SHUT_WR);
	return NULL;
}

static inline const char *silent(int ms)
{
	struct pollfd p = { .fd = peer.fd, .events = POLLIN };

	CHECK(poll(&p, 1, ms) == 0);
	return NULL;
}

/* ---- run ----------------------------------------------------------------------------------------- */

static int failures;

/* PROGRAM ADDRESS CONTROL-PORT kernel|direct [CASE] */
static inline void open_control(int argc, char **argv)
{
	if (argc < 4 || argc > 5) {
		fprintf(stderr, "usage: %s ADDRESS CONTROL-PORT kernel|direct [CASE]\n",
			program_invocation_short_name);
		exit(2);
	}
	peer.end = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_port = htons((uint16_t)atoi(argv[2])) };
	inet_pton(AF_INET, argv[1], &peer.end.sin_addr);
	peer.direct = !strcmp(argv[3], "direct");
	peer.only = argv[4];
	peer.port = 20000;
	peer.control = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(peer.control, (struct sockaddr *)&peer.end, sizeof(peer.end)))
		die_errno("connect");
}

static inline void run_case(const char *name, const char *(*run)(int), int arg)
{
	const char *why;

	if (peer.only && !strstr(name, peer.only))
		return;
	peer.fd = -1;
	peer.result[0] = '\0';
	why = run(arg);
	/* The library's account is still due if the case ended before it was asked for. */
	if (why && !peer.result[0] && peer.fd >= 0 && peer.control >= 0)
		result("");
	printf("%s %s-%s%s%s\n", why ? "FAIL" : "PASS", peer.direct ? "direct" : "kernel", name,
	       why ? ": " : "", why ? why : "");
	if (why)
		printf("  %s\n", peer.result);
	fflush(stdout);
	failures += !!why;
	if (peer.fd >= 0)
		close(peer.fd);
}

#define RUN_ALL(cases)                                                                             \
	for (size_t _i = 0; _i < sizeof(cases) / sizeof((cases)[0]); _i++)                         \
	run_case((cases)[_i].name, (cases)[_i].run, (cases)[_i].arg)

#endif
