// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Help, man page and Markdown from the same descriptions.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "core/policy.h"

static const char tagline[] = "receive iWARP (MPA, DDP) through XDP and AF_XDP";

static const char about[] =
	"xiwarp turns an ordinary XDP-capable network interface into a software iWARP receiver. "
	"TCP "
	"segments that carry whole, aligned FPDUs (MPA, RFC 5044) leave the kernel in the driver, "
	"over "
	"AF_XDP, and are CRC-checked and placed straight into the application's memory (DDP, RFC "
	"5041). "
	"Everything else takes the kernel's TCP socket. Nothing changes at the peer.\n\n"
	"Load the programs on the receiving interface once, then start a receiver; it finds them "
	"by "
	"itself. Without them, or without the privilege to use them, everything works on the "
	"kernel's "
	"path, and says so. Both paths need io_uring: where a sysctl or a seccomp profile forbids "
	"it, "
	"commands that send or receive say so and end.";

static const char first_steps[] =
	"sudo xiwarp load eth0\n"
	"sudo xiwarp serve --create /srv/incoming # on the receiver\n"
	"xiwarp put big.iso receiver.example      # on the sender, as any user\n"
	"sudo xiwarp status --watch 1\n"
	"sudo xiwarp unload eth0\n";

static const struct {
	const char *code, *meaning;
} exits[] = {
	{ "0", "done" },
	{ "1", "failed at run time: files, memory, system" },
	{ "2", "wrong usage" },
	{ "3", "not permitted: a capability is missing" },
	{ "4", "no such interface, or xiwarp is not loaded there" },
	{ "5", "busy: another XDP program, loaded already, or connections in use" },
	{ "6", "the kernel or the driver cannot" },
	{ "7", "the connection or the peer failed, or the peer refused" },
	{ "8", "verification failed: digests or pings differ" },
	{ "128+N", "stopped cleanly by signal N (130: interrupted)" },
};

static const char conf_file[] = XIW_CONF_FILE;
static const char conf_text[] =
	"What the administrator decides for the whole host. It counts if root owns it and nobody "
	"else can write there, and is read when a program starts. Lines of two words; # begins a "
	"comment. 'crc required', as without the file: CRC32c on every connection. 'crc "
	"optional': an application may do without (--crc off) if its peer does so too. 'crc "
	"off': every connection does without if its peer does so too. Do without only where "
	"something else protects every octet as well as a CRC32c from end to end (RFC 5044 section "
	"4.4): TCP's own checksum does not.";

#define NEXITS (sizeof(exits) / sizeof(exits[0]))

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
		int col = opts->key > XIW_OPT_LETTERS ? printf("  -%c, --", opts->key)
						      : printf("  --");

		col += printf("%s%s%s", opts->name, opts->arg ? " " : "",
			      opts->arg ? opts->arg : "");

		printf("%*s", col < 25 ? 26 - col : 2, "");
		wrap(opts->help, col < 25 ? 26 : col + 2, 26);
	}
}

static void plain_exits(void)
{
	printf("\nExit codes:\n");
	for (size_t i = 0; i < NEXITS; i++)
		printf("  %-6s %s\n", exits[i].code, exits[i].meaning);
}

static const char *caps_path(const struct xiw_caps_row *r)
{
	return r->path ? r->path : "-";
}

static const char *caps_kept(const struct xiw_caps_row *r, char *buf, size_t len)
{
	return r->runs_on ? xiw_caps_text(r->keeps, buf, len) : "-";
}

static void plain_caps(const char *cmd)
{
	char needs[128], keeps[128];

	printf("\nPrivilege:\n");
	for (const struct xiw_caps_row *r = xiw_caps_rows; r->cmd; r++) {
		if (strcmp(r->cmd, cmd))
			continue;
		xiw_caps_text(r->needs, needs, sizeof(needs));
		printf("  %-6s %s\n", r->path ? r->path : "", needs);
		if (r->keeps)
			printf("  %-6s keeps %s\n", "", caps_kept(r, keeps, sizeof(keeps)));
	}
}

