// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xiw_socket on a table of segments: which are kept or dropped, and how the flow changes. */
#include "harness.h"

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };
enum { LO = 1, OURS = 2, ANOTHER = 3 }; /* ifindex */

#define NXT 0xffffff00u /* wraps within a segment */
#define EDGE (NXT + 100000)
#define SKEW 5000u
#define EPOCH 7

struct row {
	const char *name;
	uint32_t ifindex, path, value, k;
	uint8_t flags;
	uint32_t seq, len;
	bool kept;
	uint32_t ahead;		  /* how far kernel_high is ahead of what was acknowledged */
	uint32_t high, elsewhere; /* how much kernel_high and elsewhere_segs rise */
	uint32_t bypass;	  /* how much bypass_segs rises */
	bool unseen;		  /* xiw_ingress has seen no segment of the flow */
};

#define EQUAL .path = XIW_PATH_KERNEL, .value = 0
#define DIFFER .path = XIW_PATH_KERNEL, .value = SKEW
#define ARMED .path = XIW_PATH_ARMED, .value = 0
#define DIRECT .path = XIW_PATH_DIRECT, .value = NXT, .k = NXT - SKEW

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct row rows[] = {
	{ "ours, translated by XDP", OURS, DIFFER, .flags = ACK, .seq = NXT - SKEW, .len = 100,
	  .kept = true, .ahead = 100, .high = 0, .elsewhere = 0 },
	{ "ours, passed by XDP", OURS, EQUAL, .flags = ACK | FIN, .seq = NXT, .len = 99,
	  .kept = true, .ahead = 100 },
	{ "ours, passed before the stretch", OURS, DIRECT, .flags = ACK, .seq = NXT - SKEW - 100,
	  .len = 100, .kept = true },
	{ "ours, passed before a long stretch", OURS, DIRECT, .flags = ACK, .seq = NXT - SKEW - 100,
	  .len = 100, .kept = true, .ahead = 0u - SKEW },
	{ "around XDP: data in order", OURS, EQUAL, .flags = ACK, .seq = NXT, .len = 1000,
	  .kept = true, .high = 1000, .bypass = 1 },
	{ "around XDP, armed: an octet more than XDP has passed", OURS, ARMED, .flags = ACK,
	  .seq = NXT, .len = 101, .kept = true, .ahead = 100, .high = 1, .bypass = 1 },
	{ "around XDP: FIN counts", OURS, EQUAL, .flags = ACK | FIN, .seq = NXT, .len = 100,
	  .kept = true, .ahead = 100, .high = 1, .bypass = 1 },
	{ "around XDP: no data", OURS, EQUAL, .flags = ACK, .seq = NXT + 2000, .len = 0,
	  .kept = true },
	{ "around XDP: beyond the window", OURS, EQUAL, .flags = ACK, .seq = EDGE + 1, .len = 500,
	  .kept = true },
	{ "around XDP, which has seen nothing yet", OURS, EQUAL, .flags = ACK, .seq = NXT,
	  .len = 1000, .kept = true, .high = 1000, .unseen = true },
	{ "around XDP, numbers differ: where the peer would go on", OURS, DIFFER, .flags = ACK,
	  .seq = NXT, .len = 1000, .kept = false, .bypass = 1 },
	{ "around XDP, numbers differ: within the window", OURS, DIFFER, .flags = ACK,
	  .seq = NXT + 1, .len = 1000, .kept = false },
	{ "around XDP, numbers differ: beyond the socket's window", OURS, DIFFER, .flags = ACK,
	  .seq = EDGE + 1, .len = 1000, .kept = true },
	{ "around XDP, direct: where the peer would go on", OURS, DIRECT, .flags = ACK, .seq = NXT,
	  .len = 1000, .kept = false, .bypass = 1 },
	{ "around XDP, direct: elsewhere", OURS, DIRECT, .flags = ACK, .seq = NXT + 1, .len = 1000,
	  .kept = false },
	{ "around XDP, direct: FIN alone", OURS, DIRECT, .flags = ACK | FIN, .seq = NXT, .len = 0,
	  .kept = false, .bypass = 1 },
	{ "ours, while direct", OURS, DIRECT, .flags = ACK, .seq = NXT - SKEW, .len = 0,
	  .kept = true, .high = 0, .elsewhere = 0 },
	{ "injected", LO, DIFFER, .flags = ACK, .seq = NXT - SKEW, .len = 100, .kept = true,
	  .high = 0, .elsewhere = 0 },
	{ "injected, while direct", LO, DIRECT, .flags = ACK, .seq = NXT - SKEW + 1, .len = 0,
	  .kept = true, .high = 0, .elsewhere = 0 },
	{ "a SYN from lo", LO, EQUAL, .flags = SYN, .seq = NXT, .len = 0, .kept = false, .high = 0,
	  .elsewhere = 0 },
	{ "a SYN by ours", OURS, EQUAL, .flags = SYN, .seq = NXT, .len = 0, .kept = true, .high = 0,
	  .elsewhere = 0 },
	{ "not published", ANOTHER, .path = XIW_PATH_NONE, .flags = ACK, .seq = NXT, .len = 100,
	  .kept = true, .high = 0, .elsewhere = 0 },
	{ "numbers equal: data in order", ANOTHER, EQUAL, .flags = ACK, .seq = NXT, .len = 1000,
	  .kept = true, .high = 1000, .elsewhere = 1 },
	{ "numbers equal: FIN counts", ANOTHER, EQUAL, .flags = ACK | FIN, .seq = NXT, .len = 10,
	  .kept = true, .high = 11, .elsewhere = 1 },
	{ "numbers equal: data out of order", ANOTHER, EQUAL, .flags = ACK, .seq = NXT + 2000,
	  .len = 1000, .kept = true, .high = 3000, .elsewhere = 1 },
	{ "numbers equal: old data", ANOTHER, EQUAL, .flags = ACK, .seq = NXT - 1000, .len = 500,
	  .kept = true, .high = 0, .elsewhere = 0 },
	{ "numbers equal: beyond the window", ANOTHER, EQUAL, .flags = ACK, .seq = EDGE + 1,
	  .len = 500, .kept = true, .high = 0, .elsewhere = 0 },
	{ "numbers equal: an acknowledgement", ANOTHER, EQUAL, .flags = ACK, .seq = NXT, .len = 0,
	  .kept = true, .high = 0, .elsewhere = 1 },
	{ "numbers equal: an acknowledgement behind data that was lost", ANOTHER, EQUAL,
	  .flags = ACK, .seq = NXT + 2000, .len = 0, .kept = true, .high = 0, .elsewhere = 1 },
	{ "armed, numbers equal: as well", ANOTHER, ARMED, .flags = ACK, .seq = NXT, .len = 1000,
	  .kept = true, .high = 1000, .elsewhere = 1 },
	{ "armed, numbers differ", ANOTHER, ARMED, .value = SKEW, .flags = ACK, .seq = NXT,
	  .len = 1000, .kept = false, .high = 0, .elsewhere = 1 },
	{ "numbers differ: where the peer would go on", ANOTHER, DIFFER, .flags = ACK, .seq = NXT,
	  .len = 1000, .kept = false, .high = 0, .elsewhere = 1 },
	{ "numbers differ: not there", ANOTHER, DIFFER, .flags = ACK, .seq = NXT + 1, .len = 1000,
	  .kept = false, .high = 0, .elsewhere = 0 },
	{ "numbers differ: the socket's number", ANOTHER, DIFFER, .flags = ACK, .seq = NXT - SKEW,
	  .len = 1000, .kept = false, .high = 0, .elsewhere = 0 },
	{ "numbers differ: behind all that the kernel has", ANOTHER, DIFFER, .flags = ACK,
	  .seq = NXT + 3000, .len = 1000, .kept = false, .ahead = 3000, .high = 0, .elsewhere = 1 },
	{ "numbers differ: in front of that", ANOTHER, DIFFER, .flags = ACK, .seq = NXT + 2999,
	  .len = 1000, .kept = false, .ahead = 3000, .high = 0, .elsewhere = 0 },
	{ "numbers differ: what was acknowledged last", ANOTHER, DIFFER, .flags = ACK, .seq = NXT,
	  .len = 1000, .kept = false, .ahead = 3000, .high = 0, .elsewhere = 1 },
	{ "direct: where the peer would go on", ANOTHER, DIRECT, .flags = ACK, .seq = NXT,
	  .len = 1000, .kept = false, .high = 0, .elsewhere = 1 },
	{ "direct: the socket's number", ANOTHER, DIRECT, .flags = ACK, .seq = NXT - SKEW,
	  .len = 1000, .kept = false, .high = 0, .elsewhere = 0 },
	{ "direct, nothing taken yet", ANOTHER, DIRECT, .k = NXT, .flags = ACK, .seq = NXT,
	  .len = 1000, .kept = false, .high = 0, .elsewhere = 1 },
	{ "direct: a reset there", ANOTHER, DIRECT, .flags = RST, .seq = NXT, .len = 0,
	  .kept = false, .high = 0, .elsewhere = 1 },
};

