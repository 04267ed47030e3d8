// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/lib/cases.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

struct peer peer;
int failures;

/* ---- the control connection ---------------------------------------------------------------------- */

static bool control_line(char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(peer.control, line + n, 1) == 1)
		if (line[n++] == '\n')
			break;
	line[n] = '\0';
	return n && line[n - 1] == '\n';
}

static const char *value(const char *key, char *buf, size_t size)
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

const char *compare(char *want, const char *(*got)(const char *key, char *buf, size_t size))
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

const char *result(const char *want)
{
	char copy[512];

	if (peer.fd >= 0)
		close(peer.fd);
	peer.fd = -1;
	CHECK(control_line(peer.result, sizeof(peer.result)));
	snprintf(copy, sizeof(copy), "%s", want);
	return compare(copy, value);
}

void prepare(int fd)
{
	struct timeval patience = { .tv_sec = 15 };
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

int accept_from(int l)
{
	struct pollfd p = { .fd = l, .events = POLLIN };
	int fd = poll(&p, 1, 15000) == 1 ? accept(l, NULL, NULL) : -1;

	prepare(fd);
	return fd;
}

const char *begin(const char *fmt, ...)
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

const char *decide_now(void)
{
	CHECK(write(peer.control, "\n", 1) == 1);
	return NULL;
}

/* ---- octets -------------------------------------------------------------------------------------- */

const char *push(const void *data, size_t len)
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

const char *pull(void *data, size_t len)
{
	ssize_t n = recv(peer.fd, data, len, MSG_WAITALL);

	CHECK(n == (ssize_t)len, "%zd of %zu octets: %s", n, len, n < 0 ? strerror(errno) : "");
	return NULL;
}

const char *closed(void)
{
	char c;
	ssize_t n = recv(peer.fd, &c, 1, 0);

	CHECK(n == 0 || (n < 0 && errno == ECONNRESET), "%zd, %s", n, n < 0 ? strerror(errno) : "");
	return NULL;
}

const char *closed_orderly(void)
{
	char c;
	ssize_t n = recv(peer.fd, &c, 1, 0);

	CHECK(n == 0, "%s", n < 0 ? strerror(errno) : "octets");
	return NULL;
}

const char *all_acknowledged(void)
{
	int unsent = 1;

	for (int i = 0; i < 20000 && unsent; i++) {
		CHECK(!ioctl(peer.fd, SIOCOUTQ, &unsent));
		usleep(unsent ? 500 : 0);
	}
	CHECK(!unsent);
	return NULL;
}

const char *half_close(void)
{
	TRY(all_acknowledged()); /* a segment with FIN is the socket's */
	shutdown(peer.fd, SHUT_WR);
	return NULL;
}

const char *silent(int ms)
{
	struct pollfd p = { .fd = peer.fd, .events = POLLIN };

	CHECK(poll(&p, 1, ms) == 0);
	return NULL;
}

/* ---- run ----------------------------------------------------------------------------------------- */

void open_control(int argc, char **argv)
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

void run_case(const char *name, const char *(*run)(int), int arg)
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

void run_cases(const struct test_case *cases)
{
	for (; cases->name; cases++)
		run_case(cases->name, cases->run, cases->arg);
}
