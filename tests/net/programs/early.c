// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * early FUNCTION - becomes another program, echo, by one of the functions of exec before any constructor has run, as
 * the constructor of a library that was initialized first may do it.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ECHO "/bin/echo"

static void become(int argc, char **argv, char **envp)
{
	char *const args[] = { (char *)"echo", (char *)"early", NULL };

	if (argc < 2)
		return;
	if (!strcmp(argv[1], "execve"))
		execve(ECHO, args, envp);
	if (!strcmp(argv[1], "execvpe"))
		execvpe(ECHO, args, envp);
	if (!strcmp(argv[1], "execveat"))
		execveat(AT_FDCWD, ECHO, args, envp, 0);
	if (!strcmp(argv[1], "fexecve"))
		fexecve(open(ECHO, O_RDONLY), args, envp);
	if (!strcmp(argv[1], "_exit"))
		_exit(5);
}

__attribute__((section(".preinit_array"), used)) static void (*first)(int, char **,
								      char **) = become;

int main(void)
{
	return 1;
}
