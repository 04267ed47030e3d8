// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The libfabric provider, called as an application calls it, for what fi_pingpong and MPI do not use.
 *
 *   fabric serve|connect ADDRESS PORT   two ends; the one that connects prints a line for each case
 *   fabric local ADDRESS                what one end can see alone
 */
#include <poll.h>

#include "tests/net/programs/fabric.h"

#define MESSAGE 4096u
#define WRITTEN (OCTETS / 2)

static uint8_t octets[OCTETS];
static struct fid_pep *pep;

/* ---- connections --------------------------------------------------------------------------------------------- */

/* The next connection may be asked for before this one is known to have ended. */
static struct {
	bool there;
	char data[64];
	size_t len;
	struct fi_eq_cm_entry entry; /* at the end, since it may have more octets */
} early;

void await(int what)
{
	struct fi_eq_cm_entry entry;
	char data[sizeof(early.data)];
	size_t len = sizeof(data);
	int got = event(&entry, data, &len);

	if (got == FI_CONNREQ && what == FI_SHUTDOWN && !early.there) {
		early.there = true;
		early.entry = entry;
		memcpy(early.data, data, len);
		early.len = len;
		len = sizeof(data);
		got = event(&entry, data, &len);
	}
	if (got != what || entry.fid != &end.ep->fid)
		die("event %d, not %d, or not of the endpoint", got, what);
}

/* Takes the next request; returns the length of its data. */
static size_t request(struct fi_eq_cm_entry *entry, char data[static sizeof(early.data)])
{
	size_t len = sizeof(early.data);

	if (early.there) {
		early.there = false;
		*entry = early.entry;
		memcpy(data, early.data, early.len);
		return early.len;
	}
	NEED(event(entry, data, &len) == FI_CONNREQ);
	return len;
}

void accept_next(const char *param, struct fid_ep *srx)
{
	struct fi_eq_cm_entry entry;
	char data[sizeof(early.data)];
	size_t len = request(&entry, data);

	NEED(entry.fid == &pep->fid);
	NEED(len == strlen(param) && !memcmp(data, param, len));
	NEED(entry.info->dest_addr && entry.info->handle->fclass == FI_CLASS_CONNREQ);
	open_endpoint(entry.info, srx);
	fi_freeinfo(entry.info);
	MUST(fi_accept(end.ep, "yes", 3));
	await(FI_CONNECTED);
}

void connect_as(const char *param)
{
	struct fi_eq_cm_entry entry;
	struct sockaddr_in name, peer;
	size_t name_len = sizeof(name), peer_len = sizeof(peer);
	char data[64];
	size_t len = sizeof(data);

	open_endpoint(end.info, NULL);
	MUST(fi_connect(end.ep, end.info->dest_addr, param, strlen(param)));
	NEED(event(&entry, data, &len) == FI_CONNECTED && entry.fid == &end.ep->fid);
	NEED(len == 3 && !memcmp(data, "yes", 3));
	MUST(fi_getname(&end.ep->fid, &name, &name_len));
	MUST(fi_getpeer(end.ep, &peer, &peer_len));
	NEED(name.sin_port && !memcmp(&peer, end.info->dest_addr, sizeof(peer)));
}

static void serve_reject(void)
{
	struct fi_eq_cm_entry entry;
	char data[sizeof(early.data)];
	size_t len = request(&entry, data);

	NEED(len == 5 && !memcmp(data, "first", 5));
	MUST(fi_reject(pep, entry.info->handle, "no", 2));
	fi_freeinfo(entry.info);
}

