/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the subcommands share: options, exit codes, addresses, reports. A command is described once, in
 * its struct xiw_cmd: the parser, --help, the man page and the README's reference are made from that.
 */
#ifndef XIW_TOOL_CLI_H
#define XIW_TOOL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <json-c/json.h>

#include <xiwarp/xiwarp.h>

/* RFC 5044 plus 10000: not assigned, not privileged, below Linux's ephemeral ports. */
#define XIW_PORT "15044"

enum xiw_exit {
	XIW_EXIT_OK = 0,
	XIW_EXIT_FAILURE = 1,
	XIW_EXIT_USAGE = 2,
	XIW_EXIT_PRIVILEGE = 3,
	XIW_EXIT_NOT_FOUND = 4,
	XIW_EXIT_BUSY = 5,
	XIW_EXIT_UNSUPPORTED = 6,
	XIW_EXIT_PEER = 7,
	XIW_EXIT_VERIFY = 8,
	XIW_EXIT_SIGNAL = 128,
};

/* Options of all commands together; each command lists those that it takes. */
enum xiw_opt_key {
	XIW_OPT_HELP = 1,
	XIW_OPT_VERSION,
	XIW_OPT_JSON,
	XIW_OPT_PIN_DIR,
	XIW_OPT_MODE,
	XIW_OPT_REPLACE,
	XIW_OPT_FORCE,
	XIW_OPT_WATCH,
	XIW_OPT_LISTEN,
	XIW_OPT_PATH,
	XIW_OPT_ONCE,
	XIW_OPT_TRUST_CHECKSUM,
	XIW_OPT_STAG,
	XIW_OPT_SIZE,
	XIW_OPT_OUT,
	XIW_OPT_MARKERS,
	XIW_OPT_CRC,
	XIW_OPT_QUEUES,
	XIW_OPT_FIRST_MSN,
	XIW_OPT_RECV_SIZE,
	XIW_OPT_REV,
	XIW_OPT_PRIVATE_DATA,
	XIW_OPT_REJECT,
	XIW_OPT_FORMAT,
	XIW_OPT_RTR,
	XIW_OPT_CREATE,
	XIW_OPT_PEER_TIMEOUT,
	XIW_OPT_MAX_SIZE,
	XIW_OPT_KEEP_FREE,
	XIW_OPT_IDLE,

	/* Those that are letters have that as their short form. */
	XIW_OPT_LETTERS = 'A',
	XIW_OPT_COUNT = 'C',
	XIW_OPT_PERSISTENT = 'P',
	XIW_OPT_RPING_SIZE = 'S',
	XIW_OPT_VALIDATE = 'V',
	XIW_OPT_ADDRESS = 'a',
	XIW_OPT_CLIENT = 'c',
	XIW_OPT_PORT = 'p',
	XIW_OPT_SERVER = 's',
	XIW_OPT_VERBOSE = 'v',
};

struct xiw_opt {
	enum xiw_opt_key key;
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
};

/* Values of the options; what a command does not take stays at its default. */
struct xiw_cmd;
struct xiw_args {
	const struct xiw_cmd *cmd;
	bool json, replace, force, create, once, trust_checksum, markers, crc_off, reject;
	const char *pin_dir, *listen, *out, *format, *private_data;
	enum xiw_xdp_mode mode;
	enum xiw_use_path path;
	double watch;
	uint64_t size;
	uint32_t stag, queues, first_msn, recv_size;
	uint32_t peer_timeout; /* seconds; 0: the default */
	uint32_t idle;	       /* the same */
	uint64_t max_size, keep_free;
	uint8_t rev;
	bool stag_given;
	bool server, client, validate, verbose, persistent;
	const char *address, *port;
	uint64_t count;
	uint8_t rtr;  /* enum xiw_rtr */
	char **words; /* what is not an option */
	int nwords;
};

struct xiw_cmd {
	const char *name;
	const char *synopsis;	    /* behind the name */
	const char *summary;	    /* one line */
	const char *text;	    /* paragraphs, separated by an empty line */
	const char *examples;	    /* one per line */
	const struct xiw_opt *opts; /* ends with name NULL */
	int min_words, max_words;   /* max < 0: no limit */
	int (*run)(const struct xiw_args *args);
};

