/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/load.h - the BPF programs on an interface.
 *
 * Loading attaches xiw_ingress (XDP) and xiw_egress (by tcx, in front of the programs of others;
 * before Linux 6.6 as a filter of TC's clsact), and pins programs, maps and the tcx link under
 * DIR/IFNAME (DIR: /sys/fs/bpf/xiwarp by default). Stock bpftool can do the same with the same object
 * file. Loading takes CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON, unloading CAP_NET_ADMIN, and both the
 * right to write in DIR; reading takes the right to read there. Pins are open only to their owner, the
 * user who loads. A directory that others could have changed is not used, because what is pinned there
 * would be believed. Root may give an interface's pins to another user, who can run receivers then:
 * chown -R USER DIR/IFNAME, chmod 711 DIR.
 *
 * A dot in IFNAME is a colon in the directory's name. The first network namespace that loads on an
 * IFNAME gets DIR/IFNAME; others that see the same DIR get IFNAME@network-namespace-COOKIE beside it.
 * All functions here mean the interface in the caller's own namespace, and touch no other pins.
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
	bool replace;	     /* replace another XDP program */
	uint8_t reserved[3]; /* 0 */
	/*
	 * The most connections that can go direct at a time, up to XIW_MAX_FLOWS: rounded up to a power of
	 * two, and at least 64. Each takes 512 octets of the kernel's memory until xiw_unload(), whether or
	 * not it is there. 0: XIW_DEFAULT_FLOWS.
	 */
	uint32_t flows;
	uint32_t reserved2; /* 0 */
};

/*
 * Loads, pins and attaches. If that fails, nothing stays behind, a program that was replaced is put
 * back, and `why` (if not NULL) gets one line with cause and remedy. On success `why` is empty, or
 * says why XIW_XDP_AUTO chose generic mode, or what the driver could not do about packets in older
 * buffers. xiw_unload() does not put a replaced program back. Processes that load or unload do so one
 * after the other: each waits up to ten seconds, and then returns -EBUSY. Since Linux 6.6 pins in
 * the same directory whose interface is gone, of any network namespace, are removed first.
 *
 * -ENODEV: no such interface; -EPERM; -EBUSY: another XDP program is attached; -EALREADY: xiwarp is
 * loaded there, or pins of that name are left; -EUCLEAN: the pin directory may be somebody else's;
 * -EOPNOTSUPP: not supported by the kernel or the driver, or the pins would end with this process
 * (`ip netns exec`); -ERANGE: MTU; -EINVAL. Others, such as -ENOMEM, -EMFILE and -EIO, are failures of
 * a system call.
 */
XIW_API int xiw_load(const char *ifname, const struct xiw_load_opts *opts, char *why,
		     size_t why_len);

/*
 * Detaches and unpins. Flows on the direct path are given back to the kernel first. Programs whose
 * pins are lost are found on the interface by name, which takes CAP_SYS_ADMIN. `why` as above.
 *
 * -EBUSY: flows with skew exist, whose connections break without the programs (`force` unloads
 * nevertheless); or pins made by stock tools belong to programs that are not on this interface (the
 * same); or another tool has attached xiw_egress elsewhere; or the interface is part of another one
 * that has a program. -ENODEV: no such interface, and no pins; -ENOENT: not loaded; -EPERM;
 * -EUCLEAN: the pins may be somebody else's; -EINVAL. Others as above.
 */
XIW_API int xiw_unload(const char *ifname, const char *pin_dir, bool force, char *why,
		       size_t why_len);

/* What is loaded on an interface. */
struct xiw_status {
	char ifname[16];
	uint32_t ifindex; /* also if it was renamed since; 0: no such interface in this network namespace */
	uint32_t mtu;
	uint32_t queues;		 /* RX queues */
	enum xiw_xdp_mode mode;		 /* as attached */
	uint32_t xdp_id, tc_id;		 /* BPF program ids; 0: pinned, but not attached */
	uint32_t flows;			 /* that belong to a process, in any PID namespace */
	uint64_t stats[XIW_STAT__COUNT]; /* sums over CPUs */
	uint64_t too_long, tx_full;	 /* of struct xiw_queue, sums over queues */
	uint32_t max_flows;		 /* that the table has room for */
	uint32_t loaded_mtu;		 /* the MTU when the programs were loaded; 0: not known */
	uint32_t engines[XIW_MAX_QUEUES]; /* which engine serves each queue; 0: none */
	uint64_t cuts; /* packets that hardware has cut in two: the sum over queues of struct xiw_queue */
	uint64_t outgrown; /* a bit for each queue whose engine takes no packets as long as the MTU */
	/* tc_id is 0 as the kernel does not say what is attached, for want of CAP_DAC_OVERRIDE or CAP_NET_ADMIN. */
	bool tc_unknown;
	/* Why no connection goes direct on the interface as it is now, with the remedy; empty: nothing is known. */
	char unfit[128];
	/* The id of the program that tcx runs first, if that is not xiw_egress; 0: none, or not known. */
	uint32_t tc_before;
};

/*
 * Reads what is loaded. `size` is sizeof(struct xiw_status).
 * -ENOENT: not loaded; -EPERM; -EUCLEAN: the pins may be somebody else's; -ESTALE: they are of another
 * version; -EINVAL, -ENAMETOOLONG: ifname, pin_dir.
 */
XIW_API int xiw_status_read(const char *ifname, const char *pin_dir, struct xiw_status *status,
			    size_t size);

/*
 * Calls fn for each interface of this network namespace that has pins, until fn returns nonzero.
 * Returns that value, 0, or negative errno.
 */
XIW_API int xiw_status_each(const char *pin_dir, int (*fn)(const char *ifname, void *ctx),
			    void *ctx);

/* Calls fn with a snapshot of each flow in use. Stops and returns as xiw_status_each(). */
XIW_API int xiw_flows_each(const char *ifname, const char *pin_dir,
			   int (*fn)(uint32_t index, const struct xiw_flow *flow, void *ctx),
			   void *ctx);

/*
 * Calls fn with a snapshot of each entry of xiw_obstacles that is in use, but entry 0: what was found to speak against
 * the direct path. `peer` is zero up to entry XIW_REASON_MAX. Stops and returns as xiw_status_each().
 */
XIW_API int xiw_obstacles_each(const char *ifname, const char *pin_dir,
			       int (*fn)(uint32_t index, const struct xiw_obstacle *obstacle,
					 void *ctx),
			       void *ctx);

/* The name of an enum xiw_stat; NULL past the end. */
XIW_API const char *xiw_stat_name(unsigned int stat);

XIW_END_DECLS

#endif
