/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BPF file systems, which each mount namespace sees or does not. */
#ifndef XIW_NETIF_BPFFS_H
#define XIW_NETIF_BPFFS_H

#include <stdbool.h>

/* Is the path, or the part of it that exists, on a BPF file system? */
bool xiw_bpffs_at(const char *path);
/*
 * Would pins there be lost with this process, since no other process sees its mounts? `ip netns exec` makes it so. A
 * shell may have mounted a BPF file system for itself on purpose; one that this process had to mount (@mounted) is seen
 * by no other.
 */
bool xiw_bpffs_private(const char *path, bool mounted);
/*
 * Why nothing can be pinned in the directory, as far as it shows itself: words that follow its name, for a directory
 * that the user has named. NULL: it is the default, where nobody has loaded yet, or nothing is wrong with it.
 */
const char *xiw_bpffs_wrong(const char *dir);
/* Does this process see no BPF file system there, while the process that started it does? */
bool xiw_bpffs_hidden(const char *path);

/*
 * Of processes that load or unload, one at a time: waits up to ten seconds for the lock of the directory of pins, which
 * ends with the process. Returns it for xiw_bpffs_unlock(); -ENOENT: there is no such directory; -EBUSY: another
 * process has it still; XIW_BPFFS_NO_LOCK: this process may not read it, or others may, who could hold it for ever.
 */
#define XIW_BPFFS_NO_LOCK (-1000)
int xiw_bpffs_lock(const char *dir);
int xiw_bpffs_try_lock(const char *dir); /* waits for nobody; also of an interface's pins */
void xiw_bpffs_unlock(int lock);
/* The line for -EBUSY, with the path. */
#define XIW_BPFFS_BUSY                                                                             \
	"another process that loads or unloads has held the lock of %s for ten seconds: look for " \
	"it with 'lslocks', end it, and try again"

#endif
