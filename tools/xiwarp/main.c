// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define MAX_OPTS 24
#define LONG_OPT 256 /* what getopt_long() returns for a long option: no letter */

const struct xiw_cmd *const xiw_cmds[] = {
	&xiw_cmd_load, &xiw_cmd_unload, &xiw_cmd_status, &xiw_cmd_serve, &xiw_cmd_put,
	&xiw_cmd_sink, &xiw_cmd_rping,	&xiw_cmd_help,	 NULL,
};

const struct xiw_opt xiw_global_opts[] = {
	{ XIW_OPT_JSON, "json", NULL, "report as JSON, one line for each report" },
	{ XIW_OPT_PIN_DIR, "pin-dir", "DIR",
	  "where programs and maps are pinned, on a BPF file system; default " XIW_PIN_DIR },
	{ XIW_OPT_HELP, "help", NULL, "show help and exit" },
	{ XIW_OPT_VERSION, "version", NULL, "show the version and exit" },
	{ 0, NULL, NULL, NULL },
};

static int bad_value(const struct xiw_opt *opt, const char *value, const char *expected)
{
	return xiw_fail(XIW_EXIT_USAGE, "--%s: '%s' is not %s", opt->name, value, expected);
}

/* A whole number, decimal or 0x, with K, M, G or T (powers of 1024) if `suffix`. */
static bool parse_number(const char *text, bool suffix, uint64_t max, uint64_t *value)
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
	if (*end && suffix) {
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

static int parse_word(const struct xiw_opt *opt, const char *value, const char *const *names,
		      const char *expected, int *index)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(value, names[i])) {
			*index = i;
			return 0;
		}
	}
	return bad_value(opt, value, expected);
}

static int set_number(const struct xiw_opt *opt, const char *value, struct xiw_args *a)
{
	uint64_t n;

	switch (opt->key) {
	case XIW_OPT_STAG:
		if (!parse_number(value, false, UINT32_MAX, &n))
			return bad_value(opt, value, "a number from 0 to 0xffffffff");
		a->stag = n;
		a->stag_given = true;
		return 0;
	case XIW_OPT_SIZE:
	case XIW_OPT_RPING_SIZE:
		if (!parse_number(value, true, 1ull << 46, &a->size) || !a->size)
			return bad_value(opt, value, "a size such as 4096, 64K, 1G");
		return 0;
	case XIW_OPT_FIRST_MSN:
		if (!parse_number(value, false, UINT32_MAX, &n) || !n)
			return bad_value(opt, value, "a number from 1 to 0xffffffff");
		a->first_msn = n;
		return 0;
	case XIW_OPT_COUNT:
		if (!parse_number(value, false, INT32_MAX, &a->count))
			return bad_value(opt, value, "a number up to 2147483647");
		return 0;
	case XIW_OPT_PEER_TIMEOUT:
		if (!parse_number(value, false, 86400, &n) || !n)
			return bad_value(opt, value, "a number from 1 to 86400");
		a->peer_timeout = n;
		return 0;
	case XIW_OPT_IDLE:
		if (!parse_number(value, false, 86400, &n) || !n)
			return bad_value(opt, value, "a number from 1 to 86400");
		a->idle = n;
		return 0;
	case XIW_OPT_MAX_SIZE:
	case XIW_OPT_KEEP_FREE:
		if (!parse_number(value, true, 1ull << 62, &n) ||
		    (!n && opt->key == XIW_OPT_MAX_SIZE))
			return bad_value(opt, value, "a size such as 64K, 1G");
		*(opt->key == XIW_OPT_MAX_SIZE ? &a->max_size : &a->keep_free) = n;
		return 0;
	case XIW_OPT_QUEUES:
		if (!parse_number(value, false, 256, &n) || !n)
			return bad_value(opt, value, "a number from 1 to 256");
		a->queues = n;
		return 0;
	default:
		if (!parse_number(value, true, 1u << 30, &n) || !n)
			return bad_value(opt, value, "a size from 1 to 1G");
		a->recv_size = n;
		return 0;
	}
}

