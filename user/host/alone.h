/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_HOST_ALONE_H
#define XIW_HOST_ALONE_H

/*
 * The process is to end when main() has ended by pthread_exit(3), and no thread but the library's is left. To be called
 * by the first thread; called by another one, which cannot know when the first one ends, it does nothing.
 */
void xiw_host_end_with_program(void);

#endif
