/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of libbpf and of the kernel about BPF. libbpf would print them on the terminal; here each thread keeps the
 * last one for its own message.
 */
#ifndef XIW_NETIF_BPF_LOG_H
#define XIW_NETIF_BPF_LOG_H

#include <bpf/libbpf.h>

struct xiw_bpf_log {
	libbpf_print_fn_t old;
};

void xiw_bpf_log_begin(struct xiw_bpf_log *log);
void xiw_bpf_log_end(struct xiw_bpf_log *log);
const char *xiw_bpf_log_line(void);
/* The same in parentheses, with a blank in front; empty if there is none. */
const char *xiw_bpf_log_remark(void);
void xiw_bpf_log_clear(void);

#endif
