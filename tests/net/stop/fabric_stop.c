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

#define MOST 256u
#define FAST_MS 300
#define IS(cond)                                                                                   \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die("%s:%d: not so: %s", __FILE__, __LINE__, #cond);                       \
	} while (0)

struct param {
	uint64_t to;
	uint32_t stag, unused;
};

struct conn {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_mr *mr;
	unsigned int posted, told;
};

static struct conn conns[MOST];
static uint8_t *memory[MOST];
static unsigned int nconns, established;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;

static void post_buffer(struct conn *c)
{
	const unsigned int at = WATCHED / 2 + c->posted % BUFFERS * BUFFER;

	IS(!fi_recv(c->ep, memory[c - conns] + at, BUFFER, fi_mr_desc(c->mr), 0, c));
	c->posted++;
}

static void accept_one(struct fi_info *request)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT, .size = 64 };
	struct conn *c = &conns[nconns];
	struct param own = {};

	memory[nconns++] = watched_new();
	IS(!fi_mr_reg(domain, memory[nconns - 1], WATCHED, FI_REMOTE_WRITE | FI_RECV, 0, nconns, 0,
		      &c->mr, NULL));
	IS(!fi_cq_open(domain, &attr, &c->cq, NULL));
	IS(!fi_endpoint(domain, request, &c->ep, NULL));
	IS(!fi_ep_bind(c->ep, &eq->fid, 0));
	IS(!fi_ep_bind(c->ep, &c->cq->fid, FI_TRANSMIT | FI_RECV));
	IS(!fi_enable(c->ep));
	for (unsigned int i = 0; i < BUFFERS; i++)
		post_buffer(c);
	own.to = (uintptr_t)memory[nconns - 1];
	own.stag = (uint32_t)fi_mr_key(c->mr);
	IS(!fi_accept(c->ep, &own, sizeof(own)));
}

static void accept_all(unsigned int count)
{
	struct {
		struct fi_eq_cm_entry entry;
		uint8_t data[512];
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

static bool poll_one(struct conn *c, bool good)
{
	struct fi_cq_err_entry failed = {};
	struct fi_cq_entry one;
	ssize_t n = fi_cq_read(c->cq, &one, 1);

	IS(!good || n == 1 || n == -FI_EAGAIN);
	if (n == -FI_EAVAIL)
		n = fi_cq_readerr(c->cq, &failed, 0);
	c->told += n == 1;
	return n == 1;
}

static void await_traffic(bool writes)
{
	const unsigned int enough = writes ? 20 : 1;
	const uint64_t end = now_ms() + 20000;

	for (unsigned int i = 0; i < nconns; i++) {
		while (conns[i].told < enough) {
			for (unsigned int k = 0; k < nconns; k++)
				if (poll_one(&conns[k], true) && writes)
					post_buffer(&conns[k]);
			if (now_ms() > end)
				die("nothing comes");
		}
		if (writes)
			watched_await(memory[i]);
	}
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
	double since, took;
	unsigned int n;
	bool closes;

	if (argc < 5 || (n = (unsigned int)atoi(argv[4])) > MOST)
		die("fabric_stop CALL HOW PORT COUNT [FILE]");
	closes = !strcmp(argv[1], "fi_close");
	open_all(argv[3]);
	accept_all(n);
	await_traffic(!strcmp(argv[2], "writes"));
	if (argc > 5)
		await_file(argv[5]);
	since = now_s();
	for (unsigned int i = 0; i < n; i++)
		IS(!(closes ? fi_close(&conns[i].ep->fid) : fi_shutdown(conns[i].ep, 0)));
	took = now_s() - since;
	printf("%u calls in %.2f ms\n", n, took * 1e3);
	/* What an endpoint had posted completes even if it is closed. */
	for (unsigned int i = 0; i < n; i++) {
		while (poll_one(&conns[i], false))
			;
		IS(conns[i].told == conns[i].posted);
	}
	watched_reuse(memory, n);
	watched_check(memory, n);
	for (unsigned int i = 0; i < n; i++)
		IS(!fi_close(&conns[i].mr->fid));
	watched_unmap(memory, n);
	if (took * 1e3 > n * FAST_MS)
		die("each call takes %.1f ms", took * 1e3 / n);
	return 0;
}