static void connect_reject(void)
{
	struct fi_eq_cm_entry entry;
	char data[64];
	size_t len = sizeof(data);

	open_endpoint(end.info, NULL);
	MUST(fi_connect(end.ep, end.info->dest_addr, "first", 5));
	NEED(event(&entry, data, &len) == -FI_ECONNREFUSED && entry.fid == &end.ep->fid);
	NEED(len == 2 && !memcmp(data, "no", 2));
	close_endpoint();
	pass("reject");
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static void serve_messages(void)
{
	static uint8_t got[MESSAGE];
	struct iovec iov[2] = { { got, 1000 }, { got + 1000, MESSAGE - 1000 } };
	uint8_t injected[256];

	MUST(fi_recvv(end.ep, iov, NULL, 2, 0, iov));
	NEED(done(iov, FI_RECV | FI_MSG).len == MESSAGE);
	NEED(stream_wrong(1, 0, got, MESSAGE) < 0);
	say(got, MESSAGE);
	hear(injected, sizeof(injected));
	NEED(stream_wrong(2, 0, injected, sizeof(injected)) < 0);
	MUST(fi_recv(end.ep, NULL, 0, NULL, 0, &iov[1]));
	NEED(done(&iov[1], FI_RECV | FI_MSG).len == 0);
	say("k", 1);
}

static void connect_messages(void)
{
	static uint8_t got[MESSAGE];
	uint8_t injected[256], ok;
	struct iovec iov[5] = { { octets, 1 },
				{ octets + 1, 1999 },
				{ octets + 2000, 96 },
				{ octets + 2096, MESSAGE - 2096 },
				{ octets, 1 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 5, .context = iov };

	stream_octets(1, 0, octets, MESSAGE);
	NEED(fi_sendmsg(end.ep, &msg, 0) == -FI_EINVAL);
	NEED(fi_senddata(end.ep, octets, 8, NULL, DATA, 0, NULL) == -FI_ENOSYS);
	NEED(fi_inject(end.ep, octets, 257, 0) == -FI_EINVAL);
	msg.iov_count = 4;
	MUST(fi_sendmsg(end.ep, &msg, FI_COMPLETION | FI_TRANSMIT_COMPLETE));
	done(iov, FI_SEND | FI_MSG);
	hear(got, MESSAGE);
	NEED(stream_wrong(1, 0, got, MESSAGE) < 0);
	stream_octets(2, 0, injected, sizeof(injected));
	MUST(fi_inject(end.ep, injected, sizeof(injected), 0));
	memset(injected, 0, sizeof(injected));
	MUST(fi_send(end.ep, NULL, 0, NULL, 0, injected));
	done(injected, FI_SEND | FI_MSG);
	hear(&ok, 1);
	pass("messages");
}

/* ---- RMA ------------------------------------------------------------------------------------------------------- */

static void serve_rma(void)
{
	uint8_t go, buffer[16];

	hear(&go, 1);
	NEED(stream_wrong(3, 0, end.memory, WRITTEN) < 0);
	NEED(stream_wrong(4, 0, end.memory + WRITTEN, 100) < 0);
	/* Immediate Data uses up a buffer each, and leaves it as it was. */
	memset(buffer, 0xee, sizeof(buffer));
	for (int i = 0; i < 2; i++)
		MUST(fi_recv(end.ep, buffer, sizeof(buffer), NULL, 0, &buffer[i]));
	say("g", 1);
	for (int i = 0; i < 2; i++) {
		const uint64_t flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;

		const struct fi_cq_data_entry entry = done(&buffer[i], flags);

		NEED(entry.data == DATA + (uint64_t)i && entry.len == (i ? 200 : MESSAGE));
	}
	for (size_t i = 0; i < sizeof(buffer); i++)
		NEED(buffer[i] == 0xee);
	NEED(stream_wrong(5, 0, end.memory, MESSAGE) < 0);
	NEED(stream_wrong(6, 0, end.memory + MESSAGE, 200) < 0);
	say("k", 1);
}

static void connect_rma(void)
{
	const struct place *p = &end.peer;
	struct iovec iov[2] = { { octets + 7, 1000 }, { octets + 3000, WRITTEN - 1000 } };
	struct fi_rma_iov to[2] = { { p->addr, WRITTEN, p->key } };
	struct fi_msg_rma msg = {
		.msg_iov = iov, .iov_count = 2, .rma_iov = to, .rma_iov_count = 1, .context = to
	};
	uint8_t go;

	stream_octets(3, 0, octets, WRITTEN);
	MUST(fi_write(end.ep, octets, WRITTEN, NULL, 0, p->addr, p->key, octets));
	done(octets, FI_WRITE | FI_RMA);
	/* Into memory that nobody has registered. */
	memset(octets, 0, OCTETS);
	MUST(fi_readmsg(end.ep, &msg, FI_COMPLETION));
	NEED(done(to, FI_READ | FI_RMA).len == WRITTEN);
	NEED(stream_wrong(3, 0, octets + 7, 1000) < 0);
	NEED(stream_wrong(3, 1000, octets + 3000, WRITTEN - 1000) < 0);
	msg.rma_iov_count = 2;
	NEED(fi_readmsg(end.ep, &msg, FI_COMPLETION) == -FI_EINVAL);
	stream_octets(4, 0, octets, 100);
	MUST(fi_inject_write(end.ep, octets, 100, 0, p->addr + WRITTEN, p->key));
	memset(octets, 0, 100);
	say("g", 1);
	pass("rma");
	hear(&go, 1);
	stream_octets(5, 0, octets, MESSAGE);
	MUST(fi_writedata(end.ep, octets, MESSAGE, NULL, DATA, 0, p->addr, p->key, octets));
	done(octets, FI_WRITE | FI_RMA);
	stream_octets(6, 0, octets, 200);
	MUST(fi_inject_writedata(end.ep, octets, 200, DATA + 1, 0, p->addr + MESSAGE, p->key));
	hear(&go, 1);
	pass("remote-cq-data");
}

/* ---- waiting, and the end ---------------------------------------------------------------------------------------- */

static void serve_wait(void)
{
	struct fid *fids[2] = { &end.cq->fid, &end.eq->fid };
	struct pollfd p = { .events = POLLIN };
	struct fi_cq_data_entry c;
	uint8_t buffer;

	MUST(fi_control(&end.cq->fid, FI_GETWAIT, &p.fd));
	MUST(fi_recv(end.ep, &buffer, 1, NULL, 0, &buffer));
	NEED(!fi_trywait(end.fabric, fids, 2));
	NEED(!poll(&p, 1, 0));
	MUST(fi_inject(end.ep, "g", 1, 0));
	NEED(poll(&p, 1, TIMEOUT_MS) == 1);
	NEED(fi_trywait(end.fabric, fids, 2) == -FI_EAGAIN);
	done(&buffer, FI_RECV | FI_MSG);
	NEED(!fi_trywait(end.fabric, fids, 2));
	MUST(fi_cq_signal(end.cq));
	NEED(fi_cq_sread(end.cq, &c, 1, NULL, -1) == -FI_EAGAIN);
	/* What is posted at the end completes, before the event or when the endpoint is closed. */
	MUST(fi_recv(end.ep, &buffer, 1, NULL, 0, &buffer));
	say("k", 1);
	await(FI_SHUTDOWN);
	NEED(failed(&buffer) == FI_ECANCELED);
	close_endpoint();
}

static void connect_wait(void)
{
	uint8_t go;

	hear(&go, 1);
	say("g", 1);
	hear(&go, 1);
	pass("trywait");
	MUST(fi_recv(end.ep, &go, 1, NULL, 0, &go));
	MUST(fi_shutdown(end.ep, 0));
	close_endpoint();
	NEED(failed(&go) == FI_ECANCELED);
	pass("shutdown");
}

static void serve_wrong_key(void)
{
	accept_next("third", NULL);
	await(FI_SHUTDOWN);
	close_endpoint();
}

static void connect_wrong_key(void)
{
	connect_as("third");
	MUST(fi_read(end.ep, octets, 8, NULL, 0, end.peer.addr, end.peer.key ^ 0x100, octets));
	NEED(failed(octets) == FI_EACCES);
	await(FI_SHUTDOWN);
	close_endpoint();
	pass("wrong-key");
}

/* Buffers that endpoints share. */
static void serve_shared(void)
{
	struct fi_rx_attr attr = { .size = 8 };
	struct fi_cq_data_entry c;
	struct fid_ep *srx;
	uint8_t buffer[2];

	MUST(fi_srx_context(end.domain, &attr, &srx, NULL));
	for (int i = 0; i < 2; i++)
		MUST(fi_recv(srx, &buffer[i], 1, NULL, 0, &buffer[i]));
	accept_next("fourth", srx);
	/* Which of them a message takes is not said. */
	for (int i = 0; i < 2; i++) {
		MUST(fi_cq_sread(end.cq, &c, 1, NULL, TIMEOUT_MS));
		NEED(c.len == 1 && *(uint8_t *)c.op_context == '0' + i);
	}
	NEED(fi_recv(end.ep, buffer, 1, NULL, 0, NULL) == -FI_EINVAL);
	/* There is no room at NULL, which is enough for a message without octets. */
	MUST(fi_recv(srx, NULL, 256, NULL, 0, buffer));
	say("k", 1);
	MUST(fi_cq_sread(end.cq, &c, 1, NULL, TIMEOUT_MS));
	NEED(c.flags == (FI_RECV | FI_MSG) && c.len == 0);
	NEED(fi_send(end.ep, NULL, 256, NULL, 0, NULL) == -FI_EINVAL);
	await(FI_SHUTDOWN);
	close_endpoint();
	MUST(fi_close(&srx->fid));
}

static void connect_shared(void)
{
	uint8_t ok;

	connect_as("fourth");
	say("0", 1);
	say("1", 1);
	hear(&ok, 1);
	say(NULL, 0);
	close_endpoint();
	pass("shared-context");
}

/* A message that is not read before its endpoint is closed: ofi_rxm then posts the buffer to that endpoint again. */
static void serve_closed(void)
{
	struct fid_ep *gone;
	uint8_t buffer = 0;

	accept_next("seventh", NULL);
	gone = end.ep;
	MUST(fi_recv(end.ep, &buffer, 1, NULL, 0, &buffer));
	MUST(fi_inject(end.ep, "g", 1, 0));
	await(FI_SHUTDOWN);
	close_endpoint();
	NEED(done(&buffer, FI_RECV | FI_MSG).len == 1 && buffer == 'm');
	NEED(fi_recv(gone, &buffer, 1, NULL, 0, &buffer) == -FI_EOPBADSTATE);
}

static void connect_closed(void)
{
	uint8_t go;

	connect_as("seventh");
	hear(&go, 1);
	MUST(fi_inject(end.ep, "m", 1, 0));
	close_endpoint();
	pass("closed-with-message");
}

static void serve_selected(void)
{
	struct fi_rx_attr attr = { .size = 4 };
	struct fid_ep *srx;

	serve_selective("fifth", NULL);
	MUST(fi_srx_context(end.domain, &attr, &srx, NULL));
	serve_selective("sixth", srx);
	MUST(fi_close(&srx->fid));
}

static void connect_selected(void)
{
	connect_selective("fifth");
	connect_selective("sixth");
	pass("selective");
}

/* ---- the two ends ------------------------------------------------------------------------------------------------ */

static void serve(const char *host, const char *port)
{
	struct sockaddr_in name;
	size_t len = sizeof(name);
	struct place mine;

	open_end(host, port, FI_SOURCE);
	MUST(fi_passive_ep(end.fabric, end.info, &pep, NULL));
	/* It has its port before anything else. */
	MUST(fi_getname(&pep->fid, &name, &len));
	NEED(len == sizeof(name) && ntohs(name.sin_port) == atoi(port));
	MUST(fi_pep_bind(pep, &end.eq->fid, 0));
	MUST(fi_listen(pep));
	serve_reject();
	accept_next("second", NULL);
	mine = (struct place){ (uintptr_t)end.memory, fi_mr_key(end.mr) };
	say(&mine, sizeof(mine));
	serve_messages();
	serve_rma();
	serve_wait();
	serve_wrong_key();
	serve_shared();
	serve_selected();
	serve_closed();
	MUST(fi_close(&pep->fid));
	close_end();
}

static void connect_to(const char *host, const char *port)
{
	open_end(host, port, 0);
	connect_reject();
	connect_as("second");
	pass("connect");
	hear(&end.peer, sizeof(end.peer));
	connect_messages();
	connect_rma();
	connect_wait();
	connect_wrong_key();
	connect_shared();
	connect_selected();
	connect_closed();
	close_end();
}

/*
 * A listener with the wildcard address of a family takes connections by every interface: prints the domain of each that
 * comes, which is the interface that has its address.
 */
static void serve_any(const char *any, const char *port, int count)
{
	struct fi_eq_cm_entry entry;
	char data[sizeof(early.data)];
	uint8_t octet;

	end.format = strchr(any, ':') ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	/* Without an address it is IPv4's. */
	open_end(strcmp(any, "-") ? any : NULL, port, FI_SOURCE);
	MUST(fi_passive_ep(end.fabric, end.info, &pep, NULL));
	MUST(fi_pep_bind(pep, &end.eq->fid, 0));
	MUST(fi_listen(pep));
	for (int i = 0; i < count; i++) {
		request(&entry, data);
		printf("domain %s\n", entry.info->domain_attr->name);
		fflush(stdout);
		open_endpoint(entry.info, NULL);
		fi_freeinfo(entry.info);
		MUST(fi_accept(end.ep, "yes", 3));
		await(FI_CONNECTED);
		hear(&octet, 1);
		close_endpoint();
	}
	MUST(fi_close(&pep->fid));
	close_end();
}

static void connect_any(const char *host, const char *port)
{
	open_end(host, port, 0);
	connect_as("any");
	say("x", 1);
	await(FI_SHUTDOWN);
	close_endpoint();
	close_end();
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "serve")) {
		serve(argv[2], argv[3]);
	} else if (argc == 4 && !strcmp(argv[1], "connect")) {
		connect_to(argv[2], argv[3]);
	} else if (argc == 3 && !strcmp(argv[1], "local")) {
		alone(argv[2]);
	} else if (argc == 5 && !strcmp(argv[1], "serve-any")) {
		serve_any(argv[2], argv[3], atoi(argv[4]));
	} else if (argc == 4 && !strcmp(argv[1], "connect-any")) {
		connect_any(argv[2], argv[3]);
	} else {
		die("usage: fabric serve|connect|connect-any ADDRESS PORT, fabric serve-any "
		    "ADDRESS|- PORT CONNECTIONS, or fabric local ADDRESS");
	}
	return 0;
}
