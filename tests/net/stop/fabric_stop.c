// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fabric_stop CALL HOW PORT COUNT [FILE]: as verbs_stop, as a program of libfabric: fi_shutdown or fi_close.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "tests/net/lib/common.h"
#include "tests/net/stop/watched.h"

static struct {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_mr *mr;
} conns[MOST];

static unsigned int established;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;

static void post_buffer(unsigned int i)
{
	IS(!fi_recv(conns[i].ep, watched_buffer(i), BUFFER, fi_mr_desc(conns[i].mr), 0, NULL));
}

static void accept_one(struct fi_info *request)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT, .size = 64 };
	const unsigned int i = watched_new();
	struct fid_ep *ep;
	struct param own = { .to = (uintptr_t)watched[i].octets };

	IS(!fi_mr_reg(domain, watched[i].octets, WATCHED, FI_REMOTE_WRITE | FI_RECV, 0, nwatched, 0,
		      &conns[i].mr, NULL));
	IS(!fi_cq_open(domain, &attr, &conns[i].cq, NULL));
	IS(!fi_endpoint(domain, request, &ep, NULL));
	IS(!fi_ep_bind(ep, &eq->fid, 0));
	IS(!fi_ep_bind(ep, &conns[i].cq->fid, FI_TRANSMIT | FI_RECV));
	IS(!fi_enable(ep));
	conns[i].ep = ep;
	for (unsigned int n = 0; n < BUFFERS; n++)
		post_buffer(i);
	own.stag = (uint32_t)fi_mr_key(conns[i].mr);
	IS(!fi_accept(ep, &own, sizeof(own)));
}

static void accept_all(unsigned int count)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t octets[sizeof(struct fi_eq_cm_entry) + 512];
	} e;
	uint32_t what;

	while (established < count) {
		IS(fi_eq_sread(eq, &what, &e, sizeof(e), 20000, 0) > 0);
		if (what == FI_CONNREQ) {
			accept_one(e.entry.info);
			fi_freeinfo(e.entry.info);
		} else {
			IS(what == FI_CONNECTED);
			established++;
		}
	}
}

static bool poll_one(unsigned int i, bool good)
{
	struct fi_cq_err_entry failed = {};
	struct fi_cq_entry one;
	ssize_t n = fi_cq_read(conns[i].cq, &one, 1);

	IS(!good || n == 1 || n == -FI_EAGAIN);
	if (n == -FI_EAVAIL)
		n = fi_cq_readerr(conns[i].cq, &failed, 0);
	watched[i].told += n == 1;
	return n == 1;
}

static void take_one(unsigned int i, bool again)
{
	if (poll_one(i, true) && again)
		post_buffer(i);
}

static void shut_down(unsigned int i)
{
	IS(!fi_shutdown(conns[i].ep, 0));
}

static void close_ep(unsigned int i)
{
	IS(!fi_close(&conns[i].ep->fid));
}

static void open_all(const char *port)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_pep *pep;

	IS(hints && (hints->fabric_attr->prov_name = strdup("xiwarp")));
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	IS(!fi_getinfo(FI_VERSION(1, 17), NULL, port, FI_SOURCE, hints, &info));
	IS(!fi_fabric(info->fabric_attr, &fabric, NULL));
	IS(!fi_domain(fabric, info, &domain, NULL));
	IS(!fi_eq_open(fabric, &attr, &eq, NULL));
	IS(!fi_passive_ep(fabric, info, &pep, NULL));
	IS(!fi_pep_bind(pep, &eq->fid, 0) && !fi_listen(pep));
	fi_freeinfo(hints);
}

int main(int argc, char **argv)
{
	unsigned int n;

	if (argc < 5 || (n = (unsigned int)atoi(argv[4])) > MOST)
		die("fabric_stop CALL HOW PORT COUNT [FILE]");
	open_all(argv[3]);
	accept_all(n);
	watched_await_traffic(!strcmp(argv[2], "writes"), take_one);
	if (argc > 5)
		await_file(argv[5]);
	watched_end_all(!strcmp(argv[1], "fi_close") ? close_ep : shut_down);
	/* What an endpoint had posted completes even if it is closed. */
	for (unsigned int i = 0; i < n; i++) {
		while (poll_one(i, false))
			;
		IS(watched[i].told == watched[i].posted);
	}
	watched_check();
	for (unsigned int i = 0; i < n; i++)
		IS(!fi_close(&conns[i].mr->fid));
	watched_unmap();
	return 0;
}
