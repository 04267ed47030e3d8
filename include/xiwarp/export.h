/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIWARP_EXPORT_H
#define XIWARP_EXPORT_H

/* The library is built with hidden visibility; what carries this mark is its public interface. */
#define XIW_API __attribute__((visibility("default")))

/* Around the functions of every header: C's names also in C++. */
#ifdef __cplusplus
#define XIW_BEGIN_DECLS extern "C" {
#define XIW_END_DECLS }
#else
#define XIW_BEGIN_DECLS
#define XIW_END_DECLS
#endif

#endif
