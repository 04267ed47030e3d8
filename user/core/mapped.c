// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/mapped.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ /* older headers lack both; Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define MAPS "/proc/self/maps"

/* Whole pages. */
struct span {
	uintptr_t from, to;
	bool write;
};

/* False: it wraps, or is above all that can be mapped. */
static bool make_span(struct span *s, const void *addr, size_t len, bool write)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t end;

	if (__builtin_add_overflow((uintptr_t)addr, len, &end) ||
	    __builtin_add_overflow(end, page - 1, &end))
		return false;
	*s = (struct span){ (uintptr_t)addr & -page, end & -page, write };
	return true;
}

/* 0; EFAULT: a page cannot come; others: the mappings have to tell, as where the kernel does not know this advice. */
static int populate(const struct span *s)
{
	const int saved = errno;
	int err;

	do
		err = madvise((void *)s->from, s->to - s->from,
			      s->write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ)
			      ? errno
			      : 0;
	while (err == EINTR);
	errno = saved;
	return err == EHWPOISON ? EFAULT : err;
}

/* Asks for nothing to be written: MS_ASYNC only walks the mappings, and tells of holes. */
static bool no_hole(const struct span *s)
{
	const int saved = errno;
	const bool mapped = !msync((void *)s->from, s->to - s->from, MS_ASYNC) || errno != ENOMEM;

	errno = saved;
	return mapped;
}

/* A stack has what is below it when that is touched. */
static uintptr_t grows_down_to(const char *line, uintptr_t from)
{
	struct rlimit limit;

	if (!strstr(line, "[stack]") || getrlimit(RLIMIT_STACK, &limit))
		return from;
	return limit.rlim_cur < from ? from - limit.rlim_cur : 0;
}

/* Takes the mapping that `line` describes off the front of the span. False: there is a hole, or no right. */
static bool take_mapping(struct span *s, const char *line)
{
	unsigned long from, to;
	char rights[5];

	if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || to <= s->from)
		return true;
	if (from > s->from && grows_down_to(line, from) > s->from)
		return false;
	if (rights[s->write ? 1 : 0] == '-')
		return false;
	s->from = to;
	return true;
}

/* Whether the mappings have the rights. Where they cannot be read, that there are some has to do. */
static bool mappings_allow(const struct span *s)
{
	struct span rest = *s;
	FILE *maps = fopen(MAPS, "re");
	char line[512];
	bool ok = true;

	if (!maps)
		return no_hole(s);
	while (ok && rest.from < rest.to && fgets(line, sizeof(line), maps))
		ok = take_mapping(&rest, line);
	fclose(maps);
	return ok && rest.from >= rest.to;
}

static int judge(const struct span *s, int err)
{
	if (!err)
		return 0;
	if (err == EFAULT || !mappings_allow(s))
		return -EFAULT;
	return err == ENOMEM && no_hole(s) ? -ENOMEM : 0;
}

int xiw_mapped_check(const void *addr, size_t len, bool write)
{
	struct span s;

	if (!make_span(&s, addr, len, write))
		return -EFAULT;
	return judge(&s, s.to - s.from > XIW_POPULATE_MOST ? EINVAL : populate(&s));
}

int xiw_mapped_glance(const void *addr, size_t len, bool write)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct span s, one;
	int err;

	if (!make_span(&s, addr, len, write))
		return -EFAULT;
	one = (struct span){ s.from, s.from + page, write };
	err = judge(&one, populate(&one));
	if (err || s.to == one.to)
		return err;
	one = (struct span){ s.to - page, s.to, write };
	err = judge(&one, populate(&one));
	return err || no_hole(&s) || mappings_allow(&s) ? err : -EFAULT;
}
