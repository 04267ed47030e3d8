// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `xiwarp perf`: the command. */
#include "perf.h"

#include <stdio.h>
#include <string.h>

#include "exit.h"
#include "receiver_opts.h"
#include "signals.h"
#include "text.h"

#define BANDWIDTH_SIZE 65536
#define LATENCY_SIZE 64

static int run_perf(const struct xiw_args *given)
{
	struct xiw_args args = *given;
	const struct xiw_opt *other = args.last[args.perf.server ? XIW_OPT_CLIENT : XIW_OPT_SERVER];

	if (args.perf.server == (args.nwords == 1))
		return xiw_fail(XIW_EXIT_USAGE, "perf needs one of --server and HOST");
	if (other)
		return xiw_fail(XIW_EXIT_USAGE, "--%s is for the %s", other->name,
				args.perf.server ? "client" : "server");
	if (args.perf.latency && args.perf.both)
		return xiw_fail(XIW_EXIT_USAGE, "--latency and --both exclude each other");
	if (!args.perf.nsizes)
		args.perf.sizes[args.perf.nsizes++] = args.perf.latency ? LATENCY_SIZE
									: BANDWIDTH_SIZE;
	if (!args.perf.server && !args.receiver.threads)
		args.receiver.threads = 1;
	/* A client to which no data come has no use for the direct path, and is not to complain of its absence. */
	if (!args.perf.server && !args.receiver.path && !args.perf.both && !args.perf.latency &&
	    args.perf.op != XIW_PERF_READ)
		args.receiver.path = XIW_USE_KERNEL;
	xiw_catch_signals();
	return xiw_exit_stopped(args.perf.server ? xiw_perf_server(&args) : xiw_perf_client(&args));
}

/* "all", or sizes with commas between them. */
static int set_sizes(const struct xiw_opt *opt, const char *value, struct xiw_args *args)
{
	static const char expected[] = "up to 32 sizes from 1 to 1G, such as 64,4K,1M, or 'all'";
	char copy[512], *rest = copy, *word;
	uint64_t size;

	args->perf.nsizes = 0;
	if (!strcmp(value, "all")) {
		for (size = 1; size <= 4u << 20; size *= 4)
			args->perf.sizes[args->perf.nsizes++] = (uint32_t)size;
		return 0;
	}
	if ((size_t)snprintf(copy, sizeof(copy), "%s", value) >= sizeof(copy))
		return xiw_bad_value(opt, value, expected);
	while ((word = strsep(&rest, ","))) {
		if (!xiw_parse_size(word, XIW_PERF_SIZE_MAX, &size) || !size ||
		    args->perf.nsizes == XIW_PERF_SIZES)
			return xiw_bad_value(opt, value, expected);
		args->perf.sizes[args->perf.nsizes++] = (uint32_t)size;
	}
	return 0;
}

static const struct xiw_word op_words[] = {
	{ "write", XIW_PERF_WRITE },
	{ "send", XIW_PERF_SEND },
	{ "read", XIW_PERF_READ },
	{},
};

