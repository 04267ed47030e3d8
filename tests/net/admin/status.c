// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Does `xiwarp status` show every counter, and the right value?
 *
 *   status fill BPF.O PINS XIWARP IFNAME     puts a different number into every field of a flow slot and of
 *                                            a queue, and prints "FIELD NUMBER" for each. Prints the output of `XIWARP
 *                                            status IFNAME --json` on standard error, and restores the fields
 *   status recv XIWARP IFNAME                takes one connection. Compares what `XIWARP status IFNAME --json` shows of
 *                                            it, in the middle and at the end, with the connection's own counters
 *   status send ADDRESS MIB HOW              sends the stream: aligned, misaligned, or mixed
 *
 * The fields come from the type information of the BPF object, so that a new field of a struct is tested at once.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <sys/mman.h>

#include <xiwarp/xiwarp.h>

#define STAG 0x51000002u

#include "handoff/key.h"
#include "tests/net/lib/json.h"
#include "tests/net/lib/turns.h"

#define MSG (64u << 10)
#define PORT 15046
#define SLOT 4000u
#define QUEUE (XIW_MAX_QUEUES - 1)

/* ---- numbers of their own -------------------------------------------------------------------------- */

static unsigned int numbers;

/* One field, or one element of an array. */
static void fill_number(uint8_t *at, uint32_t size, const char *name)
{
	uint64_t wide = (1ull << 40) + ++numbers * 1000003ull;
	uint32_t narrow = 700000000u + numbers * 1000003u;

	if (size == 8)
		memcpy(at, &wide, 8);
	else
		memcpy(at, &narrow, 4);
	printf("%s %llu\n", name, (unsigned long long)(size == 8 ? wide : narrow));
}

static void fill_array(const struct btf *btf, const struct btf_array *a, uint8_t *at,
		       const char *name)
{
	uint32_t size = (uint32_t)btf__resolve_size(btf, (int)a->type);
	char element[128];

	for (uint32_t i = 0; i < a->nelems && (size == 4 || size == 8); i++) {
		if (!strcmp(name, "reasons") && (i == XIW_REASON_NONE || i >= XIW_REASON__COUNT))
			continue;
		snprintf(element, sizeof(element), "%s[%u]", name, i);
		fill_number(at + i * size, size, element);
	}
}

static void fill_members(const struct btf *btf, const struct btf_type *t, uint8_t *value)
{
	const struct btf_member *m = btf_members(t);

	for (int i = 0; i < btf_vlen(t); i++, m++) {
		const struct btf_type *of = btf__type_by_id(btf, m->type);
		const char *field = btf__name_by_offset(btf, m->name_off);
		uint8_t *at = value + m->offset / 8;
		int64_t len = btf__resolve_size(btf, m->type);

		if (btf_is_array(of))
			fill_array(btf, btf_array(of), at, field);
		else if (btf_is_struct(of) && !*field)
			fill_members(btf, of, at);
		else if (len == 4 || len == 8)
			fill_number(at, (uint32_t)len, field);
	}
}

static void fill_struct(const struct btf *btf, const char *name, uint8_t *value, size_t size)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	if (!t || t->size != size)
		die("no struct %s of %zu octets", name, size);
	fill_members(btf, t, value);
}

static void update(const char *pins, const char *map, uint32_t key, const void *value)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pins, map);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_map_update_elem(fd, &key, value, BPF_ANY))
		die_errno(path);
	close(fd);
}

/* status shows the slots that the index has. */
static void put_index(const char *pins, const struct xiw_flow_key *key, bool in)
{
	const uint32_t slot = SLOT;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/xiw_flow_index", pins);
	fd = bpf_obj_get(path);
	if (fd < 0 ||
	    (in ? bpf_map_update_elem(fd, key, &slot, BPF_ANY) : bpf_map_delete_elem(fd, key)))
		die_errno(path);
	close(fd);
}

/* The slot needs a connection that exists, as others are not shown. It stays until this program ends. */
static void real_connection(struct xiw_flow_key *key)
{
	struct sockaddr_storage local = {}, remote = {};
	struct sockaddr_in *a = (struct sockaddr_in *)&remote;
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*a);

	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)a, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)a, &len) ||
	    connect(fd, (struct sockaddr *)a, len) ||
	    getsockname(fd, (struct sockaddr *)&local, &len))
		die_errno("connection");
	xiw_flow_key_set(key, &remote, &local);
}

