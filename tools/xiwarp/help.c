// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "caps.h"

/* Wraps a text at 80 columns; the cursor stands at `col`, further lines begin at `indent`. */
static void wrap(const char *text, int col, int indent)
{
	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (col + len > 79 && col > indent) {
			printf("\n%*s", indent, "");
			col = indent;
		}
		printf("%.*s", len, text);
		col += len;
		text += len;
		if (*text == '\n') {
			printf("\n%*s", indent, "");
			col = indent;
			text++;
		} else if (*text == ' ') {
			text++;
			if (*text && col + 1 + (int)strcspn(text, " \n") <= 79) {
				putchar(' ');
				col++;
			} else if (*text) {
				printf("\n%*s", indent, "");
				col = indent;
			}
		}
	}
	putchar('\n');
}

static void plain_lines(const char *text)
{
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		printf("  %.*s\n", (int)(end - text), text);
	}
}

static void plain_opts(const struct xiw_opt *opts)
{
	for (; opts->name; opts++) {
		int col = opts->letter ? printf("  -%c, --", opts->letter) : printf("  --");

		col += printf("%s%s%s", opts->name, opts->arg ? " " : "",
			      opts->arg ? opts->arg : "");

		printf("%*s", col < 25 ? 26 - col : 2, "");
		wrap(opts->help, col < 25 ? 26 : col + 2, 26);
	}
}

static void plain_exits(void)
{
	printf("\nExit codes:\n");
	for (const struct xiw_help_row *e = xiw_help_exits; e->name; e++)
		printf("  %-6s %s\n", e->name, e->meaning);
}

static void plain_caps(const char *cmd)
{
	char needs[128], keeps[128];
	bool any = false;

	for (const struct xiw_caps_row *r = xiw_caps_rows; r->cmd; r++) {
		if (strcmp(r->cmd, cmd))
			continue;
		if (!any)
			printf("\nPrivilege:\n");
		any = true;
		xiw_caps_text(r->needs, needs, sizeof(needs));
		printf("  %-6s %s\n", r->path ? r->path : "", needs);
		if (r->keeps)
			printf("  %-6s keeps %s\n", "",
			       xiw_caps_text(r->keeps, keeps, sizeof(keeps)));
	}
}

static void help_of_command(const struct xiw_cmd *cmd)
{
	printf("xiwarp %s: %s\n\nUsage: xiwarp %s [OPTION...]%s%s\n\n", cmd->name, cmd->summary,
	       cmd->name, *cmd->synopsis ? " " : "", cmd->synopsis);
	if (*cmd->text) {
		wrap(cmd->text, 0, 0);
		putchar('\n');
	}
	if (cmd->opts->name) {
		printf("Options:\n");
		plain_opts(cmd->opts);
		putchar('\n');
	}
	printf("Options of every command:\n");
	plain_opts(xiw_global_opts);
	printf("\nExamples:\n");
	plain_lines(cmd->examples);
	plain_caps(cmd->name);
	plain_exits();
}

void xiw_help(const struct xiw_cmd *cmd)
{
	if (cmd) {
		help_of_command(cmd);
		return;
	}
	printf("xiwarp: %s\n\nUsage: xiwarp COMMAND [OPTION...] [ARGUMENT...]\n\n",
	       xiw_help_tagline);
	wrap(xiw_help_about, 0, 0);
	printf("\nCommands:\n");
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++)
		printf("  %-8s %s\n", (*c)->name, (*c)->summary);
	printf("\nOptions of every command:\n");
	plain_opts(xiw_global_opts);
	printf("\nFirst steps:\n");
	plain_lines(xiw_help_first_steps);
	plain_exits();
	printf("\nFiles:\n");
	for (const struct xiw_help_row *f = xiw_help_files; f->name; f++) {
		printf("  %s\n      ", f->name);
		wrap(f->meaning, 6, 6);
	}
	printf("\n'xiwarp COMMAND --help' describes a command.\n");
}
