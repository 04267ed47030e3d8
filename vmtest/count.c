// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A plugin for qemu's emulation: counts the instructions of each thread of the VM by address, between two instructions
 * that a program executes as marks (tests/bench/marker.h). `-plugin count.so,out=PREFIX` writes PREFIX-1, PREFIX-2 and
 * so on, one file for each pair of marks:
 *
 *   thread N TOTAL app    a thread that executed TOTAL instructions; `app` if it made the marks
 *   N ADDRESS COUNT       of these so many in the block at this address
 *
 * Debian has no header of the interface: what is used of it is declared here, in version 1 (qemu 7.2) and in versions 2
 * to 4 (9.0 to 10). qemu 7.2 does not let a plugin read registers, but tells it addresses: which thread runs is seen
 * from the place from which the kernel's __switch_to_asm() loads the stack pointer, which is in the thread's
 * task_struct.
 *
 * A block is counted when it begins. If an exception ends it early, the count is a little too high.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN_API __attribute__((visibility("default")))
#define NO_REGS 0
#define READS_AND_WRITES 3 /* qemu 7.2 does not call back for loads if only asked for these */

struct qemu_plugin_tb;
struct qemu_plugin_insn;

struct qemu_info {
	const char *target;
	struct {
		int min, now; /* versions of the interface */
	} version;
};

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*cb)(unsigned int cpu, void *data), int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *data), int flags,
					    void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, uint32_t info, uint64_t addr,
						 void *data),
				      int flags, int rw, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
/* The same before version 3. */
const void *insn_data_1(const struct qemu_plugin_insn *insn) __asm__("qemu_plugin_insn_data");
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

extern PLUGIN_API int qemu_plugin_version;
PLUGIN_API int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
				   char **argv);

/* A function that qemu has since version 2. */
extern void *qemu_plugin_get_registers(void) __attribute__((weak));

int qemu_plugin_version = 1;

/* qemu looks at the version after it has loaded the plugin. Newer ones refuse version 1, older ones all others. */
static void __attribute__((constructor)) choose_version(void)
{
	if (qemu_plugin_get_registers)
		qemu_plugin_version = 2;
}

#define THREADS 4096
#define BLOCKS (1u << 20)

struct block {
	uint64_t addr;
	uint32_t insns; /* 0: unused */
};

struct thread {
	uint64_t id;	  /* the address seen at a switch; 0: unused */
	uint64_t total;	  /* instructions */
	uint64_t *counts; /* a block each; allocated when the thread first runs between two marks */
	bool app;
};

static struct {
	const char *prefix;
	struct block *blocks; /* a hash table */
	struct thread threads[THREADS], *now;
	bool counting;
	int files, version;
	uint32_t nblocks;
} p;

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "count.so: %s\n", what);
	exit(1);
}

static void *memory(size_t n, size_t size)
{
	void *m = calloc(n, size);

	if (!m)
		die("no memory");
	return m;
}

static uint64_t hash(uint64_t v)
{
	return v * 0x9e3779b97f4a7c15ull >> 40;
}

/* A block that is translated again, as a part of it was, has the same place. */
static struct block *block_of(uint64_t addr, uint32_t insns)
{
	uint64_t i = hash(addr + insns) % BLOCKS;

	while (p.blocks[i].insns && (p.blocks[i].addr != addr || p.blocks[i].insns != insns))
		i = (i + 1) % BLOCKS;
	if (!p.blocks[i].insns && ++p.nblocks > BLOCKS / 2)
		die("too many blocks");
	p.blocks[i].addr = addr;
	p.blocks[i].insns = insns;
	return &p.blocks[i];
}

static struct thread *thread_of(uint64_t id)
{
	uint64_t i = hash(id) % THREADS;

	for (uint64_t n = 0; n < THREADS; n++, i = (i + 1) % THREADS) {
		if (p.threads[i].id == id)
			return &p.threads[i];
		if (!p.threads[i].id) {
			p.threads[i].id = id;
			return &p.threads[i];
		}
	}
	die("too many threads");
}

static void on_block(unsigned int cpu, void *data)
{
	struct block *b = data;

	(void)cpu;
	if (!p.counting)
		return;
	if (!p.now->counts)
		p.now->counts = memory(BLOCKS, sizeof(*p.now->counts));
	p.now->counts[b - p.blocks] += b->insns;
	p.now->total += b->insns;
}

static void on_switch(unsigned int cpu, uint32_t info, uint64_t addr, void *data)
{
	(void)cpu, (void)info, (void)data;
	p.now = thread_of(addr);
}

static void forget_counts(void)
{
	for (struct thread *t = p.threads; t < p.threads + THREADS; t++) {
		free(t->counts);
		t->counts = NULL;
		t->total = 0;
		t->app = false;
	}
}

static void on_begin(unsigned int cpu, void *data)
{
	(void)cpu, (void)data;
	forget_counts();
	p.now->app = true;
	p.counting = true;
}

static void on_end(unsigned int cpu, void *data)
{
	char name[4096];
	FILE *f;

	(void)cpu, (void)data;
	if (!p.counting)
		return;
	p.counting = false;
	snprintf(name, sizeof(name), "%s-%d", p.prefix, ++p.files);
	f = fopen(name, "w");
	if (!f)
		die(name);
	for (int n = 0; n < THREADS; n++) {
		const struct thread *t = &p.threads[n];

		if (!t->total)
			continue;
		fprintf(f, "thread %d %llu%s\n", n, (unsigned long long)t->total,
			t->app ? " app" : "");
		for (uint32_t i = 0; i < BLOCKS; i++)
			if (t->counts[i])
				fprintf(f, "%d %016llx %llu\n", n,
					(unsigned long long)p.blocks[i].addr,
					(unsigned long long)t->counts[i]);
	}
	fclose(f);
	forget_counts();
}

static bool begins(struct qemu_plugin_insn *insn, const void *octets, size_t n)
{
	uint8_t copy[16]; /* no instruction is longer */

	if (p.version < 3)
		return qemu_plugin_insn_size(insn) >= n && !memcmp(insn_data_1(insn), octets, n);
	return qemu_plugin_insn_data(insn, copy, sizeof(copy)) >= n && !memcmp(copy, octets, n);
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	const uint64_t addr = qemu_plugin_tb_vaddr(tb);
	const size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, NO_REGS, block_of(addr, (uint32_t)n));
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		/* In the kernel: movq disp32(%rsi), %rsp. Nothing else loads the stack pointer in this way. */
		if (addr >> 63 && begins(insn, "\x48\x8b\xa6", 3))
			qemu_plugin_register_vcpu_mem_cb(insn, on_switch, NO_REGS, READS_AND_WRITES,
							 NULL);
		else if (begins(insn, "\x0f\x1f\x80\x01\x77\x69\x78", 7))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, NO_REGS, NULL);
		else if (begins(insn, "\x0f\x1f\x80\x02\x77\x69\x78", 7))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_end, NO_REGS, NULL);
	}
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "count.so: needs out=PREFIX\n");
		return -1;
	}
	p.version = info->version.now;
	p.prefix = strdup(argv[0] + 4);
	p.blocks = memory(BLOCKS, sizeof(*p.blocks));
	p.now = thread_of(1); /* until the first switch */
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
