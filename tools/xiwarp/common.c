// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "core/policy.h"

#define LISTEN_TRIES 50 /* one second of them */

volatile int xiw_stop_signal;

static void on_signal(int number)
{
	xiw_stop_signal = number;
}

void xiw_catch_signals(void)
{
	/* Without SA_RESTART: xiw_engine_run() must come back. */
	struct sigaction stop = { .sa_handler = on_signal };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, was;

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	/* The terminal is gone; not under nohup. */
	if (!sigaction(SIGHUP, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &stop, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

void xiw_hold_signals(void)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, NULL);
}

int xiw_exit_stopped(int code)
{
	return xiw_stop_signal ? XIW_EXIT_SIGNAL + xiw_stop_signal : code;
}

bool xiw_go_on(void)
{
	return !xiw_stop_signal && !ferror(stdout);
}

bool xiw_output_lost(void)
{
	/* An earlier flush may have failed, and have taken what was to be written with it. */
	return fflush(stdout) || ferror(stdout);
}

int xiw_fail(int code, const char *fmt, ...)
{
	va_list args;

	fputs("xiwarp: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return code;
}

int xiw_exit_code(int err)
{
	switch (-err) {
	case 0:
		return XIW_EXIT_OK;
	case EPERM:
	case EACCES:
	case ENOBUFS: /* the memlock limit */
		return XIW_EXIT_PRIVILEGE;
	case ENODEV:
	case ENOENT:
	case EUNATCH: /* one of the two programs is not there */
		return XIW_EXIT_NOT_FOUND;
	case EBUSY:
	case EALREADY:
		return XIW_EXIT_BUSY;
	case EOPNOTSUPP:
	case ERANGE:
	case ENOSYS:
		return XIW_EXIT_UNSUPPORTED;
	case EINVAL:
		return XIW_EXIT_USAGE;
	default:
		return XIW_EXIT_FAILURE;
	}
}

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

uint64_t xiw_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
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
		/* Of both sets of control characters: some terminals obey the second in UTF-8 as well. */
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

const char *xiw_addr_name(const struct sockaddr_storage *addr, char buf[80])
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	char text[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		snprintf(buf, 80, "%s:%u", text, ntohs(in->sin_port));
	} else if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], text, sizeof(text));
		snprintf(buf, 80, "%s:%u", text, ntohs(in6->sin6_port));
	} else if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
		snprintf(buf, 80, "[%s]:%u", text, ntohs(in6->sin6_port));
	} else {
		snprintf(buf, 80, "?");
	}
	return buf;
}

/* Splits at the last colon, unless the text is a bare IPv6 address. */
static bool split_host_port(const char *text, char *host, size_t len, const char **port)
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);

	*port = XIW_PORT;
	if (*text == '[') {
		const char *close = strchr(++text, ']');

		if (!close || (close[1] && close[1] != ':'))
			return false;
		if (close[1])
			*port = close + 2;
		end = close;
	} else if (colon && strchr(text, ':') == colon) {
		*port = colon + 1;
		end = colon;
	}
	if (!**port || (size_t)(end - text) >= len)
		return false;
	memcpy(host, text, end - text);
	host[end - text] = '\0';
	return true;
}

int xiw_resolve(const char *text, bool passive, struct addrinfo **list)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_protocol = IPPROTO_TCP,
				  .ai_flags = passive ? AI_PASSIVE : 0 };
	char host[256], shown[256];
	const char *port;
	int err;

	if (!split_host_port(text, host, sizeof(host), &port) || (!passive && !*host))
		return xiw_fail(XIW_EXIT_USAGE, "'%s' is not HOST, HOST:PORT or [ADDRESS]:PORT",
				xiw_printable(text, shown, sizeof(shown)));
	if (strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 || atoi(port) > 65535)
		return xiw_fail(XIW_EXIT_USAGE, "'%s' is not a port number: 0 to 65535",
				xiw_printable(port, shown, sizeof(shown)));
	/* No host: the IPv6 wildcard takes IPv4 as well; without IPv6 in the kernel, IPv4's. */
	if (!*host)
		hints.ai_family = AF_INET6;
	err = getaddrinfo(*host ? host : NULL, port, &hints, list);
	if (err && !*host) {
		hints.ai_family = AF_INET;
		err = getaddrinfo(NULL, port, &hints, list);
	}
	if (err)
		return xiw_fail(XIW_EXIT_PEER, "cannot resolve '%s': %s",
				xiw_printable(host, shown, sizeof(shown)), gai_strerror(err));
	return 0;
}