static int set_value(const struct xiw_opt *opt, const char *value, struct xiw_args *a)
{
	static const char *const modes[] = { "auto", "native", "generic", NULL };
	static const char *const paths[] = { "auto", "kernel", "direct", NULL };
	static const char *const on_off[] = { "on", "off", NULL };
	static const char *const revs[] = { "1", "2", NULL };
	static const char *const rtrs[] = { "send", "write", "read", NULL };
	int i = 0, err;
	char *end;

	switch (opt->key) {
	case XIW_OPT_MODE:
		err = parse_word(opt, value, modes, "auto, native or generic", &i);
		a->mode = (enum xiw_xdp_mode)i;
		return err;
	case XIW_OPT_PATH:
		err = parse_word(opt, value, paths, "auto, kernel or direct", &i);
		a->path = (enum xiw_use_path)i;
		return err;
	case XIW_OPT_CRC:
		err = parse_word(opt, value, on_off, "on or off", &i);
		a->crc_off = i;
		return err;
	case XIW_OPT_REV:
		err = parse_word(opt, value, revs, "1 or 2", &i);
		a->rev = (uint8_t)(i + 1);
		return err;
	case XIW_OPT_RTR:
		err = parse_word(opt, value, rtrs, "send, write or read", &i);
		a->rtr = (uint8_t)(1 << i); /* as enum xiw_rtr has them */
		return err;
	case XIW_OPT_ADDRESS:
		a->address = value;
		return *value ? 0 : bad_value(opt, value, "an address");
	case XIW_OPT_PORT:
		a->port = value;
		return *value ? 0 : bad_value(opt, value, "a port");
	case XIW_OPT_PRIVATE_DATA:
		a->private_data = value;
		return strlen(value) <= XIW_PRIVATE_DATA_MAX
			       ? 0
			       : bad_value(opt, value, "at most 512 octets");
	case XIW_OPT_WATCH:
		a->watch = strtod(value, &end);
		if (end == value || *end || !(a->watch >= 0.1 && a->watch <= 86400))
			return bad_value(opt, value, "a number of seconds, 0.1 or more");
		return 0;
	case XIW_OPT_PIN_DIR:
		a->pin_dir = value;
		return *value ? 0 : bad_value(opt, value, "a directory");
	case XIW_OPT_LISTEN:
		a->listen = value;
		return 0;
	case XIW_OPT_OUT:
		a->out = value;
		return *value ? 0 : bad_value(opt, value, "a file");
	default:
		return set_number(opt, value, a);
	}
}

/* What was printed must have arrived for a 0. */
static int flushed(int code)
{
	bool lost = xiw_output_lost();

	/* Reports are flushed one by one: an error may be an earlier one's, whose errno is gone. */
	if (lost && code == XIW_EXIT_OK)
		return xiw_fail(XIW_EXIT_FAILURE,
				"not everything could be written to standard output: is it full, "
				"or closed?");
	return code;
}

static int set_flag(const struct xiw_cmd *cmd, const struct xiw_opt *opt, struct xiw_args *a)
{
	switch (opt->key) {
	case XIW_OPT_HELP:
		xiw_help(cmd);
		exit(flushed(XIW_EXIT_OK));
	case XIW_OPT_VERSION:
		printf("xiwarp %s\n", XIW_VERSION);
		exit(flushed(XIW_EXIT_OK));
	case XIW_OPT_JSON:
		a->json = true;
		return 0;
	case XIW_OPT_REPLACE:
		a->replace = true;
		return 0;
	case XIW_OPT_FORCE:
		a->force = true;
		return 0;
	case XIW_OPT_CREATE:
		a->create = true;
		return 0;
	case XIW_OPT_ONCE:
		a->once = true;
		return 0;
	case XIW_OPT_TRUST_CHECKSUM:
		a->trust_checksum = true;
		return 0;
	case XIW_OPT_SERVER:
		a->server = true;
		return 0;
	case XIW_OPT_CLIENT:
		a->client = true;
		return 0;
	case XIW_OPT_VALIDATE:
		a->validate = true;
		return 0;
	case XIW_OPT_VERBOSE:
		a->verbose = true;
		return 0;
	case XIW_OPT_PERSISTENT:
		a->persistent = true;
		return 0;
	case XIW_OPT_REJECT:
		a->reject = true;
		return 0;
	case XIW_OPT_FORMAT:
		a->format = opt->name;
		return 0;
	default:
		a->markers = true;
		return 0;
	}
}

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
		if ((int)o->key == letter)
			return o;
	return NULL;
}

/* For getopt_long(): the long options, and a letter for those that have one. */
static void make_tables(const struct xiw_cmd *cmd, struct option table[MAX_OPTS], char *letters)
{
	const struct xiw_opt *opt;

	for (int i = 0; i < MAX_OPTS - 1 && (opt = opt_at(cmd, i)); i++) {
		table[i] = (struct option){ opt->name, opt->arg ? required_argument : no_argument,
					    NULL, LONG_OPT };
		if (opt->key < XIW_OPT_LETTERS)
			continue;
		*letters++ = (char)opt->key;
		if (opt->arg)
			*letters++ = ':';
	}
	*letters = '\0';
}

/* What is wrong with the option that getopt_long() has just refused. */
static int bad_option(const char *word, const char *cmd)
{
	const char letter[] = { '-', (char)optopt, '\0' };
	char shown[256];

	/* One of several letters in a word, perhaps: getopt may not be done with the word yet. */
	if (optopt && optopt != LONG_OPT)
		word = letter;
	return xiw_fail(XIW_EXIT_USAGE, "%s%s: see 'xiwarp %s%s--help'",
			optopt == LONG_OPT ? "no value is taken by " : "unknown option ",
			xiw_printable(word, shown, sizeof(shown)), cmd, *cmd ? " " : "");
}

