/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_HOST_ALONE_H
#define XIW_HOST_ALONE_H

/*
 * This process, and its children, are to end when their first thread has ended by pthread_exit(3), and only threads of
 * the library are left. Called by another thread than the first, it does so for the children alone.
 */
void xiw_host_end_with_program(void);

/* A thread of the library begins, and ends; called by itself. */
void xiw_host_thread_begins(void);
void xiw_host_thread_ends(void);

#endif