static const struct row of_another = {
	"of another interface", ANOTHER, EQUAL, .flags = ACK, .seq = NXT, .len = 1000, .kept = true
};

#pragma GCC diagnostic pop

static int prog;

/* The key of a socket without addresses, as a test run has it. */
static uint32_t run(const struct row *r)
{
	uint8_t p[14 + 20 + 3000] = { 0 }, *th = p + 14;
	struct __sk_buff skb = { .ifindex = r->ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p, .data_size_in = 14 + 20 + r->len,
		    .ctx_in = &skb, .ctx_size_in = sizeof(skb), .repeat = 1);

	put32(th + 4, r->seq);
	th[12] = 5 << 4;
	th[13] = r->flags;
	cr_assert(!bpf_prog_test_run_opts(prog, &opts), "%s: %s", r->name, strerror(errno));
	return opts.retval;
}

Test(socket, table)
{
	struct xiw_flow_key key = {};
	uint32_t index = 9;
	static struct harness h;

	harness_load(&h);
	prog = bpf_program__fd(bpf_object__find_program_by_name(h.obj, "xiw_socket"));
	cr_assert(prog >= 0);
	cr_assert(!system("ip link add xt0 type veth peer name xt1"));
	cr_assert(if_nametoindex("xt0") && if_nametoindex("xt1"));
	cr_assert_eq(run(&of_another), UINT32_MAX, "of no flow");
	cr_assert(!bpf_map_update_elem(h.index_map, &key, &index, BPF_ANY));
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		struct xiw_flow *f = &h.flows[index], want;

		*f = (struct xiw_flow){
			.owner = xiw_owner_pack(r->value, EPOCH, r->path),
			.kernel_nxt = xiw_kernel_nxt_pack(r->k, EPOCH),
			.kernel_high = NXT + r->ahead,
			.acked = NXT,
			.kernel_edge = EDGE,
			.direct_edge = EDGE,
			.socket_edge = EDGE,
			.control_segs = !r->unseen,
			.ifindex = OURS,
		};
		want = *f;
		want.kernel_high += r->high;
		want.elsewhere_segs += r->elsewhere;
		want.bypass_segs += r->bypass;
		want.lo_segs += r->ifindex == LO && r->kept;
		cr_expect_eq(run(r), r->kept ? UINT32_MAX : 0, "%s: %s", r->name,
			     r->kept ? "dropped" : "kept");
		cr_expect(!memcmp(f, &want, sizeof(want)), "%s: high %x, elsewhere %u", r->name,
			  f->kernel_high, (unsigned int)f->elsewhere_segs);
	}
	/* K of another stretch: the translation is unknown, and so is whether the segment came astray. */
	h.flows[index].owner = xiw_owner_pack(NXT, EPOCH, XIW_PATH_DIRECT);
	h.flows[index].kernel_nxt = xiw_kernel_nxt_pack(NXT, EPOCH + 1);
	h.flows[index].elsewhere_segs = 0;
	cr_expect_eq(run(&of_another), 0);
	cr_expect_eq(h.flows[index].elsewhere_segs, 0);
}
