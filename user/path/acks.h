/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_PATH_ACKS_H
#define XIW_PATH_ACKS_H

#include "core/engine.h"

/*
 * An application that was told something, and was quick before, may answer, and then the answer carries the ACK: it
 * waits until the engine has nothing else to do. Only few segments wait so, as a peer that sends many needs its ACKs,
 * and none for longer than a delayed ACK (RFC 5681 section 4.2).
 */
bool xiw_answer_may_come(const struct xiw_conn *c);

/* An ACK need not say again what data of the socket has carried since: an acknowledgement, and a window. */
void xiw_acks_note_said(struct xiw_conn *c);

/* Puts the ACKs that are due into the ring, and sets the timer for a delayed one. */
void xiw_acknowledge(struct xiw_conn *c);

/* The same for an ACK that has waited for an answer, unless one has carried it. */
void xiw_acknowledge_late(struct xiw_conn *c);

/* Sends a segment that the peer answers with one without data, whatever it has got. Only while a stretch runs. */
void xiw_acks_elicit(struct xiw_conn *c);

#endif
