/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_SOCKOPTS_H
#define XIW_CONN_SOCKOPTS_H

#include "core/engine.h"

/*
 * Moves the socket of a connection to a descriptor from FD_SETSIZE on, if the process may have such: the lower ones are
 * left to the program, which may use select(). Returns the descriptor, which is `fd` if it cannot be moved.
 */
int xiw_sock_raised(int fd);

/* Clears or sets O_NONBLOCK. */
void xiw_sock_blocks(int fd, bool blocks);

/* Sets the options that the library needs on a socket, and notes in `was` what they were. */
void xiw_sock_prepare(int fd, const struct xiw_engine *e, enum xiw_use_path path,
		      struct xiw_sock_was *was);

/* Sets how long the kernel waits for a silent peer, and notes in `was` what was set before. */
void xiw_sock_limit(int fd, const struct xiw_conn_opts *o, struct xiw_sock_was *was);

/* Closes a socket of ours by a reset, so that the peer does not wait for an answer. */
void xiw_sock_reset(int fd);

/* Restores the options that `was` has, before the application gets the socket back. */
void xiw_sock_restore(int fd, const struct xiw_sock_was *was);

#endif
