/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose maps are believed. The maps that are found by their pins steer connections, and in a BPF file system that was
 * mounted without a mode, the kernel lets every user make directories and symbolic links.
 */
#ifndef XIW_NETIF_TRUST_H
#define XIW_NETIF_TRUST_H

#include <stddef.h>

/*
 * May this process believe what @dir holds? It may if only root and this user can change where the path leads or put
 * anything there; or another user, if root or this user gave the directory to that user. @why gets one line with cause
 * and remedy. -ENOENT: the directory does not exist, and the part of the path that exists is in order; -EPERM: it may
 * not be searched; -EUCLEAN: another user may have changed it.
 */
int xiw_trust_dir(const char *dir, char *why, size_t len);

#endif
