/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/cancel.h - threads that may be cancelled (pthread_cancel()). One that is cancelled while it has a lock, or while
 * others write to its stack, takes the lock along, or the stack. So it is not cancelled there, but at its next
 * cancellation point.
 */
#ifndef XIW_BASE_CANCEL_H
#define XIW_BASE_CANCEL_H

#include <pthread.h>

/* Returns what xiw_cancel_restore() takes. */
static inline int xiw_cancel_off(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

static inline void xiw_cancel_restore(int was)
{
	pthread_setcancelstate(was, NULL);
}

#endif
