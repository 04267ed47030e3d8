// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xiwarp/load.h>

#include "address.h"
#include "args.h"
#include "base/ranges.h"
#include "exit.h"
#include "missing.h"
#include "netif/query.h"
#include "obstacles.h"
#include "report.h"
#include "signals.h"
#include "text.h"

struct report {
	const struct xiw_args *args;
	const char *pin_dir;
	struct json_object *interfaces; /* NULL: a table */
	struct json_object *flows;
	unsigned int shown;
	int code; /* exit code of the first failure */
};

static void flow_addr(const struct xiw_flow *f, const __be32 addr[4], __be16 port, char buf[80])
{
	struct sockaddr_storage ss = {};
	struct sockaddr_in6 *in6 = (void *)&ss;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = port;
	in6->sin6_scope_id = f->ifindex;
	memcpy(&in6->sin6_addr, addr, 16);
	xiw_addr_name(&ss, buf);
}

static const char *path_name(uint64_t owner)
{
	static const char *const names[] = { "none", "kernel", "armed", "direct" };
	const uint32_t path = xiw_owner_path(owner);

	return path < sizeof(names) / sizeof(names[0]) ? names[path] : "?";
}

static void flow_options(struct json_object *o, uint32_t flags)
{
	xiw_json_bool(o, "markers", flags & XIW_FLOW_MARKERS);
	xiw_json_bool(o, "crc", flags & XIW_FLOW_CRC);
	xiw_json_bool(o, "timestamps", flags & XIW_FLOW_TIMESTAMPS);
	xiw_json_bool(o, "sack", flags & XIW_FLOW_SACK);
	xiw_json_bool(o, "ecn", flags & XIW_FLOW_ECN);
}

/* Who the flow belongs to, and which path owns its stream. */
static void flow_state(struct json_object *o, uint32_t index, const struct xiw_flow *f)
{
	uint64_t owner = f->owner;
	char addr[80];

	xiw_json_u64(o, "index", index);
	flow_addr(f, f->key.local_addr, f->key.local_port, addr);
	xiw_json_str(o, "local", addr);
	flow_addr(f, f->key.remote_addr, f->key.remote_port, addr);
	xiw_json_str(o, "remote", addr);
	xiw_json_u64(o, "pid", f->pid);
	xiw_json_u64(o, "engine", f->engine);
	xiw_json_u64(o, "claims", f->claim_seq);
	flow_options(o, f->flags);
	xiw_json_str(o, "path", path_name(owner));
	xiw_json_u64(o, "epoch", xiw_owner_epoch(owner));
	if (xiw_owner_path(owner) == XIW_PATH_DIRECT)
		xiw_json_u64(o, "rcv_nxt", xiw_owner_value(owner));
	xiw_json_u64(o, "skew", xiw_owner_skew(owner, f->kernel_nxt));
}

/* Every counter of struct xiw_flow is here, which tests/net/admin/test_status.sh checks. */
static int flow_json(uint32_t index, const struct xiw_flow *f, struct report *r)
{
	struct json_object *o = json_object_new_object(), *drops = json_object_new_object();

	flow_state(o, index, f);
	xiw_json_u64(o, "octets_direct", f->placed_direct);
	xiw_json_u64(o, "octets_kernel", f->placed_kernel);
	xiw_json_u64(o, "segments_direct", f->direct_segs);
	xiw_json_u64(o, "segments_kernel", f->kernel_segs);
	xiw_json_u64(o, "segments_control", f->control_segs);
	xiw_json_u64(o, "segments_elsewhere", f->elsewhere_segs);
	xiw_json_u64(o, "segments_past_xdp", f->bypass_segs);
	xiw_json_u64(o, "segments_other_queue", f->other_segs);
	xiw_json_u64(o, "payload_direct", f->direct_octets);
	xiw_json_u64(o, "payload_kernel", f->kernel_octets);
	xiw_json_u64(o, "segments_sent", f->egress_segs);
	xiw_json_u64(o, "segments_rewritten", f->egress_rewritten);
	xiw_json_u64(o, "fpdus", f->fpdus);
	xiw_json_u64(o, "armed", f->armed);
	xiw_json_u64(o, "went_direct", f->went_direct);
	xiw_json_reasons(o, f->reasons);
	if (f->barred) /* for good */
		xiw_json_str(o, "no_direct", xiw_reason_name(f->barred));
	xiw_json_u64(o, "segments_resent", f->resent);
	xiw_json_u64(o, "segments_from_lo", f->lo_segs);
	xiw_json_u64(o, "acks_sent", f->acks_sent);
	xiw_json_u64(o, "injected", f->injected);
	xiw_json_u64(drops, "xdp", f->dropped);
	xiw_json_u64(drops, "receiver", f->segs_dropped);
	xiw_json_u64(drops, "crc", f->crc_errors);
	json_object_object_add(o, "drops", drops);
	xiw_json_u64(o, "early_refused", f->early_refused);
	json_object_array_add(r->flows, o);
	return 0;
}

