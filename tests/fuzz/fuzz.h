/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every fuzz target uses. A target is one LLVMFuzzerTestOneInput(). `make fuzz` runs it by libFuzzer, `make check`
 * by replay.c. It takes its decisions from the front of the input; after the end of the input they are all 0.
 */
#ifndef XIW_TESTS_FUZZ_H
#define XIW_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A demand of the model. Not assert(), because nothing may switch it off. */
#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fuzz_fail(__FILE__, __LINE__, #cond, " " __VA_ARGS__);                     \
	} while (0)

__attribute__((noreturn, format(printf, 4, 5))) static inline void
fuzz_fail(const char *file, int line, const char *cond, const char *fmt, ...)
{
	__builtin_va_list ap;

	fprintf(stderr, "%s:%d: failed: %s ", file, line, cond);
	__builtin_va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	__builtin_va_end(ap);
	fputc('\n', stderr);
	abort();
}

/*
 * What the inputs in the tree are to reach, so that a change by which they become shallow is noticed: after these,
 * replay.c fails if @cond has never been true. Each place has an entry in a section of its own.
 */
struct fuzz_goal {
	const char *what;
	bool reached;
};

#define REACHES(cond, text)                                                                        \
	do {                                                                                       \
		static struct fuzz_goal goal_ = { text, false };                                   \
		static struct fuzz_goal *const at_                                                 \
			__attribute__((section("fuzz_goals"), used)) = &goal_;                     \
                                                                                                   \
		if (cond)                                                                          \
			at_->reached = true;                                                       \
	} while (0)

struct fuzz_in {
	const uint8_t *p;
	size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline uint16_t fuzz_u16(struct fuzz_in *in)
{
	uint16_t v = fuzz_u8(in);

	return (uint16_t)(v << 8 | fuzz_u8(in));
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t v = fuzz_u16(in);

	return v << 16 | fuzz_u16(in);
}

/* 0 .. n - 1, from as few octets as possible. */
static inline uint32_t fuzz_below(struct fuzz_in *in, uint32_t n)
{
	return (n <= 256 ? fuzz_u8(in) : n <= 65536 ? fuzz_u16(in) : fuzz_u32(in)) % n;
}

/* The next @len octets, then zeros, in a heap block of exactly that size, so that ASan checks its bounds. */
static inline uint8_t *fuzz_take(struct fuzz_in *in, size_t len)
{
	uint8_t *copy = calloc(1, len ? len : 1);
	size_t n = len < in->left ? len : in->left;

	CHECK(copy);
	if (n)
		memcpy(copy, in->p, n);
	in->p += n;
	in->left -= n;
	return copy;
}

static inline uint8_t *fuzz_dup(const void *from, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	CHECK(copy);
	if (len)
		memcpy(copy, from, len);
	return copy;
}

/* Octets that depend on their place, so that lost, doubled or shifted ones differ. */
static inline uint8_t fuzz_pattern(uint64_t pos)
{
	pos *= 0x9e3779b97f4a7c15u;
	return (uint8_t)(pos >> 56);
}

#endif /* XIW_TESTS_FUZZ_H */
