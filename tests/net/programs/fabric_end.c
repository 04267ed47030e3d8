// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/programs/fabric.h"

struct end end;

struct fi_info *hints(void)
{
	struct fi_info *h = fi_allocinfo();

	if (!h)
		die("no memory");
	h->caps = FI_MSG | FI_RMA;
	h->mode = FI_RX_CQ_DATA;
	h->addr_format = end.format ? end.format : FI_SOCKADDR_IN;
	h->ep_attr->type = FI_EP_MSG;
	h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	h->fabric_attr->prov_name = strdup("xiwarp");
	return h;
}

void open_end(const char *node, const char *service, uint64_t flags)
{
	struct fi_info *h = hints();
	struct fi_eq_attr eq = { .flags = FI_WRITE, .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq = { .wait_obj = FI_WAIT_FD,
				 .format = FI_CQ_FORMAT_DATA,
				 .size = 1u << 18 };

	MUST(fi_getinfo(FI_VERSION(1, 17), node, service, flags, h, &end.info));
	fi_freeinfo(h);
	MUST(fi_fabric(end.info->fabric_attr, &end.fabric, NULL));
	MUST(fi_domain(end.fabric, end.info, &end.domain, NULL));
	MUST(fi_eq_open(end.fabric, &eq, &end.eq, NULL));
	MUST(fi_cq_open(end.domain, &cq, &end.cq, NULL));
	end.memory = calloc(1, OCTETS);
	NEED(end.memory);
	MUST(fi_mr_reg(end.domain, end.memory, OCTETS, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0,
		       &end.mr, NULL));
}

/* A queue of another domain is refused. */
static void bind_foreign(struct fi_info *info)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA };
	struct fid_domain *other;
	struct fid_cq *cq;

	MUST(fi_domain(end.fabric, info, &other, NULL));
	MUST(fi_cq_open(other, &attr, &cq, NULL));
	NEED(fi_ep_bind(end.ep, &cq->fid, FI_TRANSMIT | FI_RECV) == -FI_EINVAL);
	MUST(fi_close(&cq->fid));
	MUST(fi_close(&other->fid));
}

void open_endpoint(struct fi_info *info, struct fid_ep *srx)
{
	if (end.recv_size)
		info->rx_attr->size = end.recv_size;
	MUST(fi_endpoint(end.domain, info, &end.ep, NULL));
	MUST(fi_ep_bind(end.ep, &end.eq->fid, 0));
	bind_foreign(info);
	MUST(fi_ep_bind(end.ep, &end.cq->fid, FI_TRANSMIT));
	MUST(fi_ep_bind(end.ep, &end.cq->fid, FI_RECV | end.recv_flags));
	if (srx)
		MUST(fi_ep_bind(end.ep, &srx->fid, 0));
	/* What an endpoint is bound to refuses to go, before and after it is enabled. */
	NEED(fi_close(&end.eq->fid) == -FI_EBUSY);
	NEED(fi_close(&end.cq->fid) == -FI_EBUSY);
	NEED(!srx || fi_close(&srx->fid) == -FI_EBUSY);
	MUST(fi_enable(end.ep));
}

void close_endpoint(void)
{
	MUST(fi_close(&end.ep->fid));
	end.ep = NULL;
}

/* Each object in use refuses to go. */
void close_end(void)
{
	NEED(fi_close(&end.domain->fid) == -FI_EBUSY);
	NEED(fi_close(&end.fabric->fid) == -FI_EBUSY);
	MUST(fi_close(&end.mr->fid));
	MUST(fi_close(&end.cq->fid));
	MUST(fi_close(&end.eq->fid));
	MUST(fi_close(&end.domain->fid));
	MUST(fi_close(&end.fabric->fid));
	fi_freeinfo(end.info);
	free(end.memory);
}

int event(struct fi_eq_cm_entry *entry, void *data, size_t *len)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t octets[sizeof(struct fi_eq_cm_entry) + 64];
	} buf;
	struct fi_eq_err_entry err = {};
	uint32_t what;
	/* An event that was peeked at is there still. */
	ssize_t n = fi_eq_sread(end.eq, &what, &buf, sizeof(buf), TIMEOUT_MS, FI_PEEK);

	if (n == -FI_EAVAIL) {
		err.err_data = data;
		err.err_data_size = data ? *len : 0;
		MUST(fi_eq_readerr(end.eq, &err, 0));
		if (len)
			*len = err.err_data_size;
		entry->fid = err.fid;
		return -err.err;
	}
	MUST(n);
	n = fi_eq_read(end.eq, &what, &buf, sizeof(buf), 0);
	MUST(n);
	*entry = buf.entry;
	if (data) {
		n -= (ssize_t)sizeof(buf.entry);
		NEED(n >= 0 && (size_t)n <= *len);
		memcpy(data, buf.octets + sizeof(buf.entry), (size_t)n);
		*len = (size_t)n;
	}
	return (int)what;
}

struct fi_cq_data_entry done(void *context, uint64_t flags)
{
	struct fi_cq_data_entry c;
	struct fi_cq_err_entry err = {};
	ssize_t n = fi_cq_sread(end.cq, &c, 1, NULL, TIMEOUT_MS);

	if (n == -FI_EAVAIL) {
		MUST(fi_cq_readerr(end.cq, &err, 0));
		die("a completion with an error: %s, %s", fi_strerror(err.err),
		    fi_cq_strerror(end.cq, err.prov_errno, NULL, NULL, 0));
	}
	MUST(n);
	if (c.op_context != context || c.flags != flags)
		die("not the completion: context %p for %p, flags %llx for %llx", c.op_context,
		    context, (unsigned long long)c.flags, (unsigned long long)flags);
	return c;
}

int failed(void *context)
{
	struct fi_cq_data_entry c;
	struct fi_cq_err_entry err = {};

	NEED(fi_cq_sread(end.cq, &c, 1, NULL, TIMEOUT_MS) == -FI_EAVAIL);
	/* It stays until it is read as a failure. */
	NEED(fi_cq_read(end.cq, &c, 1) == -FI_EAVAIL);
	NEED(fi_cq_readerr(end.cq, &err, 0) == 1);
	NEED(err.op_context == context);
	return err.err;
}

void say(const void *data, size_t len)
{
	MUST(fi_send(end.ep, data, len, NULL, 0, (void *)data));
	done((void *)data, FI_SEND | FI_MSG);
}

void hear(void *data, size_t len)
{
	MUST(fi_recv(end.ep, data, len, NULL, 0, data));
	NEED(done(data, FI_RECV | FI_MSG).len == len);
}

void pass(const char *name)
{
	printf("PASS %s\n", name);
	fflush(stdout);
}
