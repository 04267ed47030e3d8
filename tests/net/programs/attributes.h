/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * programs/attributes.h - what becomes of each attribute that a program can set: a table that is carried out, and that
 * xiwarp-attributes(7) has as well.
 */
#ifndef XIW_TESTS_NET_ATTRIBUTES_H
#define XIW_TESTS_NET_ATTRIBUTES_H

#include "tests/net/lib/common.h"

struct attribute {
	const char *call, *name;
	int (*try)(uint64_t what); /* returns 0, or with what number the call was refused */
	uint64_t what;
	int number;
	const char *verdict;
};

/* It does something; it is taken, and iWARP gives it no meaning; it is refused. */
#define DOES(try, what) try, what, 0, "works"
#define NOTHING(try, what) try, what, 0, "no meaning"
#define REFUSED(try, what, code) try, what, code, #code

/* A row for a flag that bears the name of its number. */
#define FLAG_DOES(call, try, flag)                                                                 \
	{                                                                                          \
		call, #flag, DOES(try, (uint64_t)(flag))                                           \
	}
#define FLAG_NOTHING(call, try, flag)                                                              \
	{                                                                                          \
		call, #flag, NOTHING(try, (uint64_t)(flag))                                        \
	}
#define FLAG_REFUSED(call, try, flag, code)                                                        \
	{                                                                                          \
		call, #flag, try, (uint64_t)(flag), code, #code                                    \
	}

/* Carries the rows out, and prints each as the page has it. Returns how many are not so. */
static inline unsigned int carry_out(const struct attribute *rows, size_t n)
{
	unsigned int wrong = 0;

	for (size_t i = 0; i < n; i++) {
		const int got = rows[i].try(rows[i].what);

		printf("%s\t%s\t%s\n", rows[i].call, rows[i].name, rows[i].verdict);
		if (got == rows[i].number)
			continue;
		fprintf(stderr, "%s, %s: %d, not %d\n", rows[i].call, rows[i].name, got,
			rows[i].number);
		wrong++;
	}
	return wrong;
}

#endif
