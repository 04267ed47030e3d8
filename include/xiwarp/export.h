/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIWARP_EXPORT_H
#define XIWARP_EXPORT_H

/* Marks the public interface: the library is built with hidden visibility. */
#define XIW_API __attribute__((visibility("default")))

/* Around the functions of every header, so that they have C linkage in C++. */
#ifdef __cplusplus
#define XIW_BEGIN_DECLS extern "C" {
#define XIW_END_DECLS }
#else
#define XIW_BEGIN_DECLS
#define XIW_END_DECLS
#endif

#endif