int xiw_engine_failed(int err)
{
	struct utsname uts;

	if (err == -EPERM || err == -EACCES || err == -ENOSYS)
		return xiw_fail(
			err == -ENOSYS ? XIW_EXIT_UNSUPPORTED : XIW_EXIT_PRIVILEGE,
			"io_uring, which both paths need, is forbidden here (%s): set sysctl "
			"kernel.io_uring_disabled=0, and have the container's seccomp profile "
			"allow io_uring_setup, io_uring_enter and io_uring_register",
			strerror(-err));
	if (err == -ENAMETOOLONG)
		return xiw_fail(XIW_EXIT_USAGE, "the pin directory's name is too long");
	/* The engine's other options are fixed, so what is invalid is a flag that the kernel does not know. */
	if (err == -EINVAL && !uname(&uts))
		return xiw_fail(XIW_EXIT_UNSUPPORTED,
				"io_uring of kernel %s is too old: Linux 6.1 or newer is needed",
				uts.release);
	return xiw_fail(XIW_EXIT_FAILURE, "cannot start the engine: %s%s", strerror(-err),
			err == -ENOMEM ? ": no memory, or the memlock limit (ulimit -l) is too low"
			: err == -EMFILE ? ": raise the limit on open files (ulimit -n)"
					 : "");
}

/* Where files will be made: serve's directory, or that of --out. */
static const char *output_dir(const struct xiw_args *args, char buf[4096])
{
	char *slash;

	if (args->nwords)
		return args->words[0];
	if (!args->out)
		return NULL;
	snprintf(buf, 4096, "%s", args->out);
	slash = strrchr(buf, '/');
	if (!slash)
		return ".";
	slash[slash == buf] = '\0';
	return buf;
}

/* What the engine has read as well, when it was made. */
static void tell_policy(const struct xiw_args *args)
{
	char why[256];
	enum xiw_crc_policy policy = xiw_policy_crc(why, sizeof(why));

	if (*why)
		xiw_fail(0, "%s; CRC32c stays on", why);
	else if (args->crc_off && policy == XIW_CRC_REQUIRED)
		xiw_fail(0, "--crc off: the administrator has not allowed it, by 'crc optional' "
			    "in " XIW_CONF_FILE "; CRC32c stays on");
}

int xiw_prepare(const struct xiw_args *args, struct xiw_engine *engine, const struct sockaddr *addr)
{
	char why[256], buf[4096], shown[256];
	const char *dir = output_dir(args, buf);
	int err;

	/* Not at the end, when what came would be lost. */
	if (dir && faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS))
		return xiw_fail(errno == EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE,
				"cannot write to directory %s: %s",
				xiw_printable(dir, shown, sizeof(shown)), strerror(errno));
	tell_policy(args);
	err = xiw_engine_prepare(engine, addr, why, sizeof(why));
	if (err && args->path == XIW_USE_DIRECT)
		return xiw_fail(xiw_exit_code(err), "--path direct: %s%s", why,
				xiw_exit_code(err) == XIW_EXIT_PRIVILEGE ? ": run as root" : "");
	if (*why && args->path != XIW_USE_KERNEL)
		xiw_fail(0, "no direct path: %s", why);
	return xiw_caps_drop(args->cmd->name, !err, dir ? XIW_CAPS_WRITE : XIW_CAPS_NO_FILES, dir);
}