static int flow_table(uint32_t index, const struct xiw_flow *f, struct report *r)
{
	char local[80], remote[80], direct[32], kernel[32];
	uint64_t owner = f->owner;

	(void)r;
	flow_addr(f, f->key.local_addr, f->key.local_port, local);
	flow_addr(f, f->key.remote_addr, f->key.remote_port, remote);
	printf("  flow %u  %s <- %s  pid %u, engine %u\n", index, local, remote, f->pid, f->engine);
	printf("    %-10s %s, epoch %u", "path", path_name(owner), xiw_owner_epoch(owner));
	if (xiw_owner_path(owner) == XIW_PATH_DIRECT)
		printf(", rcv_nxt %u", xiw_owner_value(owner));
	printf(", skew %u\n", xiw_owner_skew(owner, f->kernel_nxt));
	printf("    %-10s %s in %" PRIu64 " segments (%.2f %% of octets)\n", "direct",
	       xiw_octets(f->placed_direct, direct), (uint64_t)f->direct_segs,
	       100 * xiw_share(f->placed_direct, f->placed_kernel));
	printf("    %-10s %s in %" PRIu64 " segments, %" PRIu64 " without data\n", "kernel",
	       xiw_octets(f->placed_kernel, kernel), (uint64_t)f->kernel_segs,
	       (uint64_t)f->control_segs);
	printf("    %-10s armed %" PRIu64 ", went direct %" PRIu64, "hand-offs", (uint64_t)f->armed,
	       (uint64_t)f->went_direct);
	xiw_print_reasons(f->reasons);
	if (f->barred)
		printf("; not direct any more: %s", xiw_reason_name(f->barred));
	printf("\n    %-10s xdp %" PRIu64 ", receiver %" PRIu64 ", crc %" PRIu64
	       "; refused out of order %u\n",
	       "dropped", (uint64_t)f->dropped, (uint64_t)f->segs_dropped, (uint64_t)f->crc_errors,
	       f->early_refused);
	return 0;
}

static int each_flow(uint32_t index, const struct xiw_flow *f, void *ctx)
{
	struct report *r = ctx;

	return r->interfaces ? flow_json(index, f, r) : flow_table(index, f, r);
}

static void print_attachment(const struct xiw_status *s)
{
	char now[IF_NAMESIZE];

	if (s->ifindex && if_indextoname(s->ifindex, now) && strcmp(now, s->ifname) != 0)
		printf("%s was renamed since it was loaded; ", now);
	if (!s->xdp_id && !s->tc_id)
		printf("%s: pinned, but no program is attached: %s: 'xiwarp unload %s'%s",
		       s->ifname,
		       s->ifindex ? "somebody took both off, the interface was replaced, or a load "
				    "was killed"
				  : "the interface is gone, or in another network namespace",
		       s->ifname, s->ifindex ? ", and load again" : "");
	else
		printf("%s: %s%s%s, MTU %u, %u RX queue%s, %u of %u flows", s->ifname,
		       s->xdp_id ? "XDP " : "no XDP program",
		       s->xdp_id ? (s->mode == XIW_XDP_GENERIC ? "generic mode" : "native mode")
				 : "",
		       s->tc_id	       ? ""
		       : s->tc_unknown ? ", TC program not seen without CAP_DAC_OVERRIDE"
				       : ", no TC program",
		       s->mtu, s->queues, s->queues == 1 ? "" : "s", s->flows, s->max_flows);
	if (!s->xdp_id != !s->tc_id && !s->tc_unknown)
		printf(": somebody took it off, or a load was killed: 'xiwarp unload %s', and load "
		       "again",
		       s->ifname);
	putchar('\n');
}

/* The queues that an engine serves; with 0, those that none serves. */
static uint64_t queues_of(const struct xiw_status *s, uint32_t engine)
{
	uint64_t mask = 0;

	for (uint32_t q = 0; q < XIW_MAX_QUEUES && q < s->queues; q++)
		if (s->engines[q] == engine)
			mask |= 1ull << q;
	return mask;
}

