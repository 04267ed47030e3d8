// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fabric_crowd server ADDRESS|- PORT CONNECTIONS BACKLOG CLIENTS FIFO
 * fabric_crowd client ADDRESS PORT CONNECTIONS FIFO
 * fabric_crowd waits ADDRESS PORT
 *
 * Many connections of libfabric. The server looks for requests when so many clients have written to the FIFO, as each
 * does when it has begun all of its own; without any it looks at once. With - its listener has the wildcard address.
 * Clients close when all is established; one that waits has one connection, and prints in how many milliseconds after
 * the end of its standard input the other side is gone. The first failure ends the program.
 */
#include "tests/net/programs/fabric.h"

#include <fcntl.h>
#include <unistd.h>

static unsigned int established, ended;

/* Takes an event, and does what follows from it. */
static void step(void)
{
	struct fi_eq_cm_entry entry;

	switch (event(&entry, NULL, NULL)) {
	case FI_CONNREQ:
		open_endpoint(entry.info, NULL);
		fi_freeinfo(entry.info);
		MUST(fi_accept(end.ep, NULL, 0));
		break;
	case FI_CONNECTED:
		established++;
		break;
	case FI_SHUTDOWN:
		ended++;
		MUST(fi_close(entry.fid));
		break;
	default:
		die("a connection failed");
	}
}

static void await_clients(const char *fifo, int n)
{
	int fd = n ? open(fifo, O_RDWR | O_CLOEXEC) : -1;
	char octet;

	while (n--)
		NEED(read(fd, &octet, 1) == 1);
	close(fd);
}

static void serve(char **arg)
{
	const unsigned int n = (unsigned int)atoi(arg[2]);
	int backlog = atoi(arg[3]);
	struct fid_pep *pep;

	open_end(strcmp(arg[0], "-") ? arg[0] : NULL, arg[1], FI_SOURCE);
	MUST(fi_passive_ep(end.fabric, end.info, &pep, NULL));
	MUST(fi_pep_bind(pep, &end.eq->fid, 0));
	MUST(fi_control(&pep->fid, FI_BACKLOG, &backlog));
	MUST(fi_listen(pep));
	await_clients(arg[5], atoi(arg[4]));
	while (established < n)
		step();
	printf("established %u\n", established);
	while (ended < n)
		step();
	MUST(fi_close(&pep->fid));
	close_end();
}

static struct fid_ep *connect_one(void)
{
	struct fid_ep *ep;

	open_endpoint(end.info, NULL);
	MUST(fi_connect(end.ep, end.info->dest_addr, NULL, 0));
	ep = end.ep;
	end.ep = NULL;
	return ep;
}

static void be_client(char **arg)
{
	const unsigned int n = (unsigned int)atoi(arg[2]);
	struct fid_ep **eps = calloc(n, sizeof(*eps));
	int fd;

	NEED(eps);
	open_end(arg[0], arg[1], 0);
	for (unsigned int i = 0; i < n; i++)
		eps[i] = connect_one();
	fd = open(arg[3], O_RDWR | O_CLOEXEC);
	NEED(fd >= 0 && write(fd, "x", 1) == 1);
	while (established < n)
		step();
	printf("established %u\n", established);
	for (unsigned int i = 0; i < n; i++)
		MUST(fi_close(&eps[i]->fid));
	close_end();
	close(fd);
	free(eps);
}

static void wait_for_end(char **arg)
{
	uint64_t since;

	open_end(arg[0], arg[1], 0);
	connect_one();
	step();
	printf("established %u\n", established);
	while (getchar() != EOF)
		;
	since = now_ms();
	while (!ended)
		step();
	printf("gone after %d ms\n", (int)(now_ms() - since));
	close_end();
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 8 && !strcmp(argv[1], "server"))
		serve(argv + 2);
	else if (argc == 6 && !strcmp(argv[1], "client"))
		be_client(argv + 2);
	else if (argc == 4 && !strcmp(argv[1], "waits"))
		wait_for_end(argv + 2);
	else
		die("fabric_crowd server ADDRESS|- PORT CONNECTIONS BACKLOG CLIENTS FIFO, client "
		    "ADDRESS PORT CONNECTIONS FIFO, or waits ADDRESS PORT");
	return 0;
}
