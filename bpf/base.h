/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Under every other header here: access to shared memory, and TCP sequence numbers.
 */
#ifndef XIW_BPF_BASE_H
#define XIW_BPF_BASE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#ifndef XIW_READ_ONCE /* Tests that compile the programs into a process define their own. */
#define XIW_READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define XIW_WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
#endif

/*
 * Makes the compiler forget what it knows about `x`. Without this it drops a bound that it has proved but the
 * verifier has forgotten, or merges two comparisons into x - low <= high - low, from which the verifier of Linux 6.1
 * learns nothing.
 */
#define xiw_opaque(x) asm volatile("" : "+r"(x))

#define XIW_CAS_TRIES 4
#define XIW_MAX_LAG (1 << 28)

/* Sequence numbers are compared modulo 2^32, by signed difference (RFC 9293 section 3.4). */
static __always_inline bool xiw_seq_leq(__u32 a, __u32 b)
{
	return (__s32)(a - b) <= 0;
}

/*
 * Raise a sequence number that other CPUs raise too. Returns false if they were faster in every try: the number may
 * still be too low then.
 */
static __always_inline bool xiw_raise(__u32 *number, __u32 to)
{
	int i;

#pragma unroll
	for (i = 0; i < XIW_CAS_TRIES; i++) {
		__u32 old = XIW_READ_ONCE(*number);

		if (xiw_seq_leq(to, old) || __sync_val_compare_and_swap(number, old, to) == old)
			return true;
	}
	return false;
}

/*
 * Raise a number to `floor` if it lags far behind. One path does not touch the number while the other path carries
 * the stream; if it lagged by 2^31, a signed comparison would take it for a number far ahead. Compare-and-swap,
 * because the number's own writer may be changing it under a newer owner word.
 */
static __always_inline bool xiw_refresh(__u32 *number, __u32 floor)
{
	__u32 old = XIW_READ_ONCE(*number);

	return (__s32)(floor - old) > XIW_MAX_LAG &&
	       __sync_val_compare_and_swap(number, old, floor) == old;
}

#endif /* XIW_BPF_BASE_H */