static int fill(const char *object, const char *pins, const char *xiwarp, const char *ifname)
{
	char cmd[1024];
	int rc;
	struct btf *btf = btf__parse_elf(object, NULL);
	struct xiw_flow flow = {};
	struct xiw_queue queue = {};
	struct xiw_flow_key key;

	if (!btf)
		die_errno(object);
	fill_struct(btf, "xiw_flow", (uint8_t *)&flow, sizeof(flow));
	fill_struct(btf, "xiw_queue", (uint8_t *)&queue, sizeof(queue));
	flow.owner = xiw_owner_pack(0, 1, XIW_PATH_KERNEL);
	flow.pid = (uint32_t)getpid();
	real_connection(&flow.key);
	key = flow.key;
	update(pins, "xiw_flows", SLOT, &flow);
	put_index(pins, &key, true);
	update(pins, "xiw_queues", QUEUE, &queue);
	btf__free(btf);
	fflush(stdout);
	snprintf(cmd, sizeof(cmd), "'%s' status '%s' --json >&2", xiwarp, ifname);
	rc = system(cmd);
	memset(&flow, 0, sizeof(flow));
	memset(&queue, 0, sizeof(queue));
	put_index(pins, &key, false);
	update(pins, "xiw_flows", SLOT, &flow);
	update(pins, "xiw_queues", QUEUE, &queue);
	return rc ? 1 : 0;
}

/* ---- the library's end ----------------------------------------------------------------------------- */

static unsigned int differences;

static struct json_object *flow_of(struct json_object *status)
{
	struct json_object *flows;

	if (!json_object_is_type(status, json_type_array) ||
	    json_object_array_length(status) != 1 ||
	    !json_object_object_get_ex(json_object_array_get_idx(status, 0), "flows", &flows) ||
	    json_object_array_length(flows) != 1)
		die("no status of one flow: %s", json_object_to_json_string(status));
	return json_object_array_get_idx(flows, 0);
}

static struct json_object *ask(const char *xiwarp, const char *ifname)
{
	static char text[1 << 16];
	struct json_object *status;
	char cmd[1024];
	size_t len;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "'%s' status '%s' --json", xiwarp, ifname);
	f = popen(cmd, "r");
	len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[len] = 0;
	status = !f || pclose(f) ? NULL : json_tokener_parse(text);
	if (!status)
		die("status: %s", text);
	return status;
}

/* XDP's counters may change while status reads them: it must show a value in between. */
static void compare(struct json_object *flow, const char *key, uint64_t before, uint64_t after,
		    const char *when)
{
	struct json_object *in_drops, *drops, *value;
	const char *dot = strchr(key, '.');
	uint64_t said;

	in_drops = dot && json_object_object_get_ex(flow, "drops", &drops) ? drops : flow;
	if (!json_object_object_get_ex(in_drops, dot ? dot + 1 : key, &value))
		die("status has no %s", key);
	said = (uint64_t)json_object_get_int64(value);
	if (said >= before && said <= after)
		return;
	printf("%s: %s is %llu, but the connection counted %llu\n", when, key,
	       (unsigned long long)said, (unsigned long long)before);
	differences++;
}

/* The engine does not run meanwhile. */
static void check_status(const char *xiwarp, const char *ifname, struct xiw_conn *c,
			 const char *when)
{
	struct json_object *status, *flow;
	struct xiw_conn_info a, b;

	xiw_conn_info(c, &a, sizeof(a));
	status = ask(xiwarp, ifname);
	flow = flow_of(status);
	xiw_conn_info(c, &b, sizeof(b));
	compare(flow, "octets_direct", a.stream_direct, b.stream_direct, when);
	compare(flow, "octets_kernel", a.stream_kernel, b.stream_kernel, when);
	compare(flow, "fpdus", a.fpdus, b.fpdus, when);
	compare(flow, "armed", a.armed, b.armed, when);
	compare(flow, "acks_sent", a.acks_sent, b.acks_sent, when);
	compare(flow, "injected", a.injected, b.injected, when);
	compare(flow, "drops.crc", a.crc_errors, b.crc_errors, when);
	compare(flow, "early_refused", a.early_refused, b.early_refused, when);
	compare(flow, "drops.receiver", a.segments_dropped, b.segments_dropped, when);
	compare(flow, "segments_direct", a.segments_direct, b.segments_direct, when);
	compare(flow, "segments_kernel", a.segments_kernel, b.segments_kernel, when);
	json_object_put(status);
}

