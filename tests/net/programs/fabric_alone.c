// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What one end of the libfabric provider can see alone. */
#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>

#include "tests/net/programs/fabric.h"

#define MR_SCALABLE 2 /* FI_MR_SCALABLE of libfabric 1; libfabric 2 warns of the name */

static uint8_t octet;

static int info_for(struct fi_info *h, uint32_t version)
{
	struct fi_info *info;
	int err = fi_getinfo(version, NULL, NULL, 0, h, &info);

	if (!err)
		fi_freeinfo(info);
	return err;
}

/* What is asked for, and satisfied, is what is told; each attribute has the capabilities of its own kind. */
static void local_echo(struct fi_info *h)
{
	struct fi_info *info;

	h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	MUST(fi_getinfo(fi_version(), NULL, NULL, 0, h, &info));
	NEED(info->domain_attr->control_progress == FI_PROGRESS_MANUAL);
	NEED(info->domain_attr->data_progress == FI_PROGRESS_MANUAL);
	NEED(info->caps & FI_LOCAL_COMM && info->domain_attr->caps & FI_REMOTE_COMM);
	NEED(!((info->tx_attr->caps | info->rx_attr->caps) & (FI_LOCAL_COMM | FI_REMOTE_COMM)));
	fi_freeinfo(info);
}

static void local_info(void)
{
	struct fi_fabric_attr fabric = { .prov_name = (char *)"xiwarp" };
	/* ofi_rxm's have no attributes, and each mode. */
	struct fi_info bare = { .mode = ~0ull, .fabric_attr = &fabric };
	struct fi_info *h = hints();

	NEED(!info_for(&bare, fi_version()));
	NEED(info_for(h, FI_VERSION(1, 4)) == -FI_ENODATA);
	NEED(!info_for(h, FI_VERSION(1, 5)));
	h->caps |= FI_ATOMIC;
	NEED(info_for(h, fi_version()) == -FI_ENODATA);
	h->caps = FI_MSG | FI_RMA;
	h->mode = 0;
	h->domain_attr->cq_data_size = 8;
	NEED(info_for(h, fi_version()) == -FI_ENODATA);
	/* Writes can have data for the peer's completion; messages have none. */
	h->mode = FI_RX_CQ_DATA;
	NEED(!info_for(h, fi_version()));
	h->caps = FI_MSG;
	NEED(info_for(h, fi_version()) == -FI_ENODATA);
	h->caps = FI_MSG | FI_RMA;
	h->domain_attr->cq_data_size = 0;
	h->domain_attr->mr_mode = MR_SCALABLE;
	NEED(info_for(h, fi_version()) == -FI_ENODATA);
	h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	local_echo(h);
	fi_freeinfo(h);
	/* A later libfabric reads more than this one's headers have: 208 octets of a domain's attributes. */
	NEED(malloc_usable_size(end.info->domain_attr) >= 208 + 64);
	NEED(malloc_usable_size(end.info) >= sizeof(*end.info) + 64);
	NEED(end.info->domain_attr->cq_data_size == 8 && end.info->mode == FI_RX_CQ_DATA);
	pass("info");
}

/* Whoever leaves it to the provider learns what it is: ofi_rxm waits for several of them at once. */
static void local_wait_objects(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	enum fi_wait_obj wait;
	struct fid_eq *eq;
	struct fid_cq *cq;
	int fd;

	MUST(fi_eq_open(end.fabric, &eq_attr, &eq, NULL));
	MUST(fi_control(&eq->fid, FI_GETWAITOBJ, &wait));
	NEED(wait == FI_WAIT_FD && !fi_control(&eq->fid, FI_GETWAIT, &fd) && fd >= 0);
	MUST(fi_close(&eq->fid));
	MUST(fi_cq_open(end.domain, &cq_attr, &cq, NULL));
	MUST(fi_control(&cq->fid, FI_GETWAITOBJ, &wait));
	NEED(wait == FI_WAIT_FD && !fi_control(&cq->fid, FI_GETWAIT, &fd) && fd >= 0);
	MUST(fi_close(&cq->fid));
	cq_attr.wait_obj = FI_WAIT_NONE;
	MUST(fi_cq_open(end.domain, &cq_attr, &cq, NULL));
	MUST(fi_control(&cq->fid, FI_GETWAITOBJ, &wait));
	NEED(wait == FI_WAIT_NONE && fi_control(&cq->fid, FI_GETWAIT, &fd) == -FI_ENODATA);
	MUST(fi_close(&cq->fid));
	pass("wait-objects");
}

/* An active endpoint takes the address over from a passive one, which fi_getinfo() was told of. */
static void local_handle(void)
{
	struct fi_info *h = hints(), *info;
	struct sockaddr_in bound, name;
	size_t len = sizeof(bound);
	struct fid_pep *pep;

	MUST(fi_passive_ep(end.fabric, end.info, &pep, NULL));
	memcpy(&name, end.info->src_addr, sizeof(name));
	name.sin_port = 0;
	MUST(fi_setname(&pep->fid, &name, sizeof(name)));
	MUST(fi_getname(&pep->fid, &bound, &len));
	NEED(bound.sin_port && bound.sin_addr.s_addr == name.sin_addr.s_addr);
	h->handle = &pep->fid;
	MUST(fi_getinfo(fi_version(), NULL, NULL, 0, h, &info));
	NEED(info->handle == &pep->fid);
	open_endpoint(info, NULL);
	MUST(fi_close(&pep->fid));
	MUST(fi_getname(&end.ep->fid, &name, &len));
	NEED(!memcmp(&name, &bound, sizeof(name)));
	close_endpoint();
	fi_freeinfo(info);
	fi_freeinfo(h);
	pass("handle");
}

