// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The parser of the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xiwarp/conn.h>

#include "args.h"
#include "exit.h"
#include "text.h"

#define MAX_OPTS 32
#define LONG_OPT 256 /* what getopt_long() returns for a long option: not a letter */

const struct xiw_args xiw_default_args = {
	.receiver = { .peer_timeout = 30 },
	.serve = { .idle = 60, .memory = 1ull << 30 },
	.perf = { .depth = 64,
		  .connections = 1,
		  .time = 10,
		  .interval = 1,
		  .idle = 60,
		  .memory = 2ull << 30 },
	.sink = { .queues = XIW_QUEUES_DEFAULT, .recv_size = 65536, .size = 64u << 20 },
};

/* ---- values -------------------------------------------------------------------------------------- */

int xiw_bad_value(const struct xiw_opt *opt, const char *value, const char *expected)
{
	char shown[256];

	return xiw_fail(XIW_EXIT_USAGE, "--%s: '%s' is not %s", opt->name,
			xiw_printable(value, shown, sizeof(shown)), expected);
}

/* A whole number, decimal or 0x; a size may be followed by K, M, G or T, powers of 1024. */
static bool parse_number(const char *text, bool size, uint64_t max, uint64_t *value)
{
	static const char units[] = "KMGT";
	unsigned long long n;
	const char *unit;
	char *end;
	int shift = 0;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, text[1] == 'x' || text[1] == 'X' ? 16 : 10);
	if (errno)
		return false;
	if (*end && size) {
		unit = strchr(units, *end & ~0x20);
		if (!unit || !*unit)
			return false;
		shift = 10 * (int)(unit - units + 1);
		end++;
		if (!strcmp(end, "iB") || !strcmp(end, "B"))
			end += strlen(end);
	}
	if (*end || n > max >> shift)
		return false;
	*value = n << shift;
	return true;
}

bool xiw_parse_size(const char *text, uint64_t max, uint64_t *value)
{
	return parse_number(text, true, max, value);
}

static void *member_of(const struct xiw_opt *opt, struct xiw_args *args)
{
	return (char *)args + opt->offset;
}

static void store(const struct xiw_opt *opt, uint64_t value, struct xiw_args *args)
{
	void *member = member_of(opt, args);

	if (opt->width == sizeof(uint8_t))
		*(uint8_t *)member = (uint8_t)value;
	else if (opt->width == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)value;
	else
		*(uint64_t *)member = value;
}

int xiw_set_flag(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	(void)value;
	*(bool *)member_of(opt, args) = true;
	return 0;
}

int xiw_set_text(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	size_t len = strlen(value);

	if (len < opt->min || len > opt->max)
		return xiw_bad_value(opt, value, opt->expected);
	*(const char **)member_of(opt, args) = value;
	return 0;
}

int xiw_set_number(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	char expected[64];
	uint64_t n;

	if (parse_number(value, false, opt->max, &n) && n >= opt->min) {
		store(opt, n, args);
		return 0;
	}
	snprintf(expected, sizeof(expected), "a number from %llu to %llu",
		 (unsigned long long)opt->min, (unsigned long long)opt->max);
	return xiw_bad_value(opt, value, expected);
}

int xiw_set_size(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	char expected[128], min[32], max[32];
	uint64_t n;

	if (parse_number(value, true, opt->max, &n) && n >= opt->min) {
		store(opt, n, args);
		return 0;
	}
	snprintf(expected, sizeof(expected), "a size from %s to %s, such as 4096 or 64K",
		 xiw_octets(opt->min, min), xiw_octets(opt->max, max));
	return xiw_bad_value(opt, value, expected);
}

int xiw_set_word(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	char expected[128] = "";
	size_t n = 0;

	for (const struct xiw_word *w = opt->words; w->name && n < sizeof(expected); w++) {
		if (!strcmp(value, w->name)) {
			store(opt, w->value, args);
			return 0;
		}
		n += (size_t)snprintf(expected + n, sizeof(expected) - n, "%s%s",
				      w == opt->words ? ""
				      : w[1].name     ? ", "
						      : " or ",
				      w->name);
	}
	return xiw_bad_value(opt, value, expected);
}

/* ---- the command line ---------------------------------------------------------------------------- */