/* `first_word_only`: stops at the command's name, for the options in front of it. */
static int parse_opts(const struct xiw_cmd *cmd, bool first_word_only, int argc, char **argv,
		      struct xiw_args *args)
{
	struct option table[MAX_OPTS] = {};
	char letters[2 * MAX_OPTS + 5] = "+:hV";
	const char *name = cmd ? cmd->name : "";
	const struct xiw_opt *opt;
	int index, c, err;

	/* A command may have a -V of its own. */
	make_tables(cmd, table, letters + 3 + !cmd);
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters + !first_word_only, table, &index)) != -1) {
		if (c == 'h')
			return set_flag(cmd, &xiw_global_opts[2], args);
		if (c == 'V' && !cmd)
			return set_flag(cmd, &xiw_global_opts[3], args);
		if (c == ':')
			return xiw_fail(XIW_EXIT_USAGE, "%s needs a value: see 'xiwarp %s%s--help'",
					argv[optind - 1], name, *name ? " " : "");
		opt = c == LONG_OPT ? opt_at(cmd, index) : opt_of_letter(cmd, c);
		if (!opt)
			return bad_option(argv[optind - 1], name);
		err = opt->arg ? set_value(opt, optarg, args) : set_flag(cmd, opt, args);
		if (err)
			return err;
	}
	args->words = argv + optind;
	args->nwords = argc - optind;
	return 0;
}

int xiw_args_parse(const struct xiw_cmd *cmd, int argc, char **argv, struct xiw_args *args)
{
	int err = parse_opts(cmd, false, argc, argv, args);

	args->cmd = cmd;
	if (err)
		return err;
	if (args->nwords < cmd->min_words)
		return xiw_fail(XIW_EXIT_USAGE, "%s needs %s: usage: xiwarp %s%s%s", cmd->name,
				args->nwords ? "more arguments" : "an argument", cmd->name,
				*cmd->synopsis ? " " : "", cmd->synopsis);
	if (cmd->max_words >= 0 && args->nwords > cmd->max_words)
		return xiw_fail(XIW_EXIT_USAGE, "%s: '%s' is too much: usage: xiwarp %s%s%s",
				cmd->name, args->words[cmd->max_words], cmd->name,
				*cmd->synopsis ? " " : "", cmd->synopsis);
	return 0;
}

static const struct xiw_cmd *find_cmd(const char *name)
{
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static int run_help(const struct xiw_args *args)
{
	const struct xiw_cmd *cmd = NULL;

	if (args->format && !strcmp(args->format, "man")) {
		xiw_help_man();
		return XIW_EXIT_OK;
	}
	if (args->format) {
		xiw_help_markdown();
		return XIW_EXIT_OK;
	}
	if (args->nwords) {
		cmd = find_cmd(args->words[0]);
		if (!cmd)
			return xiw_fail(XIW_EXIT_USAGE, "no command '%s': see 'xiwarp --help'",
					args->words[0]);
	}
	xiw_help(cmd);
	return XIW_EXIT_OK;
}

static const struct xiw_opt help_opts[] = {
	{ XIW_OPT_FORMAT, "man", NULL, "everything, as a man page" },
	{ XIW_OPT_FORMAT, "markdown", NULL, "everything, as Markdown" },
	{ 0, NULL, NULL, NULL },
};

const struct xiw_cmd xiw_cmd_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "show how to use xiwarp, or one of its commands",
	.text = "",
	.examples = "xiwarp help put\n",
	.opts = help_opts,
	.max_words = 1,
	.run = run_help,
};

int main(int argc, char **argv)
{
	struct xiw_args args = { .crc_off = false };
	const struct xiw_cmd *cmd;
	int fd, code;

	/* A closed standard stream must not become the number of a socket or file. */
	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
		;
	if (fd > STDERR_FILENO)
		close(fd);
	code = parse_opts(NULL, true, argc, argv, &args);
	if (code)
		return code;
	if (!args.nwords)
		return xiw_fail(XIW_EXIT_USAGE, "which command? See 'xiwarp --help'");
	if (!strcmp(args.words[0], "version"))
		return set_flag(NULL, &xiw_global_opts[3], &args);
	cmd = find_cmd(args.words[0]);
	if (!cmd)
		return xiw_fail(XIW_EXIT_USAGE, "no command '%s': see 'xiwarp --help'",
				args.words[0]);
	code = xiw_args_parse(cmd, args.nwords, args.words, &args);
	if (!code)
		code = cmd->run(&args);
	return flushed(code);
}
