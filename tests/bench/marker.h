/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Instructions that do nothing, by which a program says where its measurement begins and ends. In the VM of `make
 * bench-vm`, vmtest/count.c recognizes them; elsewhere they cost nothing.
 */
#ifndef XIW_BENCH_MARKER_H
#define XIW_BENCH_MARKER_H

static inline void mark_begin(void)
{
#ifdef __x86_64__
	__asm__ volatile("nopl 0x78697701(%%rax)" ::: "memory");
#endif
}

static inline void mark_end(void)
{
#ifdef __x86_64__
	__asm__ volatile("nopl 0x78697702(%%rax)" ::: "memory");
#endif
}

#endif
