/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIWARP_EXPORT_H
#define XIWARP_EXPORT_H

/* The library is built with hidden visibility; what carries this mark is its public interface. */
#define XIW_API __attribute__((visibility("default")))

#endif