static void print_engines(const struct xiw_status *s)
{
	uint64_t none = queues_of(s, 0), told = none;
	char queues[XIW_RANGES_MAX];

	for (uint32_t q = 0; q < XIW_MAX_QUEUES && q < s->queues; q++) {
		uint64_t mask = queues_of(s, s->engines[q]);

		if (!(told >> q & 1))
			printf("%s%s by engine %u", told == none ? "  queues: " : ", ",
			       xiw_ranges(mask, queues), s->engines[q]);
		told |= mask;
	}
	if (told != none)
		printf("%s%s\n", none ? ", by none " : "", none ? xiw_ranges(none, queues) : "");
}

static void add_engines(struct json_object *o, const struct xiw_status *s)
{
	struct json_object *all = json_object_new_array();

	for (uint32_t q = 0; q < XIW_MAX_QUEUES && q < s->queues; q++)
		json_object_array_add(all, json_object_new_int64(s->engines[q]));
	json_object_object_add(o, "engines", all);
}

static void print_mtu(const struct xiw_status *s)
{
	char queues[XIW_RANGES_MAX];

	if (s->loaded_mtu && s->mtu > s->loaded_mtu)
		printf("  its MTU was %u when the programs were loaded, and longer packets may be "
		       "lost, all programs': unload, and load again\n",
		       s->loaded_mtu);
	if (s->outgrown)
		printf("  queues %s take no packets as long as the MTU, which take the kernel "
		       "path: start the receivers again\n",
		       xiw_ranges(s->outgrown, queues));
}

static void print_before(const struct xiw_status *s)
{
	char name[BPF_OBJ_NAME_LEN];

	if (!s->tc_before)
		return;
	xiw_query_name(s->tc_before, name);
	printf("  tcx runs %s (id %u) before xiw_egress: if it hides what connections send, they "
	       "stand still until that is first again ('xiwarp load %s')\n",
	       name, s->tc_before, s->ifname);
}

static void print_interface(const struct xiw_status *s)
{
	int n = 0;

	print_attachment(s);
	print_before(s);
	print_engines(s);
	print_mtu(s);
	if (s->unfit[0])
		printf("  no connection goes direct: %s\n", s->unfit);
	for (unsigned int i = 0; i < XIW_STAT__COUNT; i++) {
		if (!s->stats[i])
			continue;
		printf("%s%s %" PRIu64, n++ ? ", " : "  packets: ", xiw_stat_name(i), s->stats[i]);
	}
	if (s->too_long)
		printf("%stoo long for AF_XDP %" PRIu64, n++ ? ", " : "  packets: ", s->too_long);
	if (s->tx_full)
		printf("%sACKs delayed by a full ring %" PRIu64,
		       n++ ? ", " : "  packets: ", s->tx_full);
	if (n)
		putchar('\n');
	if (s->cuts)
		printf("  its hardware has cut %" PRIu64 " packets in two, with zero-copy: engines "
		       "bind in copy mode since\n",
		       s->cuts);
}

static struct json_object *add_interface(const struct xiw_status *s, struct report *r)
{
	struct json_object *o = json_object_new_object(), *stats = json_object_new_object();

	xiw_json_str(o, "interface", s->ifname);
	xiw_json_u64(o, "ifindex", s->ifindex);
	xiw_json_str(o, "mode",
		     !s->xdp_id			  ? "detached"
		     : s->mode == XIW_XDP_GENERIC ? "generic"
						  : "native");
	xiw_json_u64(o, "mtu", s->mtu);
	xiw_json_u64(o, "loaded_mtu", s->loaded_mtu);
	xiw_json_u64(o, "outgrown", s->outgrown);
	xiw_json_str(o, "unfit", s->unfit);
	xiw_json_u64(o, "queues", s->queues);
	add_engines(o, s); /* of each queue; 0: none */
	xiw_json_u64(o, "max_flows", s->max_flows);
	xiw_json_u64(o, "xdp_id", s->xdp_id);
	xiw_json_u64(o, "tc_id", s->tc_id);
	xiw_json_bool(o, "tc_unknown", s->tc_unknown);
	xiw_json_u64(o, "tc_before", s->tc_before);
	for (unsigned int i = 0; i < XIW_STAT__COUNT; i++)
		xiw_json_u64(stats, xiw_stat_name(i), s->stats[i]);
	json_object_object_add(o, "packets", stats);
	xiw_json_u64(o, "too_long", s->too_long);
	xiw_json_u64(o, "tx_full", s->tx_full);
	xiw_json_u64(o, "cut", s->cuts);
	xiw_json_ring(o); /* of engines that are made now */
	r->flows = json_object_new_array();
	json_object_object_add(o, "flows", r->flows);
	json_object_array_add(r->interfaces, o);
	return o;
}

