// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/peer/end.h"

int control;
char events[512];

void say(const char *fmt, ...)
{
	char line[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	if (write(control, line, (size_t)n) != n)
		die_errno("control");
}

enum xiw_use_path await_control(int argc, char **argv)
{
	int l;

	if (argc != 3 || (strcmp(argv[2], "kernel") && strcmp(argv[2], "direct"))) {
		fprintf(stderr, "usage: %s CONTROL-PORT kernel|direct\n",
			program_invocation_short_name);
		exit(2);
	}
	l = listen_on((uint16_t)atoi(argv[1]));
	control = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	if (control < 0)
		die_errno("accept");
	close(l);
	return strcmp(argv[2], "direct") ? XIW_USE_KERNEL : XIW_USE_DIRECT;
}

bool take_words(const struct number *numbers, size_t n,
		void (*other)(void *ctx, const char *key, const char *value), void *ctx)
{
	char text[1024], *word, *save, *value;
	size_t len = 0, i;

	while (len + 1 < sizeof(text) && read(control, text + len, 1) == 1 && text[len] != '\n')
		len++;
	if (text[len] != '\n')
		return false;
	text[len] = '\0';
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		value = strchr(word, '=');
		if (!value)
			continue;
		*value++ = '\0';
		for (i = 0; i < n && strcmp(word, numbers[i].key); i++)
			;
		if (i < n)
			*numbers[i].to = (int)strtol(value, NULL, 0);
		else if (other)
			other(ctx, word, value);
	}
	return true;
}

struct xiw_conn *open_as(int role, int port, struct xiw_engine *engine,
			 const struct xiw_conn_opts *opts, struct xiw_listener **listener)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct xiw_conn *conn = NULL;
	socklen_t len = sizeof(a);
	int err;

	if (role == 'i')
		getpeername(control, (struct sockaddr *)&a, &len);
	a.sin_port = htons((uint16_t)port);
	if (role == 'i')
		err = xiw_connect(engine, (struct sockaddr *)&a, sizeof(a), opts, &conn);
	else
		err = xiw_listen(engine, (struct sockaddr *)&a, sizeof(a), opts, listener);
	if (err)
		say("failed %d", err);
	else
		say("ready");
	return conn;
}

/* ---- RDMAP ----------------------------------------------------------------------------------- */

void add_event(char letter)
{
	size_t n = strlen(events);

	if (n + 1 < sizeof(events)) {
		events[n] = letter;
		events[n + 1] = '\0';
	}
}

void note_event(enum xiw_event e)
{
	static const char letters[] = {
		[XIW_EV_CONNECTED] = 'C', [XIW_EV_RECEIVED] = 'r',   [XIW_EV_SENT] = 's',
		[XIW_EV_READ] = 'd',	  [XIW_EV_FLUSHED] = 'f',    [XIW_EV_ERROR] = 'e',
		[XIW_EV_EOF] = 'E',	  [XIW_EV_TERMINATED] = 't', [XIW_EV_REFUSED] = 'F',
		[XIW_EV_CLOSED] = 'X',	  [XIW_EV_ATOMIC] = 'a',
	};

	if (e != XIW_EV_REQUEST)
		add_event(e < sizeof(letters) && letters[e] ? letters[e] : '?');
}

void terminate_text(char text[64], const struct xiw_rdma_terminate_info *t)
{
	if (t->present)
		snprintf(text, 64, "%u.%u.%u%s%s%s%s", t->layer, t->etype, t->code,
			 t->has_segment_len ? "M" : "", t->has_ddp_header ? "D" : "",
			 t->has_read_request ? "R" : "", t->reversed ? "-siw" : "");
	else
		snprintf(text, 64, "none");
}