static int listen_failed(const char *where, int err)
{
	char shown[256];

	return xiw_fail(
		err == -EACCES ? XIW_EXIT_PRIVILEGE : XIW_EXIT_FAILURE, "cannot listen on %s: %s%s",
		xiw_printable(where, shown, sizeof(shown)), strerror(-err),
		err == -EACCES ? ": CAP_NET_BIND_SERVICE is missing for a port below 1024" : "");
}

/*
 * The kernel ends the io_uring of a process that was killed some time after the process is gone, and until then its
 * accept request keeps the port.
 */
static int listen_patiently(struct xiw_engine *engine, const struct addrinfo *ai,
			    const struct xiw_conn_opts *opts, struct xiw_listener **listener)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int err;

	for (int i = 0; i < LISTEN_TRIES; i++) {
		err = xiw_listen(engine, ai->ai_addr, ai->ai_addrlen, opts, listener);
		if (err != -EADDRINUSE || !xiw_go_on())
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

void xiw_peer_timeout(const struct xiw_args *args, struct xiw_conn_opts *opts)
{
	unsigned int ms = (args->peer_timeout ? args->peer_timeout : 30) * 1000;

	opts->keepalive_ms = ms / 2;
	opts->user_timeout_ms = opts->close_timeout_ms = ms;
}

int xiw_receiver_open(const struct xiw_args *args, const struct xiw_conn_opts *given,
		      struct xiw_engine **engine, struct xiw_listener **listener)
{
	struct xiw_conn_opts opts = *given;
	struct xiw_engine_opts eopts = {
		.size = sizeof(eopts),
		.app_ring_fd = -1,
		.path = args->path,
		.pin_dir = args->pin_dir,
		.flags = args->trust_checksum ? XIW_ENGINE_TRUST_CHECKSUM : 0,
	};
	const char *where = args->listen ? args->listen : "";
	struct addrinfo *list;
	int err, code = xiw_resolve(where, true, &list);

	if (code)
		return code;
	err = xiw_engine_create(&eopts, engine);
	if (err) {
		freeaddrinfo(list);
		return xiw_engine_failed(err);
	}
	xiw_peer_timeout(args, &opts);
	err = listen_patiently(*engine, list, &opts, listener);
	if (err)
		code = listen_failed(*where ? where : "port " XIW_PORT, err);
	else
		code = xiw_prepare(args, *engine, list->ai_addr);
	freeaddrinfo(list);
	if (!code)
		return 0;
	xiw_engine_destroy(*engine);
	*engine = NULL;
	return code;
}

void xiw_json_u64(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void xiw_json_f(struct json_object *o, const char *key, double value, const char *fmt)
{
	char text[64];

	snprintf(text, sizeof(text), fmt, value);
	json_object_object_add(o, key, json_object_new_double_s(value, text));
}

void xiw_json_str(struct json_object *o, const char *key, const char *value)
{
	char *text = strdup(value ? value : "");
	uint32_t code;
	size_t n;

	/* JSON is UTF-8 (RFC 8259 section 8.1), file names are any octets. json-c escapes the rest. */
	for (char *s = text; s && *s; s += n ? n : 1) {
		n = xiw_utf8(s, &code);
		if (!n)
			*s = '?';
	}
	json_object_object_add(o, key, json_object_new_string(text ? text : ""));
	free(text);
}

void xiw_json_print(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(o);
}

double xiw_share(uint64_t direct, uint64_t kernel)
{
	return direct + kernel ? (double)direct / (double)(direct + kernel) : 0;
}

const char *xiw_path_name(unsigned int path)
{
	static const char *const names[] = { "none", "kernel", "armed", "direct" };

	return path < sizeof(names) / sizeof(names[0]) ? names[path] : "?";
}

void xiw_json_reasons(struct json_object *o, const char *key, const uint32_t *why)
{
	struct json_object *reasons = json_object_new_object();

	for (unsigned int i = 1; i < XIW_WHY__COUNT; i++)
		if (why[i])
			xiw_json_u64(reasons, xiw_reason_name(i), why[i]);
	json_object_object_add(o, key, reasons);
}
