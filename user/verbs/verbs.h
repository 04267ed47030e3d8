/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verbs front: libibverbs' and librdmacm's functions for devices of ours, preloaded into a program that was not
 * written for xiwarp. A function that gets an object of a real device passes it on to the real library.
 */
#ifndef XIW_VERBS_VERBS_H
#define XIW_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xiw_host_eq;

/* What the program sees of the preloaded library. */
#define XIW_INTERPOSE __attribute__((visibility("default")))

/*
 * Providers of other vendors, which libfabric loads, look at every device behind the end of the public structure, as if
 * it were their own. They find zeros there.
 */
#define XIW_SLACK 512

struct xiw_device {
	struct ibv_device ibv;
	char slack[XIW_SLACK];
	int ifindex;
	char ifname[IF_NAMESIZE];
	unsigned char mac[6];
	unsigned int seen, place; /* the last look that has found it, and its place there */
};

struct xiw_context {
	char slack[XIW_SLACK];	    /* a later verbs_context has more members in front */
	struct verbs_context verbs; /* its last member is the public context */
	char slack_behind[XIW_SLACK];
	struct xiw_device *device;
	struct xiw_host_eq *async; /* whose descriptor is the context's async_fd */
	/* Of ports.c. */
	struct xiw_context *next;
	bool up, gone; /* what was told of the port, and of the device */
};

/* The next definition of a function: that of the real library; NULL: there is none. */
void *xiw_real(const char *function);
#define XIW_REAL(function) ((__typeof__(&(function)))xiw_real(#function))

/*
 * Does the user say, by `xiwarp run --extended`, that both ends are run so? Then they agree on the extensions of RFC
 * 7306: Writes with Immediate Data, and atomic operations.
 */
bool xiw_verbs_extended(void);

/* Sets errno to that of a function of the host layer, which returns it negative, and returns NULL. */
void *xiw_refuse(int rc);

bool xiw_is_device(const struct ibv_device *device);
bool xiw_is_context(const struct ibv_context *context);

static inline struct xiw_device *xiw_device(struct ibv_device *device)
{
	return (struct xiw_device *)((char *)device - offsetof(struct xiw_device, ibv));
}

static inline struct xiw_context *xiw_context(struct ibv_context *context)
{
	return (struct xiw_context *)((char *)context -
				      offsetof(struct xiw_context, verbs.context));
}

#endif