static const struct xiw_opt perf_opts[] = {
	{ "server", 's', .help = "serve clients, any number at once, until it is stopped",
	  XIW_FLAG(perf.server) },
	{ "listen", .arg = "ADDR[:PORT]",
	  .help = "server: where to listen; default: any address, port " XIW_PORT,
	  .end = XIW_OPT_SERVER, XIW_TEXT(receiver.listen, 0, SIZE_MAX, "an address") },
	{ "once", .help = "server: end when the first clients have gone", .end = XIW_OPT_SERVER,
	  XIW_FLAG(perf.once) },
	{ "memory", .arg = "BYTES",
	  .help = "server: the most memory for the messages of all clients; who wants more, or "
		  "from one address more than half of what others leave, is refused; default 2G",
	  .end = XIW_OPT_SERVER, XIW_SIZE(perf.memory, 1u << 20, 1ull << 46) },
	{ "idle", .arg = "SECONDS",
	  .help = "server: end a connection that brings less than 4 KiB, and no step of a run, "
		  "for this long; default 60",
	  .end = XIW_OPT_SERVER, XIW_NUMBER(perf.idle, 1, 86400) },
	{ "op", 'o', "write|send|read",
	  "what the client does: RDMA Writes, Sends or RDMA Reads; default write",
	  .end = XIW_OPT_CLIENT, XIW_WORD(perf.op, op_words) },
	{ "latency", 'l',
	  .help = "measure round trips: one message at a time on each connection, which the server "
		  "answers by one of the same size (a Read by its octets). A Write tells its peer "
		  "by Immediate Data (RFC 7306)",
	  .end = XIW_OPT_CLIENT, XIW_FLAG(perf.latency) },
	{ "size", 'S', "BYTES[,BYTES...]|all",
	  "octets of a message, one run for each; all: 1 to 4M in steps of four; default 64K, with "
	  "--latency 64",
	  .end = XIW_OPT_CLIENT, .set = set_sizes },
	{ "depth", 'd', "N", "messages that are posted at a time on each connection; default 64",
	  .end = XIW_OPT_CLIENT, XIW_NUMBER(perf.depth, 1, XIW_PERF_DEPTH_MAX) },
	{ "connections", 'n', "N", "connections; default 1", .end = XIW_OPT_CLIENT,
	  XIW_NUMBER(perf.connections, 1, XIW_PERF_CONNECTIONS_MAX) },
	{ "time", 't', "SECONDS", "how long a run takes; default 10", .end = XIW_OPT_CLIENT,
	  XIW_NUMBER(perf.time, 1, 86400) },
	{ "interval", 'i', "SECONDS", "a line each so many seconds; 0: none; default 1",
	  .end = XIW_OPT_CLIENT, XIW_NUMBER(perf.interval, 0, 86400) },
	{ "both", 'b', .help = "both ends send at the same time", .end = XIW_OPT_CLIENT,
	  XIW_FLAG(perf.both) },
	{ "spin", .arg = "MICROSECONDS",
	  .help = "look for work so long before sleeping, which takes CPU time and shortens "
		  "round trips; default 0",
	  XIW_NUMBER(perf.spin, 0, 1000000) },
	{ "plot", .arg = "FILE.svg",
	  .help = "client: make a picture, of the throughput by interval, or with --latency of the "
		  "distribution of the round trips",
	  .end = XIW_OPT_CLIENT, XIW_TEXT(perf.plot, 1, SIZE_MAX, "a file") },
	XIW_OPT_PATH,
	{ "threads", .arg = "N",
	  .help = "threads with an engine each; default: client one, server one for each receive "
		  "queue, but no more than CPUs, and one with --path kernel",
	  XIW_NUMBER(receiver.threads, 1, XIW_GROUP_ENGINES_MAX) },
	XIW_OPT_CRC,
	XIW_OPT_TRUST_CHECKSUM,
	XIW_OPT_PEER_TIMEOUT,
	{},
};

const struct xiw_cmd xiw_cmd_perf = {
	.name = "perf",
	.synopsis = "-s|HOST[:PORT]",
	.summary = "measure throughput, messages per second and round trips",
	.text = "What ib_write_bw, ib_send_lat and iperf3 are to others: a server, and a client "
		"that says what is measured. The report has the throughput of what has arrived, "
		"messages per second, or with --latency the percentiles of round trips (twice "
		"what ib_send_lat prints); the CPU time per octet of each end's process, and of "
		"its whole host with everything else that runs there; and the share of octets "
		"that each end has received by the direct path. One more line says what held the "
		"figure back, as far as the counters of both ends tell: path, CPU, TCP's window, "
		"segments that were sent again.\n\n"
		"Lines of intervals count what TCP has taken of Sends and Writes, so the first of "
		"them includes what fills its buffers; with --both they are of the client alone. "
		"Several connections from the same client "
		"are spread over the server's threads by the interface's receive "
		"queues. " XIW_SHARE_TEXT " Messages "
		"that are posted together have memory of their own, up to 64 MiB for each "
		"connection. The first interrupt ends the run, and the report has what was "
		"measured so far. Exit code 7: the connection or the server failed or refused.",
	.examples = "sudo xiwarp perf -s                             # on the receiver\n"
		    "xiwarp perf receiver.example                    # on the sender\n"
		    "xiwarp perf receiver.example -o send -l --spin 100\n"
		    "xiwarp perf receiver.example -S all -t 3 --plot write.svg --json\n",
	.opts = perf_opts,
	.max_words = 1,
	.run = run_perf,
};
