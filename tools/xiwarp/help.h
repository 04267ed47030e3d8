/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The help text and the man page, made from the commands' descriptions. */
#ifndef XIW_TOOL_HELP_H
#define XIW_TOOL_HELP_H

#include "args.h"

void xiw_help(const struct xiw_cmd *cmd); /* NULL: the whole tool */
void xiw_help_man(void);

/* What both say about the tool as a whole (help_text.c). */
extern const char xiw_help_tagline[], xiw_help_about[], xiw_help_first_steps[];
struct xiw_help_row {
	const char *name, *meaning;
};
extern const struct xiw_help_row xiw_help_exits[]; /* ends with name NULL */
extern const struct xiw_help_row xiw_help_files[]; /* the same */

#endif