/* Returns an exit code. */
static int report_interface(struct report *r, const char *ifname)
{
	struct json_object *o = NULL;
	struct xiw_status s;
	int err = xiw_status_read(ifname, r->args->pin_dir, &s, sizeof(s));

	/* In a report on all interfaces: this one was unloaded meanwhile, or is just being unloaded. */
	if (err == -ENOENT && !r->args->nwords &&
	    (r->args->status.watch > 0 || !xiw_pins_left(ifname, r->pin_dir)))
		return 0;
	if (err)
		return xiw_status_failed(ifname, r->pin_dir, err);
	r->shown++;
	if (r->interfaces)
		o = add_interface(&s, r);
	else
		print_interface(&s);
	err = xiw_show_obstacles(ifname, r->args->pin_dir, o);
	if (!err)
		err = xiw_flows_each(ifname, r->args->pin_dir, each_flow, r);
	return err && err != -ENOENT ? xiw_status_failed(ifname, r->pin_dir, err) : 0;
}

/* A failure of one interface is printed, and the others are still reported. */
static int each_of_all(const char *ifname, void *ctx)
{
	struct report *r = ctx;
	int code = report_interface(r, ifname);

	if (code && !r->code)
		r->code = code;
	return 0;
}

/* Looks once which ring the engines have that are made here now. */
static void find_ring(void)
{
	const struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };
	static bool known;
	struct xiw_engine *e;
	int err = known ? 0 : xiw_engine_create(&o, &e);

	if (err)
		xiw_report_no_ring(err);
	else if (!known)
		xiw_report_ring(e);
	if (!err && !known)
		xiw_engine_destroy(e);
	known = true;
}

static int report_once(const struct xiw_args *args)
{
	struct report r = { .args = args, .pin_dir = args->pin_dir ? args->pin_dir : XIW_PIN_DIR };
	int err = 0;

	find_ring();
	if (args->json)
		r.interfaces = json_object_new_array();
	if (args->nwords)
		r.code = report_interface(&r, args->words[0]);
	else
		err = xiw_status_each(args->pin_dir, each_of_all, &r);
	if (err)
		r.code = xiw_status_failed("any interface", r.pin_dir, err);
	if (!r.code && !r.shown && !args->nwords)
		r.code = xiw_status_hidden(r.pin_dir);
	if (r.code && !r.shown) {
		json_object_put(r.interfaces);
		return r.code;
	}
	if (r.interfaces)
		xiw_json_print(r.interfaces);
	else if (!r.shown)
		r.code = xiw_status_none(r.pin_dir);
	if (!r.interfaces && !r.code)
		xiw_print_ring();
	return r.code;
}

static int run_status(const struct xiw_args *args)
{
	struct timespec pause = { .tv_sec = (time_t)args->status.watch };
	int code;

	pause.tv_nsec = (long)((args->status.watch - (double)pause.tv_sec) * 1e9);
	if (args->status.watch <= 0)
		return report_once(args);
	xiw_catch_signals();
	do {
		code = report_once(args);
		if (code || xiw_output_lost())
			return code;
		nanosleep(&pause, NULL);
		if (!args->json)
			putchar('\n');
	} while (!xiw_stop_signal);
	return xiw_exit_stopped(XIW_EXIT_OK);
}

static int set_watch(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	double *seconds = &args->status.watch;
	char *end;

	*seconds = strtod(value, &end);
	if (end == value || *end || !(*seconds >= 0.1 && *seconds <= 86400))
		return xiw_bad_value(opt, value, "a number of seconds from 0.1 to 86400");
	return 0;
}

static const struct xiw_opt status_opts[] = {
	{ "watch", .arg = "SECONDS",
	  .help = "repeat at this interval until interrupted; 0.1 or more", .set = set_watch },
	{},
};

const struct xiw_cmd xiw_cmd_status = {
	.name = "status",
	.synopsis = "[IF]",
	.summary = "show what is loaded, and the path of every connection",
	.text = "For each interface: mode, queues, packets by what became of them, and what "
		"connections have found to speak against the direct path, with the peers whose "
		"connections it keeps off that path for now. For each "
		"connection: path, epoch, rcv_nxt and skew, octets of the stream as the engine "
		"placed them and segments as XDP saw them, both by path, hand-offs by reason, "
		"and drops. It only reads pins: it needs the privilege to do that, and disturbs "
		"nothing.",
	.examples = "sudo xiwarp status\n"
		    "sudo xiwarp status eth0 --json\n"
		    "sudo xiwarp status --watch 1\n",
	.opts = status_opts,
	.max_words = 1,
	.run = run_status,
};
