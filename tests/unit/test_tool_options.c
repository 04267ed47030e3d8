// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The command line of `xiwarp`: what values the options take, how they are written, and what is refused. */
#include <criterion/criterion.h>

#include "tools/xiwarp/exit.c"
#include "tools/xiwarp/options.c"
#include "tools/xiwarp/text.c"

static const struct xiw_word words[] = { { "auto", 0 }, { "kernel", 1 }, { "direct", 2 }, {} };

static const struct xiw_opt opts[] = {
	{ "force", 'f', .help = "", XIW_FLAG(force) },
	{ "out", 'o', "FILE", "", XIW_TEXT(sink.out, 1, 4, "a short name") },
	{ "queues", .arg = "N", .help = "", XIW_NUMBER(sink.queues, 1, 256) },
	{ "size", 'S', "BYTES", "", XIW_SIZE(sink.size, 1, 1ull << 46) },
	{ "path", .arg = "PATH", .help = "", XIW_WORD(receiver.path, words) },
	{ "rev", .arg = "1|2", .help = "", XIW_NUMBER(mpa.revision, 1, 2) },
	{},
};

static const struct xiw_cmd cmd = {
	.name = "cmd", .synopsis = "WORD", .opts = opts, .min_words = 1, .max_words = 2
};

const struct xiw_opt xiw_global_opts[] = {
	{ "json", .help = "", XIW_FLAG(json) },
	{ "help", .help = "" },
	{ "version", .help = "" },
	{},
};

static struct xiw_args args;

/* Parses words that blanks separate. */
static int parse(const char *line)
{
	static char copy[256];
	static char *argv[16];
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && argc < 15; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	args = xiw_default_args;
	args.cmd = &cmd;
	return xiw_parse_options(argc, argv, &args);
}

Test(tool_options, defaults)
{
	cr_assert(!parse("cmd word"));
	cr_assert(!args.force && !args.json && !args.sink.out);
	cr_assert_eq(args.sink.size, 64u << 20);
	cr_assert_eq(args.receiver.peer_timeout, 30);
	cr_assert_eq(args.nwords, 1);
	cr_assert(xiw_check_words(&args));
}

Test(tool_options, values_go_where_they_belong)
{
	cr_assert(!parse("cmd -f --queues 256 a --path=direct --rev 2 -o x --json b"));
	cr_assert(args.force && args.json);
	cr_assert_eq(args.sink.queues, 256);
	cr_assert_eq(args.sink.recv_size, 65536, "the members beside it stay as they are");
	cr_assert_eq(args.receiver.path, XIW_USE_DIRECT);
	cr_assert_eq(args.mpa.revision, 2);
	cr_assert_str_eq(args.sink.out, "x");
	cr_assert_eq(args.nwords, 2);
	cr_assert_str_eq(args.words[1], "b");
}

Test(tool_options, sizes)
{
	static const struct {
		const char *line;
		uint64_t size;
	} good[] = {
		{ "cmd -S 1", 1 },
		{ "cmd -S 64K", 64 << 10 },
		{ "cmd -S64k", 64 << 10 },
		{ "cmd --size=3MiB", 3 << 20 },
		{ "cmd --size 1GB", 1 << 30 },
		{ "cmd --size 64T", 1ull << 46 },
		{ "cmd --size 0x10K", 16 << 10 },
	};
	static const char *const bad[] = { "0",	  "-1",	 "x",
					   "1Q",  "1e3", "65T",
					   "1K1", "1KX", "99999999999999999999" };
	char line[64];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert(!parse(good[i].line), "%s", good[i].line);
		cr_assert_eq(args.sink.size, good[i].size, "%s", good[i].line);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "cmd --size=%s", bad[i]);
		cr_assert_eq(parse(line), XIW_EXIT_USAGE, "%s", line);
	}
}

Test(tool_options, refused)
{
	static const char *const bad[] = {
		"cmd --frob",	  "cmd -x",	      "cmd --force=x", "cmd --queues",
		"cmd --queues 0", "cmd --queues 257", "cmd --rev 3",   "cmd --path up",
		"cmd --out=",	  "cmd --out 12345",  "cmd -V",	       "cmd --queues 1K",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(parse(bad[i]), XIW_EXIT_USAGE, "%s", bad[i]);
}

Test(tool_options, too_few_and_too_many_words)
{
	cr_assert(!parse("cmd"));
	cr_assert(!xiw_check_words(&args));
	cr_assert(!parse("cmd a b c"));
	cr_assert(!xiw_check_words(&args));
}
