// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Requests whose peers go while the provider reads their events: fi_eq_read() asks for the host's interfaces then. */
#include <dlfcn.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/net/programs/fabric.h"

#define MPA_REQUEST "MPA ID Req Frame\x40\1\0\0"
#define MPA_LEN 20
#define AT_ONCE_MS 300 /* the provider's thread hears of a reset in this time, if the machine does not stand still */

static int leaves = -1; /* the socket of a peer that resets its connection when the interfaces are asked for */

/* This is what the provider calls. */
__attribute__((visibility("default"))) int getifaddrs(struct ifaddrs **all)
{
	int (*real)(struct ifaddrs **) =
		(int (*)(struct ifaddrs **))(uintptr_t)dlsym(RTLD_NEXT, "getifaddrs");
	const struct linger reset = { .l_onoff = 1 };

	if (leaves >= 0) {
		setsockopt(leaves, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(leaves);
		leaves = -1;
		usleep(AT_ONCE_MS * 1000);
	}
	return real(all);
}

/* A peer that has sent its MPA Request (RFC 5044 section 7.1.1). */
static int ask(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	NEED(fd >= 0 && !connect(fd, (const void *)at, sizeof(*at)));
	NEED(send(fd, MPA_REQUEST, MPA_LEN, MSG_NOSIGNAL) == MPA_LEN);
	return fd;
}

static struct fid *next_request(struct fi_info **info)
{
	struct fi_eq_cm_entry entry;
	uint32_t what;

	NEED(fi_eq_sread(end.eq, &what, &entry, sizeof(entry), TIMEOUT_MS, 0) == sizeof(entry) &&
	     what == FI_CONNREQ);
	*info = entry.info;
	return entry.info->handle;
}

/* Listens at every address, so that the provider looks for the interface of each request. */
static struct fid_pep *listen_anywhere(struct sockaddr_in *at)
{
	size_t len = sizeof(*at);
	struct fi_info *h = hints(), *any;
	struct fid_pep *pep;

	MUST(fi_getinfo(fi_version(), NULL, "0", FI_SOURCE, h, &any));
	MUST(fi_passive_ep(end.fabric, any, &pep, NULL));
	MUST(fi_pep_bind(pep, &end.eq->fid, 0));
	MUST(fi_listen(pep));
	MUST(fi_getname(&pep->fid, at, &len));
	at->sin_addr = ((struct sockaddr_in *)end.info->src_addr)->sin_addr;
	fi_freeinfo(any);
	fi_freeinfo(h);
	return pep;
}

/* An endpoint that is closed, and a passive one, can both reject a request. The second one finds that it is gone. */
static void reject_twice(void)
{
	struct sockaddr_in name;
	struct fid_pep *pep = listen_anywhere(&name);
	struct fi_info *info;
	struct fid *handle;
	struct fid_ep *ep;
	int peer;

	for (int closed_first = 0; closed_first < 2; closed_first++) {
		peer = ask(&name);
		handle = next_request(&info);
		MUST(fi_endpoint(end.domain, info, &ep, NULL));
		if (closed_first)
			MUST(fi_close(&ep->fid));
		NEED(fi_reject(pep, handle, NULL, 0) == (closed_first ? -FI_EINVAL : 0));
		if (!closed_first)
			MUST(fi_close(&ep->fid));
		fi_freeinfo(info);
		close(peer);
	}
	MUST(fi_close(&pep->fid));
	pass("request-that-is-rejected-twice");
}

/* Its request is still the program's, and that of the next peer is not taken for it. */
void local_requests(void)
{
	struct sockaddr_in name;
	struct fid_pep *pep = listen_anywhere(&name);
	struct fi_info *info;
	struct fid *handle;
	uint8_t reply[MPA_LEN];
	int honest;

	for (int i = 0; i < 3; i++) {
		leaves = ask(&name);
		NEED(fi_eq_sread(end.eq, &(uint32_t){ 0 }, &(struct fi_eq_cm_entry){},
				 sizeof(struct fi_eq_cm_entry), TIMEOUT_MS, FI_PEEK) > 0);
		honest = ask(&name);
		handle = next_request(&info);
		NEED(leaves < 0);
		fi_reject(pep, handle, "no", 2);
		fi_freeinfo(info);
		handle = next_request(&info);
		MUST(fi_reject(pep, handle, NULL, 0));
		fi_freeinfo(info);
		NEED(recv(honest, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply) &&
		     !memcmp(reply, "MPA ID Rep Frame", 16));
		close(honest);
	}
	MUST(fi_close(&pep->fid));
	pass("request-of-a-peer-that-leaves");
	reject_twice();
}
