// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "help.h"

#include <stdio.h>

#include "caps.h"

static void markdown_opts(const struct xiw_opt *opts)
{
	for (; opts->name; opts++) {
		printf("- ");
		if (opts->letter)
			printf("`-%c`, ", opts->letter);
		printf("`--%s%s%s`: %s\n", opts->name, opts->arg ? " " : "",
		       opts->arg ? opts->arg : "", opts->help);
	}
}

static const char *caps_path(const struct xiw_caps_row *r)
{
	return r->path ? r->path : "-";
}

static const char *caps_kept(const struct xiw_caps_row *r, char *buf, size_t len)
{
	return r->runs_on ? xiw_caps_text(r->keeps, buf, len) : "-";
}

static void markdown_caps(void)
{
	char needs[128], keeps[128];

	printf("\n### Privilege\n\n| command | path | needs | keeps while it runs "
	       "|\n|---|---|---|---|\n");
	for (const struct xiw_caps_row *r = xiw_caps_rows; r->cmd; r++)
		printf("| %s | %s | %s | %s |\n", r->cmd, caps_path(r),
		       xiw_caps_text(r->needs, needs, sizeof(needs)),
		       caps_kept(r, keeps, sizeof(keeps)));
	for (const char *const *n = xiw_caps_notes; *n; n++)
		printf("\n%s\n", *n);
}

void xiw_help_markdown(void)
{
	printf("%s\n\n```sh\n%s```\n", xiw_help_about, xiw_help_first_steps);
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++) {
		printf("\n### xiwarp %s%s%s\n\nPurpose: %s.\n", (*c)->name,
		       *(*c)->synopsis ? " " : "", (*c)->synopsis, (*c)->summary);
		if (*(*c)->text)
			printf("\n%s\n", (*c)->text);
		if ((*c)->opts->name)
			putchar('\n');
		markdown_opts((*c)->opts);
		printf("\n```sh\n%s```\n", (*c)->examples);
	}
	printf("\n### Options of every command\n\n");
	markdown_opts(xiw_global_opts);
	markdown_caps();
	printf("\n### Exit codes\n\n| code | meaning |\n|---|---|\n");
	for (const struct xiw_help_row *e = xiw_help_exits; e->name; e++)
		printf("| %s | %s |\n", e->name, e->meaning);
	printf("\n### Files\n");
	for (const struct xiw_help_row *f = xiw_help_files; f->name; f++)
		printf("\n`%s`: %s\n", f->name, f->meaning);
}
