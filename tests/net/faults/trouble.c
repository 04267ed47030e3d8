// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trouble - the receiver of the tests of faults: takes any number of connections of trouble_send on one engine,
 * compares every octet, and misbehaves when told to.
 *
 *   trouble [-P PORT] [-f FRAMES] [-w WINDOW-KiB] [-u MICROSECONDS] [-s SECONDS] [-a N] [-o FILE] [-F] [-k|-d]
 *           [-E QUEUES,PORT,FILE]...
 *
 *   SIGUSR1  sits in its handler of a completion for -s seconds
 *   SIGUSR2  runs the engine but takes no completions for -s seconds
 *   SIGHUP   uses up all file descriptors, or frees them again
 *   SIGTERM  ends, and with it all connections
 *
 * -E: an engine in a thread of its own, which serves these queues (a mask; 0: those that nobody else has), instead of
 * the one engine; each prints which ones it serves. -u: time for each message. -a: only the Nth allocation after the
 * start fails; prints the number of allocations in the end. -o: FILE always has one line of JSON per connection, the
 * newest state of each ID. -F: makes a child that does nothing after a MiB, and prints its pid. Prints a line for
 * every event. Exit codes: 0; 1 a wrong octet or an engine that failed.
 */
#include <getopt.h>
#include <malloc.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "tests/net/faults/trouble.h"

#define RING (TROUBLE_MSG * TROUBLE_SLOTS)
#define STATE_EVERY 0.05
#define MAX_FDS 128 /* enough for 64 queues */

#define ENGINES 8

/* An engine, and where the states of its connections are written. */
struct end {
	uint64_t queues;
	unsigned int port;
	const char *state;
};

static struct {
	unsigned int frames, window, pause_us, stall_s, engines;
	long fail_at;
	bool fork;
	enum xiw_use_path path;
	struct end end[ENGINES];
} opt = { .end[0].port = 15046, .stall_s = 2, .path = XIW_USE_AUTO };

struct stream {
	unsigned int id;
	struct xiw_conn *conn; /* NULL: has ended */
	struct xiw_region *region;
	uint8_t *ring;
	uint64_t octets;
	struct xiw_conn_info info; /* as of the end */
	int status;
	bool used, eof;
};

static __thread struct stream streams[TROUBLE_IDS];
static __thread struct xiw_engine *engine;
static __thread const struct end *end;
static volatile sig_atomic_t stall, ignore, few_fds, stop;
static int spare[MAX_FDS]; /* descriptors that nobody else is to have */
static unsigned int nspare;

/* ---- allocations that fail ----------------------------------------------------------------------- */

static long allocations;
static bool counting;

#ifdef __SANITIZE_ADDRESS__
static const bool injects = false; /* the sanitizer has an allocator of its own */
#else
static const bool injects = true;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

static bool denied(void)
{
	if (!counting || ++allocations != opt.fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return denied() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return denied() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return denied() ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return denied() ? NULL : __libc_memalign(align, size);
}
#endif

/* ---- reports ------------------------------------------------------------------------------------- */

static void __attribute__((noreturn, format(printf, 1, 2))) fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("FATAL ");
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
	_exit(1);
}

static void print_stream(FILE *out, const struct stream *s)
{
	static const char *const paths[] = { "none", "kernel", "armed", "direct" };
	struct xiw_conn_info i = s->info;

	if (s->conn)
		xiw_conn_info(s->conn, &i, sizeof(i));
	fprintf(out,
		"{\"id\":%u,\"state\":\"%s\",\"octets\":%llu,\"path\":\"%s\","
		"\"octets_direct\":%llu,\"octets_kernel\":%llu,\"went_direct\":%llu,\"went_"
		"kernel\":%llu,\"status\":%d,"
		"\"error\":\"%s\",\"mpa_error\":%d,\"no_direct\":\"%s\"",
		s->id, s->conn ? "open" : "closed", (unsigned long long)s->octets,
		paths[i.path & 3], (unsigned long long)i.octets_direct,
		(unsigned long long)i.octets_kernel, (unsigned long long)i.went_direct,
		(unsigned long long)i.went_kernel, s->status, i.error ? strerror(i.error) : "",
		i.mpa_error, i.no_direct);
	for (unsigned int w = 1; w < XIW_REASON__COUNT; w++)
		if (i.reasons[w])
			fprintf(out, ",\"%s\":%u", xiw_reason_name(w), i.reasons[w]);
	fprintf(out, "}\n");
}

