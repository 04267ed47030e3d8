// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the library is made for. `make` preprocesses this before it compiles anything. */
#ifndef XIW_BASE_MACHINE_H
#define XIW_BASE_MACHINE_H

#if __SIZEOF_POINTER__ != 8
#error "xiwarp is for 64-bit machines: what it shares with the BPF programs is laid out so"
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "xiwarp is for little-endian machines: its BPF programs have never run on others"
#else
#include <features.h>
#ifndef __GLIBC__
#error "xiwarp needs the GNU C library: others lack pthread_cond_clockwait() and more"
#endif
#endif

#endif
