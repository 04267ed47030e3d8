// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A receiver that counts its own allocations and system calls while segments stream in.
 *
 *   fastpath FASTPATH.BPF.O ADDRESS PORT STAG SIZE WARM MEASURED [epoll]
 *
 * Offers SIZE octets behind STAG, accepts one connection, and lets WARM octets pass. Then it counts until MEASURED
 * more octets are delivered, and prints one line of JSON. First it checks that both counters count:
 * "control_allocations" and "control_syscalls" must be 3 and 100. With `epoll` it waits for the engine's descriptor,
 * otherwise in xiw_engine_run().
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#define NUMBERS 512 /* as in fastpath.bpf.c */

static uint64_t allocations;

/* ---- allocations: every way into the heap, from the library, this program and what they link ------- */

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#ifdef SANITIZED

/* The sanitizer's allocator calls hooks. gcc comes without the header. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *p,
								size_t size),
					      void (*on_free)(const volatile void *p));

static void count_malloc(const volatile void *p, size_t size)
{
	(void)p;
	(void)size;
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
}

static void count_free(const volatile void *p)
{
	(void)p;
}

static void watch_heap(void)
{
	__sanitizer_install_malloc_and_free_hooks(count_malloc, count_free);
}

#else

/* glibc's own names: these definitions take the place of its public ones, in shared libraries as well. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

#define COUNTED __attribute__((visibility("default"), noinline))

COUNTED void *malloc(size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_malloc(size);
}

COUNTED void *calloc(size_t n, size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_calloc(n, size);
}

COUNTED void *realloc(void *p, size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_realloc(p, size);
}

COUNTED void *aligned_alloc(size_t align, size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __libc_memalign(align, size);
}

COUNTED int posix_memalign(void **p, size_t align, size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	*p = __libc_memalign(align, size);
	return *p ? 0 : ENOMEM;
}

static void watch_heap(void)
{
}

#endif

/* ---- system calls ---------------------------------------------------------------------------------- */

static volatile uint64_t *counts; /* mapped: reading them is no system call */

static int failed(const char *what, int err)
{
	fprintf(stderr, "fastpath: %s: %s\n", what, strerror(-err));
	return 1;
}

struct constants {
	uint32_t tgid;
	uint32_t pad;
	uint64_t ns_dev, ns_ino;
};

static struct bpf_object *object;
static struct bpf_link *attached;

static int watch_syscalls(const char *path)
{
	struct bpf_map *map, *rodata = NULL, *bss = NULL;
	struct constants who = { .tgid = (uint32_t)getpid() };
	struct bpf_program *prog;
	struct stat ns;
	int err;

	object = bpf_object__open_file(path, NULL);
	if (!object || stat("/proc/self/ns/pid", &ns))
		return failed(path, -errno);
	who.ns_dev = ns.st_dev;
	who.ns_ino = ns.st_ino;
	bpf_object__for_each_map(map, object)
	{
		if (strstr(bpf_map__name(map), ".rodata"))
			rodata = map;
		else if (strstr(bpf_map__name(map), ".bss"))
			bss = map;
	}
	prog = bpf_object__find_program_by_name(object, "count_syscall");
	if (!rodata || !bss || !prog || bpf_map__value_size(rodata) != sizeof(who))
		return failed(path, -EINVAL);
	err = bpf_map__set_initial_value(rodata, &who, sizeof(who));
	if (!err)
		err = bpf_object__load(object);
	if (!err)
		attached = bpf_program__attach(prog);
	if (!err && !attached)
		err = -errno;
	if (err)
		return failed(path, err);
	counts = mmap(NULL, NUMBERS * sizeof(*counts), PROT_READ, MAP_SHARED, bpf_map__fd(bss), 0);
	return counts == MAP_FAILED ? failed("mmap", -errno) : 0;
}

/* ---- the receiver ---------------------------------------------------------------------------------- */

struct snapshot {
	uint64_t octets, segments, kernel_octets, messages, acks, allocations;
	uint64_t syscalls, by_number[NUMBERS];
};

static void take(struct snapshot *s, const struct xiw_conn *conn)
{
	struct xiw_conn_info info;

	s->allocations = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
	s->syscalls = 0;
	for (int i = 0; i < NUMBERS; i++)
		s->syscalls += s->by_number[i] = counts[i];
	if (!conn)
		return;
	xiw_conn_info(conn, &info, sizeof(info));
	s->octets = info.octets_direct;
	s->kernel_octets = info.octets_kernel;
	s->segments = info.segments_direct;
	s->messages = info.messages;
	s->acks = info.acks_sent;
}

static struct snapshot start, end;

