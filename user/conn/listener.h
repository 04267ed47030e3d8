/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_LISTENER_H
#define XIW_CONN_LISTENER_H

#include "core/engine.h"

/* Posts the listener's multishot accept. */
void xiw_accept_post(struct xiw_listener *l);

/*
 * Opens a socket that is bound, with the options that the library needs, and notes in `was` what these were. `shared`:
 * others with SO_REUSEPORT listen there already. Returns the descriptor or an error.
 */
int xiw_listener_bound(const struct xiw_engine *e, const struct xiw_conn_opts *opts,
		       const struct sockaddr *addr, socklen_t len, bool shared,
		       struct xiw_sock_was *was);

/* It begins to listen. backlog 0: the default. */
int xiw_listener_listen(int fd, int backlog);

/* Both: opens a socket that listens. */
int xiw_listener_socket(const struct xiw_engine *e, const struct xiw_conn_opts *opts,
			const struct sockaddr *addr, socklen_t len, bool shared,
			struct xiw_sock_was *was);

/*
 * Makes a listener without a socket, with options that are complete but for the limits, for which the engine's are
 * taken. xiw_listener_begin() begins to accept, once it has one. `crowd`: if peers have shares, where they are counted;
 * NULL: in a crowd of its own. Returns NULL if there is no memory.
 */
struct xiw_listener *xiw_listener_new(struct xiw_engine *e, const struct xiw_conn_opts *opts,
				      struct xiw_crowd *crowd);
void xiw_listener_begin(struct xiw_listener *l);
/* Frees a listener without a socket. */
void xiw_listener_discard(struct xiw_listener *l);

/* Closes all listeners of an engine. The application still has to free them. */
void xiw_listeners_end(struct xiw_engine *e);

/*
 * Takes closed listeners out of an engine that is being freed, and frees those that the application has freed.
 */
void xiw_listeners_detach(struct xiw_engine *e);

/* Frees a listener that the application has freed, when its accept has ended. */
void xiw_listener_forget(struct xiw_listener *l);

/*
 * Tells the application that a connection could not be accepted: once for each cause until one is accepted. `l`
 * may be NULL.
 */
void xiw_not_accepted(struct xiw_listener *l, int err);

/*
 * Tells the application that a limit of unstarted connections is reached: once, and again only after there was
 * room for as long as a startup may take.
 */
void xiw_listener_crowded(struct xiw_listener *l);

/*
 * A connection is refused because its peer has its share. Counts it, and tells the application: once in as long as a
 * startup may take.
 */
void xiw_listener_refused(struct xiw_listener *l, const struct sockaddr_storage *peer);

/* Posts the accepts whose retry is due. */
void xiw_accept_again(struct xiw_engine *e);

#endif
