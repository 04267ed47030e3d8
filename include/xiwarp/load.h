/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/load.h - the BPF programs on an interface.
 *
 * Loading pins programs and maps under DIR/IFNAME (DIR: /sys/fs/bpf/xiwarp by default) and attaches
 * xiw_ingress (XDP) and xiw_egress (TC clsact). Stock bpftool does the same from the same object
 * file. Loading takes CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON, unloading CAP_NET_ADMIN, and both the
 * right to write in DIR; reading, the right to read there. Pins are open to their owner alone, who
 * is the user that loads. A directory that others could have a hand in is not used: what is pinned
 * there would be believed. To let another user run receivers, root may give him the pins: chown -R
 * USER DIR/IFNAME, chmod 711 DIR.
 *
 * A dot in IFNAME is a colon in the directory's name. The first network namespace that loads on an
 * IFNAME has DIR/IFNAME, and others that see the same DIR have IFNAME@network-namespace-COOKIE
 * beside it: all functions here mean the interface of the caller's own, and touch no other's pins.
 */
#ifndef XIWARP_LOAD_H
#define XIWARP_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/abi.h>
#include <xiwarp/export.h>

XIW_BEGIN_DECLS

#define XIW_PIN_DIR "/sys/fs/bpf/xiwarp"

enum xiw_xdp_mode {
	XIW_XDP_AUTO = 0, /* native, else generic */
	XIW_XDP_NATIVE = 1,
	XIW_XDP_GENERIC = 2,
};

struct xiw_load_opts {
	size_t size;	     /* sizeof(struct xiw_load_opts) */
	const char *pin_dir; /* NULL: XIW_PIN_DIR */
	enum xiw_xdp_mode mode;
	bool replace;	     /* take the place of another XDP program */
	uint8_t reserved[3]; /* 0 */
};

/*
 * Loads, pins and attaches. On failure nothing stays behind, and `why` (if not NULL) gets one line
 * with cause and remedy; on success it is empty, or says why XIW_XDP_AUTO came to generic, or what
 * the driver could not do about buffers from before. A program that was replaced is put back on
 * failure, not by xiw_unload().
 * -ENODEV: no such interface; -EPERM; -EBUSY: another XDP program is attached; -EALREADY: xiwarp is
 * loaded there, or pins of that name are left; -EUCLEAN: the pin directory may be somebody else's;
 * -EOPNOTSUPP: kernel or driver cannot, or the pins would end with this process (`ip netns exec`);
 * -ERANGE: MTU;
 * -EINVAL.
 */
XIW_API int xiw_load(const char *ifname, const struct xiw_load_opts *opts, char *why,
		     size_t why_len);

/*
 * Detaches and unpins. Flows in the direct path are given back to the kernel first; translation of
 * sequence numbers ends, so -EBUSY while flows with skew exist, unless `force` (those connections
 * break); also if another tool has put xiw_egress in a place that is not ours, if the interface is
 * part of one that has a program, and (unless `force`) if pins made by stock tools belong to
 * programs that are not on this interface. Programs whose pins are lost are found on the interface
 * by name, which takes CAP_SYS_ADMIN.
 * -ENODEV: no such interface, and no pins; -ENOENT: not loaded; -EPERM; -EUCLEAN: the pins may be
 * somebody else's;
 * -EINVAL. `why` as above.
 */
XIW_API int xiw_unload(const char *ifname, const char *pin_dir, bool force, char *why,
		       size_t why_len);

/* What is loaded on an interface. */
struct xiw_status {
	char ifname[16];
	uint32_t ifindex; /* 0: no such interface in this network namespace */
	uint32_t mtu;
	uint32_t queues;		 /* RX queues */
	enum xiw_xdp_mode mode;		 /* as attached */
	uint32_t xdp_id, tc_id;		 /* BPF program ids; 0: pinned, but not attached */
	uint32_t flows;			 /* that a process, of any PID namespace, has open */
	uint64_t stats[XIW_STAT__COUNT]; /* sums over CPUs */
	uint64_t too_long, tx_full;	 /* struct xiw_queue's, sums over queues */
};

/*
 * -ENOENT: not loaded; -EPERM; -EUCLEAN: the pins may be somebody else's; -ESTALE: of another version;
 * -EINVAL, -ENAMETOOLONG: ifname, pin_dir. `size` is sizeof(struct xiw_status).
 */
XIW_API int xiw_status_read(const char *ifname, const char *pin_dir, struct xiw_status *status,
			    size_t size);

/*
 * Calls fn for each interface of this network namespace with pins (fn returns nonzero to stop).
 * Returns fn's value, 0, or negative errno.
 */
XIW_API int xiw_status_each(const char *pin_dir, int (*fn)(const char *ifname, void *ctx),
			    void *ctx);

/* Calls fn with a snapshot of each flow in use. Returns fn's value, 0, or negative errno as above. */
XIW_API int xiw_flows_each(const char *ifname, const char *pin_dir,
			   int (*fn)(uint32_t index, const struct xiw_flow *flow, void *ctx),
			   void *ctx);

/* Name of a xiw_stat; NULL past the end. */
XIW_API const char *xiw_stat_name(unsigned int stat);

XIW_END_DECLS

#endif