void xiw_help(const struct xiw_cmd *cmd)
{
	if (cmd) {
		printf("xiwarp %s: %s\n\nUsage: xiwarp %s [OPTION...]%s%s\n\n", cmd->name,
		       cmd->summary, cmd->name, *cmd->synopsis ? " " : "", cmd->synopsis);
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
		if (cmd != &xiw_cmd_help)
			plain_caps(cmd->name);
		plain_exits();
		return;
	}
	printf("xiwarp: %s\n\nUsage: xiwarp COMMAND [OPTION...] [ARGUMENT...]\n\n", tagline);
	wrap(about, 0, 0);
	printf("\nCommands:\n");
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++)
		printf("  %-8s %s\n", (*c)->name, (*c)->summary);
	printf("\nOptions of every command:\n");
	plain_opts(xiw_global_opts);
	printf("\nFirst steps:\n");
	plain_lines(first_steps);
	plain_exits();
	printf("\nFiles:\n  %s\n      ", conf_file);
	wrap(conf_text, 6, 6);
	printf("\n'xiwarp COMMAND --help' tells more about a command.\n");
}

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
		if (opts->key > XIW_OPT_LETTERS)
			printf("\\-%c\\fR, \\fB", opts->key);
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

static void roff_caps(void)
{
	char needs[128], keeps[128];

	printf(".SH PRIVILEGE\n");
	for (const struct xiw_caps_row *r = xiw_caps_rows; r->cmd; r++) {
		printf(".TP\n\\fB%s\\fR%s%s\n", r->cmd, r->path ? ", path " : "",
		       r->path ? r->path : "");
		printf("%s", xiw_caps_text(r->needs, needs, sizeof(needs)));
		if (r->keeps)
			printf("; keeps %s", caps_kept(r, keeps, sizeof(keeps)));
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
	roff(tagline);
	printf("\n.SH SYNOPSIS\n");
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++) {
		printf("\\fBxiwarp %s\\fR [\\fIOPTION\\fR...]%s", (*c)->name,
		       *(*c)->synopsis ? " " : "");
		roff((*c)->synopsis);
		printf("\n.br\n");
	}
	printf(".SH DESCRIPTION\n");
	roff(about);
	printf("\n.SH COMMANDS\n");
	for (const struct xiw_cmd *const *c = xiw_cmds; *c; c++) {
		printf(".SS %s%s", (*c)->name, *(*c)->synopsis ? " " : "");
		roff((*c)->synopsis);
		putchar('\n');
		printf("Purpose: ");
		roff((*c)->summary);
		printf(".\n.PP\n");
		roff((*c)->text);
		putchar('\n');
		roff_opts((*c)->opts);
		roff_example((*c)->examples);
	}
	printf(".SH OPTIONS\nEvery command takes these.\n");
	roff_opts(xiw_global_opts);
	roff_caps();
	printf(".SH EXIT STATUS\n");
	for (size_t i = 0; i < NEXITS; i++) {
		printf(".TP\n%s\n", exits[i].code);
		roff(exits[i].meaning);
		putchar('\n');
	}
	printf(".SH FILES\n.TP\n%s\n", conf_file);
	roff(conf_text);
	printf("\n.SH EXAMPLES\n");
	roff_example(first_steps);
}

static void markdown_opts(const struct xiw_opt *opts)
{
	for (; opts->name; opts++) {
		printf("- ");
		if (opts->key > XIW_OPT_LETTERS)
			printf("`-%c`, ", opts->key);
		printf("`--%s%s%s`: %s\n", opts->name, opts->arg ? " " : "",
		       opts->arg ? opts->arg : "", opts->help);
	}
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
	printf("%s\n\n```sh\n%s```\n", about, first_steps);
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
	for (size_t i = 0; i < NEXITS; i++)
		printf("| %s | %s |\n", exits[i].code, exits[i].meaning);
	printf("\n### Files\n\n`%s`: %s\n", conf_file, conf_text);
}
