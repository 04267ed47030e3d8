/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/leave.h - processes that end, or become another program, without destructors. */
#ifndef XIW_HOST_LEAVE_H
#define XIW_HOST_LEAVE_H

/*
 * Waits until TCP has what was posted before, as an RNIC has it by its doorbell, but not longer than a second. The
 * connections go on, as exec may fail. For any thread, also in a handler of a signal; nothing happens in a child.
 */
void xiw_host_hand_over(void);

#endif