static void report(struct xiw_conn *c)
{
	struct json_object *o = json_object_new_object();
	struct xiw_conn_info i;

	xiw_conn_info(c, &i, sizeof(i));
	add(o, "differences", differences);
	add(o, "stream_direct", i.stream_direct);
	add(o, "stream_kernel", i.stream_kernel);
	add(o, "injected", i.injected);
	add_reasons(o, &i);
	print_json(o);
}

static int receive(const char *xiwarp, const char *ifname)
{
	static uint8_t buf[MSG];
	struct xiw_engine_opts eo = { .size = sizeof(eo), .app_ring_fd = -1 };
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct xiw_conn_opts co = { .size = sizeof(co) };
	uint32_t stag = STAG;
	struct xiw_region_opts ro = { .size = sizeof(ro), .stag = &stag };
	struct xiw_completion c;
	struct xiw_listener *l;
	struct xiw_region *r;
	struct xiw_engine *e;
	unsigned int written = 0;
	bool ended = false;
	int err, status = 0;

	if ((err = xiw_engine_create(&eo, &e)) ||
	    (err = xiw_region_register(e, buf, MSG, &ro, &r)) ||
	    (err = xiw_listen(e, (struct sockaddr *)&any, sizeof(any), &co, &l)))
		die("%s", strerror(-err));
	while (!ended) {
		err = xiw_engine_run(e, 1000);
		if (err < 0)
			die("engine: %s", strerror(-err));
		while (xiw_engine_next(e, &c)) {
			if (c.event == XIW_EV_REQUEST)
				xiw_conn_accept(c.conn, NULL, 0);
			else if (c.event == XIW_EV_WRITTEN && ++written == 20)
				check_status(xiwarp, ifname, c.conn, "in the middle");
			else if (c.event == XIW_EV_ERROR)
				xiw_conn_abort(c.conn);
			else if (c.event == XIW_EV_EOF)
				check_status(xiwarp, ifname, c.conn, "at the end"),
					xiw_conn_close(c.conn);
			else if (c.event == XIW_EV_CLOSED)
				ended = true;
			if (ended) {
				status = c.status;
				report(c.conn);
				xiw_conn_free(c.conn);
			}
		}
	}
	xiw_region_free(r);
	xiw_engine_destroy(e);
	return differences || status ? 1 : 0;
}

/* ---- the plain end --------------------------------------------------------------------------------- */

static uint64_t total, on_wire;

static void on_back(const uint8_t *payload, uint32_t len, bool last)
{
	(void)payload;
	(void)len;
	(void)last;
}

static void put(uint32_t ulpdu)
{
	static const uint8_t payload[65536];
	uint32_t len = ulpdu - XIW_DDP_TAGGED_LEN, at = (uint32_t)(turns.sent % MSG);
	struct xiw_ddp_hdr h = { .tagged = true, .dv = 1, .stag = STAG, .to = at };
	size_t before = turns.len;

	if (len > MSG - at)
		len = MSG - at;
	turns.done = turns.sent + len == total;
	h.last = at + len == MSG;
	put_segment(&h, payload, len);
	on_wire += turns.len - before;
}

static int send_all(const char *host, uint64_t octets, const char *how)
{
	total = octets;
	turns.put = put;
	turns.on_back = on_back;
	turns.stag = STAG;
	plain_connect(host, PORT, NULL);
	if (!strcmp(how, "misaligned"))
		send_misaligned();
	else
		send_by_turns(octets, strcmp(how, "mixed") ? 0 : 12, 1);
	printf("{\"sent\":%llu}\n", (unsigned long long)on_wire);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "fill") && argc == 6)
		return fill(argv[2], argv[3], argv[4], argv[5]);
	if (!strcmp(what, "recv") && argc == 4)
		return receive(argv[2], argv[3]);
	if (!strcmp(what, "send") && argc == 5)
		return send_all(argv[2], strtoull(argv[3], NULL, 0) << 20, argv[4]);
	die("fill BPF.O PINS XIWARP IFNAME | recv XIWARP IFNAME | send ADDRESS MIB HOW");
}
