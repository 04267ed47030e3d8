// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * verbs_ends list
 * verbs_ends passive|active CASE ADDRESS PORT
 *
 * ADDRESS is the passive side's, where it listens on PORT by librdmacm, and on PORT + 1 for the steps of the case.
 */
#include "tests/net/programs/verbs_ends.h"

#include <unistd.h>

const char *peer_host, *peer_port;
struct side listening;
static int steps;

static const struct verbs_case *const all[] = {
	cases_of_ends,	   cases_of_events,   cases_of_work,   cases_of_objects,
	cases_of_async,	   cases_of_refusals, cases_of_turns,  cases_of_memory,
	cases_of_threads,  cases_of_signals,  cases_of_limits, cases_of_completions,
	cases_of_channels, cases_of_habits,   cases_of_rights, cases_of_holds,
	cases_of_gone
};

void tell(uint64_t number)
{
	IS(write(steps, &number, sizeof(number)) == sizeof(number));
}

uint64_t told(void)
{
	uint64_t number;

	return recv(steps, &number, sizeof(number), MSG_WAITALL) == sizeof(number) ? number
										   : UINT64_MAX;
}

void meet(void)
{
	tell(1);
	IS(told() == 1);
}

static int open_steps(int (*use)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_storage at;
	socklen_t len = address_of(peer_host, (uint16_t)(atoi(peer_port) + 1), &at);
	int fd = socket(at.ss_family, SOCK_STREAM, 0), one = 1;

	IS(len && fd >= 0);
	IS(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	IS(!use(fd, (struct sockaddr *)&at, len));
	return fd;
}

static void stand_by(void)
{
	int fd = open_steps(bind);

	IS(!listen(fd, 1));
	steps = accept(fd, NULL, NULL);
	IS(steps >= 0);
	close(fd);
}

static void serve(const struct verbs_case *c)
{
	struct sockaddr_storage at;
	socklen_t len = address_of(peer_host, (uint16_t)atoi(peer_port), &at);

	IS(len);
	IS(listening.channel = rdma_create_event_channel());
	IS(!rdma_create_id(listening.channel, &listening.id, NULL, RDMA_PS_TCP));
	IS(!rdma_bind_addr(listening.id, (struct sockaddr *)&at));
	IS(!rdma_listen(listening.id, 16));
	stand_by();
	if (c->passive)
		c->passive();
	IS(told() == UINT64_MAX); /* it is done */
	if (listening.id)
		IS(!rdma_destroy_id(listening.id));
	IS(!readable(listening.channel->fd, 0));
	rdma_destroy_event_channel(listening.channel);
}

static void reach(const struct verbs_case *c)
{
	steps = open_steps(connect);
	c->active();
}

static const struct verbs_case *find(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const struct verbs_case *c = all[i]; c->name; c++) {
			if (!name)
				puts(c->name);
			else if (!strcmp(c->name, name))
				return c;
		}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct verbs_case *c;

	if (argc == 2 && !strcmp(argv[1], "list")) {
		find(NULL);
		return 0;
	}
	if (argc != 5 || !(c = find(argv[2])))
		die("verbs_ends list | passive|active CASE ADDRESS PORT");
	alarm(60); /* nothing may hang */
	peer_host = argv[3];
	peer_port = argv[4];
	if (!strcmp(argv[1], "passive"))
		serve(c);
	else
		reach(c);
	return 0;
}
