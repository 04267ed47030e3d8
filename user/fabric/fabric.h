/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fabric/fabric.h - the objects of the libfabric provider. Each is what libfabric calls a fid, with an object of
 * host/host.h behind it. An application has pointers to the fids, which are therefore the first members.
 *
 * Threads: as host/host.h. FI_THREAD_SAFE is offered. Functions return 0 or more, or a negative code of libfabric's,
 * which has errno's numbers up to 255.
 */
#ifndef XIW_FABRIC_FABRIC_H
#define XIW_FABRIC_FABRIC_H

#include <netinet/in.h>
#include <pthread.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "host/host.h"

#define XIW_FI_FABRIC_NAME "Ethernet-iWARP"
#define XIW_FI_IOV_MAX 4u
#define XIW_FI_DSCP_MAX 63u
#define XIW_FI_READS 64u /* RDMA Reads outstanding in each direction */

struct xiw_fi_fabric {
	struct fid_fabric fid;
	unsigned int users;
	struct xiw_host_eq
		*unbound; /* of listeners that have no event queue of the application's yet */
};

struct xiw_fi_eq {
	struct fid_eq fid;
	struct xiw_fi_fabric *fabric;
	struct xiw_host_eq *host;
	enum fi_wait_obj wait;
	bool writable; /* FI_WRITE: by fi_eq_write() */
	unsigned int users;
	pthread_mutex_t lock; /* of the rest, and held by who takes from the host layer's queue */
	uint8_t err_data[XIW_PRIVATE_DATA_MAX];
};

struct xiw_fi_domain {
	struct fid_domain fid;
	struct xiw_fi_fabric *fabric;
	unsigned int users;
	uint32_t pd;
	ssize_t (*send_credits)(struct fid_ep *ep, uint64_t credits);
};

struct xiw_fi_cq {
	struct fid_cq fid;
	struct xiw_fi_domain *domain;
	struct xiw_host_cq *host;
	struct xiw_host_eq *wake; /* NULL: FI_WAIT_NONE */
	enum fi_wait_obj wait;
	size_t entry_size;
	unsigned int users; /* endpoints bound to it, once for each direction */
	unsigned int sleepers;
	pthread_mutex_t lock; /* of the rest */
	unsigned int first, count, room;
	struct xiw_host_wc *held;
	struct xiw_fi_ep *gone, *last_gone; /* xiw_fi_cq_bury(), the oldest first */
	unsigned int ngone;
};

/* A request to connect, from FI_CONNREQ until it is accepted or rejected: info->handle. */
struct xiw_fi_request {
	struct fid fid;
	struct xiw_host_request *host;
	struct xiw_fi_request *next;
};

/* fabric/request.c. NULL: no memory. */
struct xiw_fi_request *xiw_fi_request_new(struct xiw_host_request *host);
/* Is it one that is neither accepted nor rejected? The program may have any pointer. */
bool xiw_fi_request_is(const void *handle);
/* The same, and it is the caller's from now on, to be freed, or given back; NULL: it is none. */
struct xiw_fi_request *xiw_fi_request_take(const void *handle);
void xiw_fi_request_give(struct xiw_fi_request *r);

struct xiw_fi_pep {
	struct fid_pep fid;
	struct xiw_fi_fabric *fabric;
	struct xiw_fi_eq *eq;
	struct fi_info *info; /* of the requests */
	struct xiw_host_listener *listener;
	struct sockaddr_storage addr;
	socklen_t addr_len; /* 0: any */
	bool listens;
	int backlog; /* 0: the default */
};

/* Buffers that endpoints share. */
struct xiw_fi_srx {
	struct fid_ep fid;
	struct xiw_fi_domain *domain;
	struct xiw_host_srq *host;
	unsigned int users; /* endpoints bound to it */
	uint64_t recv_flags;
};

/* Sends are held back while the peer has no buffers for them (fabric/flow.c). */
struct xiw_fi_flow {
	pthread_mutex_t lock;
	bool enabled;
	uint64_t peer;	    /* Sends that the peer has buffers for */
	int64_t fresh;	    /* buffers posted that the peer has not been told of */
	uint64_t threshold; /* it is told of so many at once */
};

struct xiw_fi_ep {
	struct fid_ep fid;
	struct xiw_fi_domain *domain;
	struct xiw_fi_eq *eq;
	struct xiw_fi_cq *send_cq, *recv_cq;
	struct xiw_fi_srx *srx;
	const void *request; /* the handle of the one to be accepted, unless that is gone */
	struct xiw_host_qp *qp;		/* NULL: not enabled */
	/* Only those with FI_COMPLETION complete: operations, and messages that come into buffers. */
	bool selective, recv_selective;
	bool immediate;		       /* FI_REMOTE_CQ_DATA is wanted */
	uint64_t op_flags, recv_flags; /* of functions that are given none */
	unsigned int send_depth, recv_depth;
	uint8_t traffic_class;
	struct sockaddr_storage local, remote;
	socklen_t local_len, remote_len; /* 0: any; not known */
	struct xiw_fi_flow flow;
	struct xiw_fi_ep *next_gone;
};

/* ---- common.c ---------------------------------------------------------------------------------------------- */

/* What is not there: callers of libfabric call every slot of a table without a look. */
long xiw_fi_none(void);
#define XIW_FI_NONE ((void *)xiw_fi_none)

/* A table of which nothing is there, for whatever kind of table. */
#define XIW_FI_SLOTS 32
extern struct xiw_fi_nothing {
	size_t size;
	void *slot[XIW_FI_SLOTS];
} xiw_fi_nothing;