extern const struct xiw_cmd xiw_cmd_load, xiw_cmd_unload, xiw_cmd_status, xiw_cmd_serve,
	xiw_cmd_put, xiw_cmd_sink, xiw_cmd_rping, xiw_cmd_help;
extern const struct xiw_cmd *const xiw_cmds[]; /* ends with NULL */
extern const struct xiw_opt xiw_global_opts[];

/* Options that several commands take: parts of their tables. */
#define XIW_OPT_ENTRY_PEER_TIMEOUT                                                                 \
	{                                                                                          \
		XIW_OPT_PEER_TIMEOUT, "peer-timeout", "SECONDS",                                   \
			"end a connection whose peer gives no sign of life for so long, though "   \
			"asked for one, or does not read; default 30"                              \
	}
#define XIW_OPTS_RECEIVER                                                                          \
	{ XIW_OPT_LISTEN, "listen", "ADDR[:PORT]",                                                 \
	  "where to listen; default: any address, port " XIW_PORT },                               \
		{ XIW_OPT_PATH, "path", "PATH",                                                    \
		  "auto (direct where the interface has the programs, else "                       \
		  "kernel), kernel, or direct (refuse what cannot go "                             \
		  "direct); default auto" },                                                       \
		{ XIW_OPT_ONCE, "once", NULL,                                                      \
		  "end after the first connection, also if its startup fails" },                   \
		XIW_OPT_ENTRY_PEER_TIMEOUT,                                                        \
	{                                                                                          \
		XIW_OPT_TRUST_CHECKSUM, "trust-checksum", NULL,                                    \
			"do not verify TCP checksums on the direct path: the interface has done "  \
			"so, or the wire is a virtual one whose sender leaves them unfinished "    \
			"(of a veth such are taken in any case)"                                   \
	}

/* Parses; on failure prints one line and returns an exit code, else 0. Exits for --help, --version. */
int xiw_args_parse(const struct xiw_cmd *cmd, int argc, char **argv, struct xiw_args *args);

void xiw_help(const struct xiw_cmd *cmd); /* NULL: the whole tool */
void xiw_help_man(void);
void xiw_help_markdown(void);

/* "xiwarp: ..." on standard error, one line; returns code. */
__attribute__((format(printf, 2, 3))) int xiw_fail(int code, const char *fmt, ...);
/* The exit code for a negative errno of the loading functions. */
int xiw_exit_code(int err);

/* Set by SIGINT, SIGTERM and SIGHUP. */
extern volatile int xiw_stop_signal;
void xiw_catch_signals(void);
/* They come too late, for a command that ends by itself and must not end half way. */
void xiw_hold_signals(void);
/* Code, or 128 + n when stopped by signal n. */
int xiw_exit_stopped(int code);

/*
 * Nobody gets to see any more what is written to standard output: to be asked after each report, so that the command
 * ends; main() says why. A pipe that is not written to does not tell.
 */
bool xiw_output_lost(void);
/* Neither that nor a signal yet: what every loop that may last asks. */
bool xiw_go_on(void);

/* "1.5 GiB". */
const char *xiw_octets(uint64_t n, char buf[32]);
/* "1.50 s", "12 us"; "1.79 Gbit/s". */
const char *xiw_seconds(double s, char buf[32]);
const char *xiw_rate(uint64_t octets, double s, char buf[32]);
/* Length of the UTF-8 sequence at `s` (RFC 3629 section 4), its code point in `*code`; 0: it is none. */
size_t xiw_utf8(const char *s, uint32_t *code);
/* How many octets of `s` fit into so many columns of a terminal, and how many columns they take. */
size_t xiw_columns(const char *s, unsigned int most, unsigned int *taken);
/* One line on standard error, written over the last one. */
void xiw_progress(const char *name, uint64_t done, uint64_t total, double seconds, bool last);
uint64_t xiw_now_ns(void);
/* A string from the wire or the file system, made fit for a terminal: UTF-8, and no control characters. */
const char *xiw_printable(const char *s, char *buf, size_t len);
/* "[addr]:port", "a.b.c.d:port". */
const char *xiw_addr_name(const struct sockaddr_storage *addr, char buf[80]);

