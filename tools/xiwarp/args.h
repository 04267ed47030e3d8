/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands, their options, and the values that the user gave. A command is described once, in its struct xiw_cmd: the
 * parser, --help and the man page are made from that. A new option takes a member of struct xiw_args and a row in the
 * command's table.
 */
#ifndef XIW_TOOL_ARGS_H
#define XIW_TOOL_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/engine.h>
#include <xiwarp/load.h>

struct xiw_cmd;
struct xiw_opt;

enum xiw_opt_end { XIW_OPT_BOTH, XIW_OPT_SERVER, XIW_OPT_CLIENT, XIW_OPT_ENDS };

#define XIW_PERF_SIZES 32

/* Members of options that the command does not take keep their default (options.c). */
struct xiw_args {
	const struct xiw_cmd *cmd;
	char **words; /* the arguments that are not options */
	int nwords;
	const struct xiw_opt *last[XIW_OPT_ENDS]; /* the last option of each kind that was given */

	/* Options of every command. */
	bool json;
	const char *pin_dir;

	bool force; /* serve, unload */
	struct {
		enum xiw_xdp_mode mode;
		bool replace;
		uint32_t flows; /* 0: the default */
	} load;
	struct {
		double watch; /* seconds; 0: once */
	} status;
	/* serve, sink, rping, perf */
	struct {
		const char *listen;
		enum xiw_use_path path;
		bool once, trust_checksum;
		uint32_t peer_timeout; /* seconds */
		uint32_t threads;      /* 0: one for each receive queue */
	} receiver;
	/* sink, rping */
	struct {
		bool markers, crc_off;
		uint8_t revision; /* 0: the default of the side */
	} mpa;
	struct {
		bool create;
		uint32_t idle; /* seconds */
		uint64_t max_size, keep_free, memory;
	} serve;
	struct {
		bool sha256;
		uint32_t connections; /* 0: one */
	} put;
	struct {
		bool stag_given, reject;
		uint32_t stag, queues, recv_size;
		uint64_t size;
		const char *out, *private_data;
	} sink;
	struct {
		bool server, client, validate, verbose, persistent;
		const char *address, *port;
		uint64_t count, size; /* size 0: the default of the side */
		uint8_t rtr;	      /* enum xiw_rtr */
	} rping;
	struct {
		bool server, latency, both, once;
		uint8_t op; /* enum xiw_perf_op */
		uint32_t depth, connections, time, interval, spin, idle;
		uint32_t sizes[XIW_PERF_SIZES], nsizes; /* none: the default of what is measured */
		uint64_t memory;
		const char *plot;
	} perf;
	struct {
		const char *interface; /* NULL: all */
		uint32_t path;	       /* run_path_words; 0: as the environment says */
		uint32_t queues;       /* 0: as the environment says */
		bool extended, report, send_first, trace;
	} run;
	struct {
		bool man;
	} help;
};

/* A word that an option takes, and what it stands for. A list ends with name NULL. */
struct xiw_word {
	const char *name;
	unsigned int value;
};

struct xiw_opt {
	const char *name; /* without the two hyphens */
	char letter;	  /* its short form; 0: none */
	const char *arg;  /* what its value is called; NULL: it takes none */
	const char *help;
	enum xiw_opt_end end; /* which end of a connection it is for */
	/* Takes the value; on failure prints a line and returns an exit code. */
	int (*set)(const struct xiw_opt *opt, const char *value, struct xiw_args *args);
	/* The member of struct xiw_args that the functions below set, and what they accept. */
	size_t offset, width;
	uint64_t min, max; /* numbers and sizes: the value; texts: the length */
	const char *expected;
	const struct xiw_word *words;
};

int xiw_set_flag(const struct xiw_opt *opt, const char *value, struct xiw_args *args);
int xiw_set_text(const struct xiw_opt *opt, const char *value, struct xiw_args *args);
int xiw_set_number(const struct xiw_opt *opt, const char *value, struct xiw_args *args);
int xiw_set_size(const struct xiw_opt *opt, const char *value, struct xiw_args *args);
int xiw_set_word(const struct xiw_opt *opt, const char *value, struct xiw_args *args);
/* A size as xiw_set_size() takes it; false: it is none, or larger than max. */
bool xiw_parse_size(const char *text, uint64_t max, uint64_t *value);
/* Prints what was expected instead of `value` and returns XIW_EXIT_USAGE. */
int xiw_bad_value(const struct xiw_opt *opt, const char *value, const char *expected);

/* The part of an option's row that says where its value goes. */
#define XIW_SETS(member)                                                                           \
	.offset = offsetof(struct xiw_args, member),                                               \
	.width = sizeof(((struct xiw_args *)NULL)->member)
#define XIW_FLAG(member) .set = xiw_set_flag, XIW_SETS(member)
#define XIW_TEXT(member, least, most, what)                                                        \
	.set = xiw_set_text, XIW_SETS(member), .min = (least), .max = (most), .expected = (what)
#define XIW_NUMBER(member, least, most)                                                            \
	.set = xiw_set_number, XIW_SETS(member), .min = (least), .max = (most)
#define XIW_SIZE(member, least, most)                                                              \
	.set = xiw_set_size, XIW_SETS(member), .min = (least), .max = (most)
#define XIW_WORD(member, list) .set = xiw_set_word, XIW_SETS(member), .words = (list)

struct xiw_cmd {
	const char *name;
	const char *synopsis;	    /* what follows the name */
	const char *summary;	    /* one line */
	const char *text;	    /* paragraphs, separated by an empty line */
	const char *examples;	    /* one per line */
	const struct xiw_opt *opts; /* ends with name NULL */
	int min_words, max_words;   /* max < 0: no limit */
	bool program;		    /* the words are another program's: options end at the first */
	int (*run)(const struct xiw_args *args);
};

extern const struct xiw_cmd xiw_cmd_load, xiw_cmd_unload, xiw_cmd_status, xiw_cmd_serve,
	xiw_cmd_put, xiw_cmd_sink, xiw_cmd_rping, xiw_cmd_perf, xiw_cmd_run, xiw_cmd_help;
extern const struct xiw_cmd *const xiw_cmds[]; /* ends with NULL */
extern const struct xiw_opt xiw_global_opts[]; /* of every command */
extern const struct xiw_args xiw_default_args;

/*
 * Parses the options of args->cmd, or those in front of the command's name if that is NULL. What follows them is in
 * args->words. On failure prints a line and returns an exit code, else 0. Exits for --help and --version.
 */
int xiw_parse_options(int argc, char **argv, struct xiw_args *args);
/* True if there are as many arguments as the command takes; else prints a line. */
bool xiw_check_words(const struct xiw_args *args);

#endif