static void local_absent(void)
{
	struct fi_av_attr av_attr = {};
	struct fi_cntr_attr cntr_attr = {};
	struct fid_cntr *cntr;
	struct fid_av *av;
	struct {
		size_t size;
		void *slot[4];
	} * flow;
	size_t size, len = sizeof(size);
	void *ops;

	open_endpoint(end.info, NULL);
	NEED(fi_av_open(end.domain, &av_attr, &av, NULL) == -FI_ENOSYS);
	NEED(fi_cntr_open(end.domain, &cntr_attr, &cntr, NULL) == -FI_ENOSYS);
	NEED(fi_atomic(end.ep, &octet, 1, NULL, 0, 0, 0, FI_UINT64, FI_SUM, NULL) == -FI_ENOSYS);
	NEED(fi_cancel(&end.ep->fid, NULL) == -FI_ENOSYS);
	NEED(fi_open_ops(&end.domain->fid, "nobody's", 0, &ops, NULL) == -FI_ENOSYS);
	MUST(fi_open_ops(&end.domain->fid, "ofix_flow_ctrl_v1", 0, (void **)&flow, NULL));
	NEED(flow->size == sizeof(*flow));
	for (int i = 0; i < 4; i++)
		NEED(flow->slot[i]);
	MUST(fi_getopt(&end.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len));
	NEED(size >= 24);
	NEED(fi_send(end.ep, &octet, 1, NULL, 0, NULL) == -FI_ENOTCONN);
	/* What is posted completes also if there was no connection. */
	MUST(fi_recv(end.ep, &octet, 1, NULL, 0, &octet));
	close_endpoint();
	NEED(failed(&octet) == FI_ECANCELED);
	pass("absent");
}

/* An event that was peeked at, refused for want of room, or that is a failure, still wakes everybody who waits. */
static bool readable(void)
{
	struct pollfd p = { .events = POLLIN };

	MUST(fi_control(&end.eq->fid, FI_GETWAIT, &p.fd));
	return poll(&p, 1, 0) == 1;
}

static void local_events(void)
{
	struct fi_eq_entry in = { .context = &in }, out;
	struct fi_eq_cm_entry entry;
	struct sockaddr_in nobody;
	uint32_t what;

	MUST(fi_eq_write(end.eq, FI_NOTIFY, &in, sizeof(in), 0));
	NEED(fi_eq_read(end.eq, &what, &out, 1, 0) == -FI_ETOOSMALL && readable());
	NEED(fi_eq_sread(end.eq, &what, &out, sizeof(out), -1, FI_PEEK) == sizeof(out));
	NEED(readable());
	NEED(fi_eq_read(end.eq, &what, &out, sizeof(out), 0) == sizeof(out));
	NEED(what == FI_NOTIFY && out.context == &in && !readable());
	NEED(fi_eq_sread(end.eq, &what, &out, sizeof(out), 0, 0) == -FI_EAGAIN);
	/* Nobody listens there. */
	memcpy(&nobody, end.info->src_addr, sizeof(nobody));
	nobody.sin_port = htons(2);
	open_endpoint(end.info, NULL);
	MUST(fi_connect(end.ep, &nobody, NULL, 0));
	NEED(fi_eq_sread(end.eq, &what, &out, sizeof(out), TIMEOUT_MS, 0) == -FI_EAVAIL);
	NEED(readable());
	NEED(event(&entry, NULL, NULL) == -FI_ECONNREFUSED && entry.fid == &end.ep->fid);
	close_endpoint();
	pass("events");
}

/* What is not mapped, or not so that it can be written where that is asked for, is no memory for a peer. */
static void local_memory(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_mr *mr;

	NEED(at != MAP_FAILED && !munmap(at + page, page));
	NEED(fi_mr_reg(end.domain, at, 2 * page, FI_SEND, 0, 0, 0, &mr, NULL) == -FI_EFAULT);
	NEED(fi_mr_reg(end.domain, at, page, FI_RECV, 0, 0, 0, &mr, NULL) == -FI_EFAULT);
	NEED(fi_mr_reg(end.domain, at, 1, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL) == -FI_EFAULT);
	MUST(fi_mr_reg(end.domain, at, page, FI_REMOTE_READ, 0, 0, 0, &mr, NULL));
	MUST(fi_close(&mr->fid));
	munmap(at, page);
	pass("memory");
}

void alone(const char *host)
{
	open_end(host, "1", FI_SOURCE);
	local_info();
	local_wait_objects();
	local_handle();
	local_absent();
	local_memory();
	local_events();
	local_requests();
	close_end();
}
