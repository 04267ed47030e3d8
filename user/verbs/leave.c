// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ways by which a program leaves without its destructors: what it has posted is TCP's by then. fork() and the
 * processes that libc starts by itself are none: their parent goes on.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/leave.h"
#include "verbs/verbs.h"

/*
 * Looked up before, as dlsym() has locks, and these functions may be called by the handler of a signal. Constructors of
 * the program's libraries run before ours: who calls from there looks it up at once.
 */
static struct {
	void (*exit)(int);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int);
	int (*fexecve)(int, char *const *, char *const *);
	int (*execve)(const char *, char *const *, char *const *);
} real;

/* Threads that look it up at once find the same. */
static void *look_up(void *at, const char *function)
{
	void *found = __atomic_load_n((void **)at, __ATOMIC_RELAXED);

	if (!found) {
		found = xiw_real(function);
		__atomic_store_n((void **)at, found, __ATOMIC_RELAXED);
	}
	return found;
}

#define REAL(function) ((__typeof__(real.function))look_up(&real.function, #function))

__attribute__((constructor)) static void begin(void)
{
	look_up(&real.exit, "_exit");
	REAL(execve);
	REAL(execvpe);
	REAL(execveat);
	REAL(fexecve);
	/* The first that is registered is called last, and quick_exit() ends within libc. */
	at_quick_exit(xiw_host_hand_over);
}

XIW_INTERPOSE void _exit(int status)
{
	xiw_host_hand_over();
	if (look_up(&real.exit, "_exit"))
		real.exit(status);
	while (true)
		syscall(__NR_exit_group, status);
}

XIW_INTERPOSE void _Exit(int status)
{
	_exit(status);
}

XIW_INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
	xiw_host_hand_over();
	return REAL(execve)(path, argv, envp);
}

XIW_INTERPOSE int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

XIW_INTERPOSE int execvpe(const char *file, char *const argv[], char *const envp[])
{
	xiw_host_hand_over();
	return REAL(execvpe)(file, argv, envp);
}

XIW_INTERPOSE int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

XIW_INTERPOSE int execveat(int dir, const char *path, char *const argv[], char *const envp[],
			   int flags)
{
	xiw_host_hand_over();
	return REAL(execveat)(dir, path, argv, envp, flags);
}

XIW_INTERPOSE int fexecve(int fd, char *const argv[], char *const envp[])
{
	xiw_host_hand_over();
	return REAL(fexecve)(fd, argv, envp);
}

static size_t count(va_list args)
{
	size_t n = 1;

	while (va_arg(args, char *))
		n++;
	return n;
}

/* Calls `exec` with the arguments behind the first, which NULL ends, and the environment that may be behind that. */
static int list(int (*exec)(const char *, char *const *, char *const *), const char *path,
		const char *first, bool has_env, va_list args)
{
	va_list again;
	size_t n;
	char **argv, **env;

	va_copy(again, args);
	n = first ? count(again) + 1 : 1;
	va_end(again);
	argv = __builtin_alloca(n * sizeof(*argv));
	argv[0] = (char *)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(args, char *);
	env = has_env ? va_arg(args, char **) : environ;
	return exec(path, argv, env);
}

XIW_INTERPOSE int execl(const char *path, const char *arg, ...)
{
	va_list args;
	int rc;

	va_start(args, arg);
	rc = list(execve, path, arg, false, args);
	va_end(args);
	return rc;
}

XIW_INTERPOSE int execlp(const char *file, const char *arg, ...)
{
	va_list args;
	int rc;

	va_start(args, arg);
	rc = list(execvpe, file, arg, false, args);
	va_end(args);
	return rc;
}

XIW_INTERPOSE int execle(const char *path, const char *arg, ...)
{
	va_list args;
	int rc;

	va_start(args, arg);
	rc = list(execve, path, arg, true, args);
	va_end(args);
	return rc;
}