static void control(unsigned int *allocated, unsigned int *called)
{
	void *volatile p[3];

	take(&start, NULL);
	p[0] = malloc(100);
	p[1] = calloc(3, 100);
	p[2] = realloc(p[0], 100000);
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	take(&end, NULL);
	*allocated = (unsigned int)(end.allocations - start.allocations);
	*called = (unsigned int)(end.by_number[SYS_getppid] - start.by_number[SYS_getppid]);
	free(p[1]);
	free(p[2]);
}

static int epoll = -1;

static int wait_by_epoll(struct xiw_engine *engine)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = xiw_engine_fd(engine);

	epoll = epoll_create1(EPOLL_CLOEXEC);
	return fd < 0 ? fd : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int run(struct xiw_engine *engine)
{
	struct epoll_event event;
	int n = xiw_engine_run(engine, epoll < 0 ? -1 : 0);

	if (!n && epoll >= 0 && epoll_wait(epoll, &event, 1, -1) < 0 && errno != EINTR)
		return -errno;
	return n;
}

static int converse(struct xiw_engine *engine, uint64_t warm, uint64_t measured)
{
	struct xiw_completion c;
	uint64_t delivered = 0;
	int stage = 0, n;

	while ((n = run(engine)) >= 0) {
		while (xiw_engine_next(engine, &c) > 0) {
			if (c.event == XIW_EV_REQUEST)
				xiw_conn_accept(c.conn, NULL, 0);
			else if (c.event == XIW_EV_EOF)
				xiw_conn_close(c.conn);
			else if (c.event == XIW_EV_WRITTEN)
				delivered += c.length;
			if (stage == 0 && delivered >= warm) {
				take(&start, c.conn);
				stage = 1;
			} else if (stage == 1 && delivered >= warm + measured) {
				take(&end, c.conn);
				stage = 2;
			}
			if (c.event == XIW_EV_CLOSED) {
				xiw_conn_free(c.conn);
				return stage == 2 ? c.status : -ENODATA;
			}
		}
	}
	return n;
}

static void report(unsigned int allocated, unsigned int called)
{
	const char *sep = "";

	printf("{\"control_allocations\":%u,\"control_syscalls\":%u", allocated, called);
#define FIELD(name, of) printf(",\"" name "\":%llu", (unsigned long long)(end.of - start.of))
	FIELD("octets", octets);
	FIELD("octets_kernel", kernel_octets);
	FIELD("segments", segments);
	FIELD("messages", messages);
	FIELD("acks", acks);
	FIELD("allocations", allocations);
	FIELD("syscalls", syscalls);
	printf(",\"by_number\":{");
	for (int i = 0; i < NUMBERS; i++) {
		if (end.by_number[i] == start.by_number[i])
			continue;
		printf("%s\"%d\":%llu", sep, i,
		       (unsigned long long)(end.by_number[i] - start.by_number[i]));
		sep = ",";
	}
	printf("}}\n");
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *addr;
	struct xiw_region_opts region_opts = { .size = sizeof(region_opts) };
	struct xiw_conn_opts opts = { .size = sizeof(opts), .path = XIW_USE_DIRECT };
	unsigned int allocated, called;
	struct xiw_listener *listener;
	struct xiw_engine *engine;
	struct xiw_region *region;
	uint32_t stag;
	uint64_t size;
	void *buf;
	int err;

	if (argc != 8 && argc != 9) {
		fprintf(stderr, "usage: fastpath FASTPATH.BPF.O ADDRESS PORT STAG SIZE WARM "
				"MEASURED [epoll]\n");
		return 2;
	}
	watch_heap();
	if (watch_syscalls(argv[1]))
		return 1;
	control(&allocated, &called);
	stag = (uint32_t)strtoul(argv[4], NULL, 0);
	size = strtoull(argv[5], NULL, 0);
	region_opts.stag = &stag;
	buf = malloc(size);
	if (!buf || getaddrinfo(argv[2], argv[3], &hints, &addr))
		return failed(argv[2], -EINVAL);
	err = xiw_engine_create(NULL, &engine);
	if (!err)
		err = xiw_region_register(engine, buf, size, &region_opts, &region);
	if (!err)
		err = xiw_listen(engine, addr->ai_addr, addr->ai_addrlen, &opts, &listener);
	if (!err && argc == 9)
		err = wait_by_epoll(engine);
	freeaddrinfo(addr);
	if (err)
		return failed("start", err);
	err = converse(engine, strtoull(argv[6], NULL, 0), strtoull(argv[7], NULL, 0));
	if (!err)
		report(allocated, called);
	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(engine);
	free(buf);
	bpf_link__destroy(attached);
	bpf_object__close(object);
	return err ? failed("connection", err) : 0;
}
