/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose maps are believed. The maps that are found by their pins steer connections, and the kernel lets
 * everybody make directories and symbolic links in a BPF file system that was mounted without a mode.
 */
#ifndef XIW_NETIF_TRUST_H
#define XIW_NETIF_TRUST_H

#include <stddef.h>

/*
 * May what @dir holds be believed? That is so if nobody but root and this user can change what the path leads
 * to or put anything there, whoever the directory was given to included, if root or this user gave it.
 * @why gets one line with cause and remedy. -ENOENT: there is no such directory, and what there is of
 * the path is in order; -EPERM: it may not be searched; -EUCLEAN: somebody else may have a hand in it.
 */
int xiw_trust_dir(const char *dir, char *why, size_t len);

#endif