static void write_state(void)
{
	static __thread double last;
	char temp[512];
	FILE *f;

	if (!end->state || now_s() - last < STATE_EVERY)
		return;
	last = now_s();
	counting = false;
	snprintf(temp, sizeof(temp), "%s.new", end->state);
	if (nspare)
		close(spare[nspare - 1]);
	f = fopen(temp, "w");
	for (unsigned int n = 0; f && n < TROUBLE_IDS; n++)
		if (streams[n].used)
			print_stream(f, &streams[n]);
	if (f && !fclose(f))
		rename(temp, end->state);
	if (nspare)
		spare[nspare - 1] = dup(0);
	counting = true;
}

/* ---- the stream ---------------------------------------------------------------------------------- */

static void drop(struct stream *s)
{
	xiw_region_free(s->region);
	if (s->ring)
		munmap(s->ring, RING);
	s->region = NULL;
	s->ring = NULL;
	s->conn = NULL;
}

static void on_request(const struct xiw_completion *c)
{
	size_t len;
	const uint8_t *pd = xiw_conn_private_data(c->conn, &len);
	unsigned int id = len == 1 ? *pd % TROUBLE_IDS : 0;
	struct stream *s = &streams[id];
	uint32_t stag = TROUBLE_STAG + id;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	int err;

	if (s->conn)
		fatal("ID %u is in use", id);
	*s = (struct stream){ .id = id, .conn = c->conn, .used = true };
	s->ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->ring == MAP_FAILED) {
		s->ring = NULL;
		err = -ENOMEM;
	} else {
		err = xiw_region_register(engine, s->ring, RING, &ro, &s->region);
	}
	if (!err)
		err = xiw_conn_accept(c->conn, NULL, 0);
	if (!err)
		return;
	printf("request %u refused: %s\n", id, strerror(-err));
	xiw_conn_abort(c->conn);
}

/* A child that does nothing and lives on. It does not own the engine. */
static void make_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (pid) {
		printf("child %d\n", pid);
		return;
	}
	if (xiw_engine_run(engine, 0) != -EEXIST || xiw_engine_destroy(engine) != -EEXIST)
		_exit(1);
	for (;;)
		pause();
}

static void check(const struct stream *s, const uint8_t *got, size_t len)
{
	int64_t at = stream_wrong(trouble_stream(s->id), s->octets, got, len);

	if (at >= 0)
		fatal("connection %u: wrong octet %02x at %llu", s->id, got[at],
		      (unsigned long long)s->octets + (unsigned long long)at);
}

static void on_written(struct stream *s, const struct xiw_completion *c)
{
	if (c->stag != TROUBLE_STAG + s->id || c->to != s->octets % RING ||
	    c->length != TROUBLE_MSG)
		fatal("connection %u: STag %#x, TO %llu, length %llu after %llu octets", s->id,
		      c->stag, (unsigned long long)c->to, (unsigned long long)c->length,
		      (unsigned long long)s->octets);
	check(s, s->ring + c->to, c->length);
	s->octets += c->length;
	if (opt.fork && s->octets > 1 << 20) {
		opt.fork = false;
		make_child();
	}
	/* A second delivery, or a late stray write, would not find what it should overwrite. */
	memset(s->ring + c->to, 0xee, c->length);
	if (opt.pause_us)
		usleep(opt.pause_us);
}

static void on_closed(struct stream *s, const struct xiw_completion *c)
{
	if (s) {
		xiw_conn_info(c->conn, &s->info, sizeof(s->info));
		s->status = c->status;
		drop(s);
		printf("closed ");
		print_stream(stdout, s);
	} else {
		printf("closed before a request: %s\n", strerror(-c->status));
	}
	xiw_conn_free(c->conn);
}

static void on_completion(const struct xiw_completion *c)
{
	struct stream *s = NULL;

	if (c->event == XIW_EV_NOT_ACCEPTED) {
		printf("not accepted: %s\n", strerror(-c->status));
		return;
	}
	for (unsigned int n = 0; n < TROUBLE_IDS && !s; n++)
		if (streams[n].conn == c->conn)
			s = &streams[n];
	if (c->event == XIW_EV_REQUEST)
		on_request(c);
	else if (c->event == XIW_EV_CLOSED)
		on_closed(s, c);
	else if (s && c->event == XIW_EV_WRITTEN)
		on_written(s, c);
	else if (s && c->event == XIW_EV_ERROR)
		xiw_conn_abort(c->conn);
	else if (s && c->event == XIW_EV_EOF)
		xiw_conn_close(c->conn);
}

/* ---- the faults ---------------------------------------------------------------------------------- */

static void on_signal(int number)
{
	if (number == SIGUSR1)
		stall = 1;
	else if (number == SIGUSR2)
		ignore = 1;
	else if (number == SIGHUP)
		few_fds = 1;
	else
		stop = 1;
}

static void take_fds(void)
{
	few_fds = 0;
	if (nspare) {
		while (nspare)
			close(spare[--nspare]);
		printf("file descriptors again\n");
		return;
	}
	while (nspare < MAX_FDS && (spare[nspare] = dup(0)) >= 0)
		nspare++;
	printf("no more file descriptors\n");
}

