/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host/files.h - descriptors of the process (RLIMIT_NOFILE). A connection takes one, which that of an RNIC does not,
 * so programs of RDMA do not ask for as many as they have connections.
 */
#ifndef XIW_HOST_FILES_H
#define XIW_HOST_FILES_H

/*
 * Raises the soft limit of descriptors (RLIMIT_NOFILE) as far as the hard one allows, and as our connections may need.
 * Connections get descriptors from FD_SETSIZE on (xiw_sock_raised()), so a program that uses select() has the lower
 * ones to itself, as many as before. A child of fork() has the old limit again (xiw_host_files_restore()).
 */
void xiw_host_files_raise(void);
void xiw_host_files_restore(void);

/*
 * Connections, or requests for such, fail with this negative errno. The first time, one line on stderr says so, with
 * the remedy, if it is one of those that the process can help: -EMFILE, -ENFILE, -EUSERS (the listener's limit).
 */
void xiw_host_files_refused(int err);

#endif
