/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Identifiers whose address is an RNIC's. A program makes an identifier before it says where it belongs, so it has one
 * of ours, with one of the real librdmacm behind it from then on. Functions are passed on to that one, and what it says
 * of itself is copied. The real library's own calls of its functions arrive here as well, with identifiers of its own.
 */
#ifndef XIW_VERBS_THEIRS_H
#define XIW_VERBS_THEIRS_H

#include "verbs/cm.h"
#include "verbs/verbs.h"

/* The real identifier that a function is to be passed on to; NULL: it is ours. */
static inline struct rdma_cm_id *xiw_theirs(struct rdma_cm_id *cm)
{
	return xiw_id(cm)->self == xiw_id(cm) ? xiw_id(cm)->real : cm;
}

/* After a function was passed on: takes over what the real identifier says. Returns rc. */
int xiw_theirs_done(struct rdma_cm_id *cm, int rc);

/* The same, and waits for the event of a synchronous identifier. */
int xiw_theirs_complete(struct rdma_cm_id *cm, int rc);

/* PASS_ON(cm, function, more arguments): returns what the real one does, if the identifier is theirs. */
#define PASS_ON_THEN(done, cm, function, ...)                                                      \
	do {                                                                                       \
		struct rdma_cm_id *theirs_ = xiw_theirs(cm);                                       \
		if (theirs_)                                                                       \
			return done(cm, XIW_REAL(function)(theirs_, ##__VA_ARGS__));               \
	} while (0)
#define PASS_ON(...) PASS_ON_THEN(xiw_theirs_done, __VA_ARGS__)
#define PASS_ON_AND_WAIT(...) PASS_ON_THEN(xiw_theirs_complete, __VA_ARGS__)

/* From now on the identifier is theirs. Returns 0, or -1 with errno: ENODEV, if there is no RNIC. */
int xiw_theirs_make(struct xiw_id *id);

/* The program has done with a real identifier; gives it to another channel, and returns 0 or negative errno. */
int xiw_theirs_destroy(struct xiw_id *id);
int xiw_theirs_move(struct xiw_id *id, struct xiw_cm_channel *to);

/* Fills list with the contexts of RNICs, which librdmacm opens once, and returns how many. */
unsigned int xiw_theirs_devices(struct ibv_context **list, unsigned int room);

/*
 * Channels: opens the real one if there is an RNIC; closes what waits for both; destroys the real one, when nobody can
 * be about to look there any more; takes an event of it (0: there is none, or -1).
 */
int xiw_theirs_open(struct xiw_cm_channel *c);
void xiw_theirs_close(struct xiw_cm_channel *c);
void xiw_theirs_free(struct xiw_cm_channel *c);
int xiw_theirs_take(struct xiw_cm_channel *c, struct xiw_told *to);

/* Waits for an event of ours or theirs. 1: one of ours was taken, 0: look again, negative errno. */
int xiw_theirs_wait(struct xiw_cm_channel *c, struct xiw_host_event *event);

#endif