/*
 * Resolves "HOST", "HOST:PORT", "[ADDR]:PORT", "V6ADDR" or (passive) "". Returns 0 with a list to be
 * freed with freeaddrinfo(), or prints a line and returns an exit code.
 */
struct addrinfo;
int xiw_resolve(const char *text, bool passive, struct addrinfo **list);

/*
 * What the commands need, in one table: --help, the man page and the README have it from here, and
 * tests/net/admin/test_privilege.sh holds the commands to it.
 */
struct xiw_caps_row {
	const char *cmd;
	const char *path; /* direct, kernel; NULL: it makes no difference */
	bool runs_on;	  /* it does not end at once, and drops what it does not keep */
	uint64_t needs, keeps;
};
extern const struct xiw_caps_row xiw_caps_rows[]; /* ends with cmd NULL */
extern const char *const xiw_caps_notes[];	  /* ends with NULL */
/* "CAP_NET_ADMIN, CAP_BPF", or "none". */
const char *xiw_caps_text(uint64_t caps, char *buf, size_t len);

/* What a command may go on with, besides the table's: what it needs to get at the user's files. */
enum xiw_caps_files {
	XIW_CAPS_NO_FILES,
	XIW_CAPS_READ, /* files that the user names are still to be opened */
	XIW_CAPS_WRITE,
};
/*
 * Gives up every capability but those of `cmd` on this path, for good: also out of reach of programs that it
 * might start. `dir`, for XIW_CAPS_WRITE, is where files will be made. Returns an exit code.
 */
int xiw_caps_drop(const char *cmd, bool direct, enum xiw_caps_files files, const char *dir);

/*
 * Does everything that takes privilege, for connections of the local address `addr` or (NULL) any, and gives up
 * what the command does not keep. Says why if there is no direct path; an exit code if it was asked for.
 */
int xiw_prepare(const struct xiw_args *args, struct xiw_engine *engine,
		const struct sockaddr *addr);

/* A peer that vanished is to be noticed by --peer-timeout: sets the connections' limits. */
void xiw_peer_timeout(const struct xiw_args *args, struct xiw_conn_opts *opts);

/* Prints why xiw_engine_create() failed; returns an exit code. */
int xiw_engine_failed(int err);
/* Makes an engine and a listener as the options say; prints the reason when it fails. */
int xiw_receiver_open(const struct xiw_args *args, const struct xiw_conn_opts *opts,
		      struct xiw_engine **engine, struct xiw_listener **listener);

/* How a connection ended, with the RFCs' numbers; NULL if orderly. */
const char *xiw_end_text(const struct xiw_conn_info *info, char buf[256]);
/* Says why there is no connection to a host on which `command` should run; returns an exit code. */
int xiw_connect_failed(const char *target, const struct xiw_conn_info *info, const char *command);
/* Tells of a connection that ended before it asked for anything, and frees it. */
void xiw_startup_failed(struct xiw_conn *conn);
/*
 * An event of no connection that the command knows: says why a listener could not take one, or what ended one before
 * it asked for anything, which is then freed; true: the latter.
 */
bool xiw_unknown_ended(const struct xiw_completion *c);

/* JSON: adds by type; `print` writes one line and frees. */
void xiw_json_u64(struct json_object *o, const char *key, uint64_t value);
void xiw_json_f(struct json_object *o, const char *key, double value, const char *fmt);
void xiw_json_str(struct json_object *o, const char *key, const char *value);
void xiw_json_print(struct json_object *o);

/* Share of the octets that came direct, 0 to 1. */
double xiw_share(uint64_t direct, uint64_t kernel);
const char *xiw_path_name(unsigned int path);
/* Adds `why` counts that are not 0, by name. */
void xiw_json_reasons(struct json_object *o, const char *key, const uint32_t *why);

#endif