/* Takes a bounded number of completions, so that signals are handled in the middle of a stream. */
static void take_completions(void)
{
	static double ignore_until;
	struct xiw_completion c;

	if (ignore) {
		ignore = 0;
		ignore_until = now_s() + opt.stall_s;
		printf("taking nothing\n");
	}
	if (now_s() < ignore_until)
		return;
	for (int i = 0; i < 256 && xiw_engine_next(engine, &c); i++) {
		on_completion(&c);
		if (stall) {
			stall = 0;
			printf("stalling\n");
			sleep(opt.stall_s);
			printf("going on\n");
		}
	}
}

/* Opens what the direct path needs at once, and says what the engine got. */
static void say_queues(void)
{
	struct if_nameindex *all = if_nameindex();
	uint64_t served = 0;
	char why[256];

	xiw_engine_prepare(engine, NULL, why, sizeof(why));
	for (struct if_nameindex *i = all; i && i->if_index; i++)
		served |= xiw_engine_queues(engine, i->if_name);
	if_freenameindex(all);
	printf("engine %u serves %#llx %s\n", end->port, (unsigned long long)served, why);
}

static void *receive(void *which)
{
	struct xiw_engine_opts eo = {
		.size = sizeof(eo),
		.app_ring_fd = -1,
		.path = opt.path,
		.cq_entries = 4096,
		.frames = opt.frames,
		.window = opt.window,
		.queues = (end = which)->queues,
	};
	struct sockaddr_in6 any = { .sin6_family = AF_INET6,
				    .sin6_port = htons((uint16_t)end->port) };
	struct xiw_conn_opts co = { .size = sizeof(co) };
	struct xiw_listener *l;
	int err;

	if ((err = xiw_engine_create(&eo, &engine)) ||
	    (err = xiw_listen(engine, (struct sockaddr *)&any, sizeof(any), &co, &l)))
		fatal("cannot start: %s", strerror(-err));
	if (opt.engines)
		say_queues();
	printf("ready%s\n", injects ? "" : ", without failing allocations");
	counting = true;
	while (!stop) {
		err = xiw_engine_run(engine, 50);
		if (err < 0 && err != -EINTR)
			fatal("engine: %s", strerror(-err));
		take_completions();
		write_state();
		if (few_fds)
			take_fds();
	}
	counting = false;
	for (unsigned int n = 0; n < TROUBLE_IDS; n++) {
		struct stream *s = &streams[n];

		if (!s->conn)
			continue;
		printf("open ");
		print_stream(stdout, s);
		xiw_conn_free(s->conn);
		drop(s);
	}
	xiw_engine_destroy(engine);
	printf("end, %ld allocations\n", allocations);
	return NULL;
}

static void receive_by_all(void)
{
	pthread_t threads[ENGINES];

	for (unsigned int i = 0; i < opt.engines; i++)
		if (pthread_create(&threads[i], NULL, receive, &opt.end[i]))
			fatal("no thread");
	for (unsigned int i = 0; i < opt.engines; i++)
		pthread_join(threads[i], NULL);
}

/* QUEUES,PORT,FILE */
static void add_end(char *text)
{
	struct end *e = &opt.end[opt.engines];

	if (opt.engines++ == ENGINES)
		fatal("too many engines");
	e->queues = strtoull(text, &text, 0);
	e->port = *text ? (unsigned int)strtoul(text + 1, &text, 0) : 0;
	e->state = *text ? text + 1 : NULL;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct rlimit files = { MAX_FDS, MAX_FDS };
	int o;

	while ((o = getopt(argc, argv, "P:f:w:u:s:a:o:kdFE:")) != -1) {
		unsigned long v = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (o) {
		case 'P':
			opt.end[0].port = (unsigned int)v;
			break;
		case 'f':
			opt.frames = (unsigned int)v;
			break;
		case 'w':
			opt.window = (unsigned int)v << 10;
			break;
		case 'u':
			opt.pause_us = (unsigned int)v;
			break;
		case 's':
			opt.stall_s = (unsigned int)v;
			break;
		case 'a':
			opt.fail_at = (long)v;
			break;
		case 'o':
			opt.end[0].state = optarg;
			break;
		case 'k':
			opt.path = XIW_USE_KERNEL;
			break;
		case 'E':
			add_end(optarg);
			break;
		case 'F':
			opt.fork = true;
			break;
		case 'd':
			opt.path = XIW_USE_DIRECT;
			break;
		default:
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!opt.engines)
		setrlimit(RLIMIT_NOFILE, &files);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (opt.engines)
		receive_by_all();
	else
		receive(&opt.end[0]);
	return 0;
}
