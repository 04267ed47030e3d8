// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "help.h"

#include <stdio.h>

#include "caps.h"

/* Escapes for roff: backslash, hyphen, and a control character at a line's beginning. */
static void roff(const char *text)
{
	bool begin = true;

	for (; *text; text++) {
		if (begin && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		begin = *text == '\n';
		if (*text == '\n' && text[1] == '\n') {
			fputs("\n.PP\n", stdout);
			text++;
		} else if (*text == '\\') {
			fputs("\\e", stdout);
		} else if (*text == '-') {
			fputs("\\-", stdout);
		} else {
			putchar(*text);
		}
	}
}

static void roff_opts(const struct xiw_opt *opts)
{
	for (; opts->name; opts++) {
		printf(".TP\n\\fB");
		if (opts->letter)
			printf("\\-%c\\fR, \\fB", opts->letter);
		roff("--");
		roff(opts->name);
		printf("\\fR");
		if (opts->arg)
			printf(" \\fI%s\\fR", opts->arg);
		putchar('\n');
		roff(opts->help);
		putchar('\n');
	}
}

static void roff_example(const char *text)
{
	printf(".PP\n.nf\n.RS\n");
	roff(text);
	printf(".RE\n.fi\n");
}

static void roff_rows(const char *heading, const struct xiw_help_row *rows)
{
	printf(".SH %s\n", heading);
	for (; rows->name; rows++) {
		printf(".TP\n%s\n", rows->name);
		roff(rows->meaning);
		putchar('\n');
	}
}

static void roff_command(const struct xiw_cmd *cmd)
{
	printf(".SS %s%s", cmd->name, *cmd->synopsis ? " " : "");
	roff(cmd->synopsis);
	printf("\nPurpose: ");
	roff(cmd->summary);
	printf(".\n.PP\n");
	roff(cmd->text);
	putchar('\n');
	roff_opts(cmd->opts);
	roff_example(cmd->examples);
}

static void roff_caps(void)
{
	char needs[128], keeps[128];

	printf(".SH PRIVILEGE\n");
	for (const struct xiw_caps_row *r = xiw_caps_rows; r->cmd; r++) {
		printf(".TP\n\\fB%s\\fR%s%s\n", r->cmd, r->path ? ", path " : "",
		       r->path ? r->path : "");
		printf("%s", xiw_caps_text(r->needs, needs, sizeof(needs)));
		if (r->keeps)
			printf("; keeps %s", xiw_caps_text(r->keeps, keeps, sizeof(keeps)));
		putchar('\n');
	}
	for (const char *const *n = xiw_caps_notes; *n; n++) {
		printf(".PP\n");
		roff(*n);
		putchar('\n');
	}
}

void xiw_help_man(void)
{
	printf(".TH XIWARP 1 \"\" \"xiwarp %s\" \"User Commands\"\n.SH NAME\nxiwarp \\- ",
	       XIW_VERSION);
	roff(xiw_help_tagline);
	printf("\n.SH SYNOPSIS\n");
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++) {
		printf("\\fBxiwarp %s\\fR [\\fIOPTION\\fR...]%s", (*c)->name,
		       *(*c)->synopsis ? " " : "");
		roff((*c)->synopsis);
		printf("\n.br\n");
	}
	printf(".SH DESCRIPTION\n");
	roff(xiw_help_about);
	printf("\n.SH COMMANDS\n");
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++)
		roff_command(*c);
	printf(".SH OPTIONS\nEvery command takes these.\n");
	roff_opts(xiw_global_opts);
	roff_caps();
	roff_rows("EXIT STATUS", xiw_help_exits);
	roff_rows("FILES", xiw_help_files);
	printf(".SH EXAMPLES\n");
	roff_example(xiw_help_first_steps);
	printf(".SH SEE ALSO\n.BR xiwarp (7)\n");
}