/* The options of every command come first. */
static const struct xiw_opt *opt_at(const struct xiw_cmd *cmd, int index)
{
	for (const struct xiw_opt *o = xiw_global_opts; o->name; o++)
		if (!index--)
			return o;
	for (const struct xiw_opt *o = cmd ? cmd->opts : NULL; o && o->name; o++)
		if (!index--)
			return o;
	return NULL;
}

static const struct xiw_opt *opt_of_letter(const struct xiw_cmd *cmd, int letter)
{
	const struct xiw_opt *o;

	for (int i = 0; (o = opt_at(cmd, i)); i++)
		if (o->letter == letter)
			return o;
	return NULL;
}

static const struct xiw_opt *opt_of_name(const char *name)
{
	const struct xiw_opt *o = xiw_global_opts;

	while (strcmp(o->name, name))
		o++;
	return o;
}

/* For getopt_long(): the long options, and the letters of those that have one. */
static void make_tables(const struct xiw_cmd *cmd, struct option table[MAX_OPTS], char *letters)
{
	const struct xiw_opt *opt;

	for (int i = 0; i < MAX_OPTS - 1 && (opt = opt_at(cmd, i)); i++) {
		table[i] = (struct option){ opt->name, opt->arg ? required_argument : no_argument,
					    NULL, LONG_OPT };
		if (!opt->letter)
			continue;
		*letters++ = opt->letter;
		if (opt->arg)
			*letters++ = ':';
	}
	*letters = '\0';
}

/* Says what is wrong with the option that getopt_long() has just refused. */
static int bad_option(const char *word, const char *cmd)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	char shown[256];

	/* A word of several letters: getopt() may not be at its end yet, so the word may be the one before. */
	if (optopt && optopt != LONG_OPT)
		word = letter;
	return xiw_fail(XIW_EXIT_USAGE, "%s%s: see 'xiwarp %s%s--help'",
			optopt == LONG_OPT ? "no value is taken by " : "unknown option ",
			xiw_printable(word, shown, sizeof(shown)), cmd, *cmd ? " " : "");
}

int xiw_parse_options(int argc, char **argv, struct xiw_args *args)
{
	const struct xiw_cmd *cmd = args->cmd;
	const char *name = cmd ? cmd->name : "";
	struct option table[MAX_OPTS] = {};
	/* The "+" ends at the first word, the ":" tells a missing value from an unknown option. */
	bool ends_late = cmd && !cmd->program;
	char letters[2 * MAX_OPTS + 5] = "+:hV";
	const struct xiw_opt *opt;
	int index, c, err;

	/* -V is the version in front of a command only: a command may have a -V of its own. */
	make_tables(cmd, table, letters + (cmd ? 3 : 4));
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters + ends_late, table, &index)) != -1) {
		if (c == ':')
			return xiw_fail(XIW_EXIT_USAGE, "%s needs a value: see 'xiwarp %s%s--help'",
					argv[optind - 1], name, *name ? " " : "");
		if (c == LONG_OPT)
			opt = opt_at(cmd, index);
		else if (c == 'h')
			opt = opt_of_name("help");
		else if (c == 'V' && !cmd)
			opt = opt_of_name("version");
		else
			opt = opt_of_letter(cmd, c);
		err = opt ? opt->set(opt, optarg, args) : bad_option(argv[optind - 1], name);
		if (err)
			return err;
		args->last[opt->end] = opt;
	}
	args->words = argv + optind;
	args->nwords = argc - optind;
	return 0;
}

bool xiw_check_words(const struct xiw_args *args)
{
	const struct xiw_cmd *cmd = args->cmd;
	const char *blank = *cmd->synopsis ? " " : "";
	char shown[256];

	if (args->nwords < cmd->min_words)
		xiw_fail(0, "%s needs %s: usage: xiwarp %s%s%s", cmd->name,
			 args->nwords ? "more arguments" : "an argument", cmd->name, blank,
			 cmd->synopsis);
	else if (cmd->max_words >= 0 && args->nwords > cmd->max_words)
		xiw_fail(0, "%s: unexpected argument '%s': usage: xiwarp %s%s%s", cmd->name,
			 xiw_printable(args->words[cmd->max_words], shown, sizeof(shown)),
			 cmd->name, blank, cmd->synopsis);
	else
		return true;
	return false;
}
