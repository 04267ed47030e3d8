/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* programs/fabric.h - an end of the tests of the libfabric provider: what both ends share. */
#ifndef XIW_TESTS_NET_FABRIC_H
#define XIW_TESTS_NET_FABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "tests/net/lib/common.h"

#define TIMEOUT_MS 20000
#define OCTETS (1u << 20)
#define DATA 0x123456789abcdef0ull

/* What an end tells the other one of its memory. */
struct place {
	uint64_t addr, key;
};

struct end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	uint8_t *memory; /* OCTETS, for the peer */
	struct place peer;
	/* Of the next endpoints: how they are bound to the queue besides FI_RECV, and rx_attr->size, 0: as it is. */
	uint64_t recv_flags;
	size_t recv_size;
	uint32_t format; /* of addresses; 0: FI_SOCKADDR_IN */
};

extern struct end end;

/* Ends the program, as `call` has failed. */
#define MUST(call)                                                                                 \
	do {                                                                                       \
		ssize_t _rc = (call);                                                              \
		if (_rc < 0)                                                                       \
			die("%s:%d: %s: %s", __FILE__, __LINE__, #call, fi_strerror((int)-_rc));   \
	} while (0)
#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die("%s:%d: not so: %s", __FILE__, __LINE__, #cond);                       \
	} while (0)

struct fi_info *hints(void);

/* Opens everything but an endpoint. */
void open_end(const char *node, const char *service, uint64_t flags);
void open_endpoint(struct fi_info *info, struct fid_ep *srx);
void close_endpoint(void);
void close_end(void);

/* Awaits an event and returns it. If it is a failure, its code is returned, negative; `data` gets up to 64 octets. */
int event(struct fi_eq_cm_entry *entry, void *data, size_t *len);

/* Awaits an event of the endpoint. */
void await(int what);

/* Accepts the next request, whose private data is to be `param`, and asks for it. */
void accept_next(const char *param, struct fid_ep *srx);
void connect_as(const char *param);

/* Awaits the completion of `context` with these flags, and returns it. */
struct fi_cq_data_entry done(void *context, uint64_t flags);

/* Awaits a failure of `context`, and returns its code. */
int failed(void *context);

/* Sends a few octets, or awaits them. */
void say(const void *data, size_t len);
void hear(void *data, size_t len);
void pass(const char *name);

/* fabric_selective.c: both ends of its case. With srx, its buffers, of which it has room for four. */
void serve_selective(const char *param, struct fid_ep *srx);
void connect_selective(const char *param);

/* The cases of one end alone (fabric_alone.c, fabric_requests.c). */
void alone(const char *host);
void local_requests(void);

#endif