/* The time at which a wait of timeout_ms ends; a wait for fd until then: false if the time is over or a signal came. */
int64_t xiw_fi_deadline(int timeout_ms);
bool xiw_fi_sleep(int fd, int64_t deadline);

/* What FI_GETWAIT and FI_GETWAITOBJ ask for. */
int xiw_fi_wait_control(enum fi_wait_obj wait, struct xiw_host_eq *eq, int command, void *arg);

/* Of completion vectors there is one. */
bool xiw_fi_vector_fits(uint64_t flags, int vector);

socklen_t xiw_fi_addr_len(const void *addr);

/* As getname: copies as much as there is room for. */
int xiw_fi_give_addr(const struct sockaddr_storage *addr, socklen_t addr_len, void *to,
		     size_t *len);

/*
 * Private Data of applications has its length in an octet before it, as libfabric's verbs provider has it, so that
 * programs on both understand each other. All of it, with what the host layer adds, is not more than librdmacm takes.
 */
#define XIW_FI_PARAM_MAX 246u
struct xiw_fi_frame {
	size_t len;
	uint8_t octets[1 + XIW_FI_PARAM_MAX];
};
int xiw_fi_frame(struct xiw_fi_frame *frame, const void *param, size_t len);

/* What the peer's application has said, and how long that is. If it is no application of libfabric's, it is all. */
size_t xiw_fi_unframe(const struct xiw_host_event *event, const uint8_t **data);

/* FI_OPT_CM_DATA_SIZE. */
int xiw_fi_getopt(fid_t fid, int level, int name, void *value, size_t *len);

/* ---- info.c ------------------------------------------------------------------------------------------------ */

int xiw_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info);

/* False: an endpoint, or shared receive context, cannot be as these attributes say. */
bool xiw_fi_ep_fits(const struct fi_info *info);
bool xiw_fi_rx_fits(const struct fi_rx_attr *attr);

/*
 * A copy that fi_freeinfo() of any libfabric can free and fi_dupinfo() can read: each part has zeros behind it, because
 * a later libfabric has more members. NULL: no memory.
 */
struct fi_info *xiw_fi_info_copy(const struct fi_info *info);
int xiw_fi_info_set_addr(void **to, size_t *to_len, const void *addr, size_t len);
/*
 * The info of a listener with a wildcard names some interface as its domain. For a connection that came to `local`, it
 * is the interface with that address. Returns a negative errno without changing anything.
 */
int xiw_fi_info_set_domain(struct fi_info *info, const struct sockaddr_storage *local);

/* ---- one source each ----------------------------------------------------------------------------------------- */

int xiw_fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		   void *context);
int xiw_fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		   void *context);
int xiw_fi_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		    void *context);
int xiw_fi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		   void *context);
int xiw_fi_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
		    void *context);

int xiw_fi_eq_trywait(const struct xiw_fi_eq *eq);
int xiw_fi_cq_trywait(struct xiw_fi_cq *cq);

/*
 * Takes all completions from the host layer, before an endpoint goes that some of them are of. Returns whether they
 * tell of messages that have come to it.
 */
bool xiw_fi_cq_keep(struct xiw_fi_cq *cq, const struct xiw_fi_ep *ep);

/*
 * Leaves the memory of a closed endpoint, whose queue pair is gone, until the queue goes, or until its messages were
 * read and many others have been closed so since. When ofi_rxm handles a message that is left in the queue, it posts
 * the message's buffer again, to the endpoint that it has closed.
 */
void xiw_fi_cq_bury(struct xiw_fi_cq *cq, struct xiw_fi_ep *ep);

/* Removes the events of an endpoint that goes. Requests among them are rejected. */
void xiw_fi_eq_purge(struct xiw_fi_eq *eq, struct fid *fid);

/* ---- work --------------------------------------------------------------------------------------------------- */

/* The wr_id of operations of which nothing is told, not even a failure: fi_inject() has no context to tell it with. */
extern const char xiw_fi_silent;
#define XIW_FI_SILENT ((uintptr_t)&xiw_fi_silent)

/* An operation, as the functions of msg.c and rma.c are given it. */
struct xiw_fi_op {
	enum xiw_rdma_kind kind;
	bool silent; /* there is no completion */
	uint64_t flags;
	void *context;
	uint64_t addr, key, data;
};

ssize_t xiw_fi_post(struct xiw_fi_ep *ep, const struct xiw_fi_op *op, const struct iovec *iov,
		    size_t count);

extern struct fi_ops_mr xiw_fi_mr_ops;
extern struct fi_ops_msg xiw_fi_msg_ops, xiw_fi_srx_msg_ops;
extern struct fi_ops_rma xiw_fi_rma_ops;

/* Marks ofi_rxm's messages about credits: FI_PRIORITY of libfabric 1, and its private one of libfabric 2. */
#define XIW_FI_PRIORITY (1ull << 22 | 1ull << 62)

/* ---- flow.c ------------------------------------------------------------------------------------------------- */

void xiw_fi_flow_init(struct xiw_fi_flow *flow);
int xiw_fi_flow_open(const char *name, uint64_t flags, void **ops);

/* Takes a credit for a Send; false: the peer has no buffer. */
bool xiw_fi_flow_take(struct xiw_fi_ep *ep, uint64_t flags);
void xiw_fi_flow_return(struct xiw_fi_ep *ep);

/* `posted` more buffers are there. Tells the peer when that is due. */
void xiw_fi_flow_posted(struct xiw_fi_ep *ep, unsigned int posted);

#endif
