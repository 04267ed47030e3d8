/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the traced functions share. */
#ifndef XIW_TRACE_TRACE_H
#define XIW_TRACE_TRACE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define XIW_TRACED __attribute__((visibility("default")))
#define XIW_NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

/* Prints name(args)result. */
void xiw_trace_call(const char *name, const uintptr_t *args, unsigned int n, const char *result);

/* Both return text. */
const char *xiw_trace_int(char *text, size_t len, long result);
const char *xiw_trace_pointer(char *text, size_t len, const void *result);

#endif
