/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_BASE_CAPS_H
#define XIW_BASE_CAPS_H

#include <stdbool.h>

/* Is this capability (linux/capability.h) in effect? */
bool xiw_caps_have(int cap);
/* A few words for a message about -EPERM, where this capability should have helped. */
const char *xiw_caps_hint(int cap);
/* Is this process under a seccomp filter, as in containers? */
bool xiw_caps_filtered(void);
/* Why a call failed with -EPERM: `missing`, or if this capability is in effect, who forbids the call. */
const char *xiw_caps_why(int cap, const char *missing);

#endif
