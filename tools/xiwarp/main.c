// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "exit.h"
#include "help.h"
#include "signals.h"
#include "text.h"

const struct xiw_cmd *const xiw_cmds[] = {
	&xiw_cmd_load, &xiw_cmd_unload, &xiw_cmd_status, &xiw_cmd_serve, &xiw_cmd_put,
	&xiw_cmd_sink, &xiw_cmd_rping,	&xiw_cmd_perf,	 &xiw_cmd_run,	&xiw_cmd_help,
	NULL,
};

/* What was printed must have been written, too, for exit code 0. */
static int flushed(int code)
{
	bool lost = xiw_output_lost();

	/* Reports are flushed one by one: the error may be an earlier one's, and errno is gone. */
	if (lost && code == XIW_EXIT_OK)
		return xiw_fail(XIW_EXIT_FAILURE, "standard output could not be written "
						  "completely: it may be full or closed");
	return code;
}

static int show_help(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	(void)opt, (void)value;
	xiw_help(args->cmd);
	exit(flushed(XIW_EXIT_OK));
}

static int show_version(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	(void)opt, (void)value, (void)args;
	printf("xiwarp %s\n", XIW_VERSION);
	exit(flushed(XIW_EXIT_OK));
}

const struct xiw_opt xiw_global_opts[] = {
	{ "json", .help = "report as JSON, one line per report", XIW_FLAG(json) },
	{ "pin-dir", .arg = "DIR",
	  .help = "where programs and maps are pinned, on a BPF file system; default " XIW_PIN_DIR,
	  XIW_TEXT(pin_dir, 1, SIZE_MAX, "a directory") },
	{ "help", .help = "show help and exit", .set = show_help },
	{ "version", .help = "show the version and exit", .set = show_version },
	{},
};

static const struct xiw_cmd *find_cmd(const char *name)
{
	char shown[256];

	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	xiw_fail(0, "no command '%s': see 'xiwarp --help'",
		 xiw_printable(name, shown, sizeof(shown)));
	return NULL;
}

static int run_help(const struct xiw_args *args)
{
	const struct xiw_cmd *cmd = NULL;

	if (args->nwords) {
		cmd = find_cmd(args->words[0]);
		if (!cmd)
			return XIW_EXIT_USAGE;
	}
	if (args->help.man)
		xiw_help_man();
	else
		xiw_help(cmd);
	return XIW_EXIT_OK;
}

static const struct xiw_opt help_opts[] = {
	{ "man", .help = "show everything, as a man page", XIW_FLAG(help.man) },
	{},
};

const struct xiw_cmd xiw_cmd_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "show how to use xiwarp or one of its commands",
	.text = "",
	.examples = "xiwarp help put\n",
	.opts = help_opts,
	.max_words = 1,
	.run = run_help,
};

/* A standard stream that is closed must not become the number of a socket or file. */
static void fill_standard_streams(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
		;
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	struct xiw_args args = xiw_default_args;
	int code;

	fill_standard_streams();
	code = xiw_parse_options(argc, argv, &args);
	if (code)
		return code;
	if (!args.nwords)
		return xiw_fail(XIW_EXIT_USAGE, "which command? See 'xiwarp --help'");
	if (!strcmp(args.words[0], "version"))
		return show_version(NULL, NULL, &args);
	args.cmd = find_cmd(args.words[0]);
	if (!args.cmd)
		return XIW_EXIT_USAGE;
	code = xiw_parse_options(args.nwords, args.words, &args);
	if (code)
		return code;
	if (!xiw_check_words(&args))
		return XIW_EXIT_USAGE;
	return flushed(args.cmd->run(&args));
}
