// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs a fuzz target over its corpus and its regressions without libFuzzer: with any compiler, as a test.
 *
 *	fuzz_x			tests/fuzz/corpus/fuzz_x, tests/fuzz/regress/fuzz_x
 *	fuzz_x FILE|DIR ...	these
 */
#include <dirent.h>
#include <libgen.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

/* The linker makes these, if the target has goals. */
extern struct fuzz_goal *const __start_fuzz_goals[] __attribute__((weak));
extern struct fuzz_goal *const __stop_fuzz_goals[] __attribute__((weak));

static char current[4096];
static unsigned int inputs;

/* Name the input, whatever ends the process. */
static void tell(void)
{
	static const char head[] = "FAIL input: ";
	size_t len = strlen(current);

	if (!len)
		return;
	current[len] = '\n';
	if (write(STDOUT_FILENO, head, sizeof(head) - 1) < 0 ||
	    write(STDOUT_FILENO, current, len + 1) < 0)
		_exit(2);
}

static void on_signal(int sig)
{
	tell();
	signal(sig, SIG_DFL);
	raise(sig);
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long size;

	CHECK(f, "%s", path);
	CHECK(!fseek(f, 0, SEEK_END));
	size = ftell(f);
	CHECK(size >= 0 && !fseek(f, 0, SEEK_SET));
	data = malloc(size ? (size_t)size : 1);
	CHECK(data);
	CHECK(fread(data, 1, (size_t)size, f) == (size_t)size, "%s", path);
	fclose(f);
	snprintf(current, sizeof(current) - 1, "%s", path);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	current[0] = '\0';
	free(data);
	inputs++;
}

static void run_path(const char *path)
{
	struct dirent *entry;
	struct stat st;
	char name[2048];
	DIR *dir;

	if (stat(path, &st))
		return; /* a target without regressions */
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	dir = opendir(path);
	CHECK(dir, "%s", path);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		CHECK(snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) <
		      (int)sizeof(name));
		run_path(name);
	}
	closedir(dir);
}

/* An input of the corpus that does reach it is found by `make fuzz` and then `tests/fuzz/run --merge`. */
static void check_goals(void)
{
	unsigned int missed = 0;

	for (struct fuzz_goal *const *g = __start_fuzz_goals; g < __stop_fuzz_goals; g++) {
		if ((*g)->reached)
			continue;
		printf("FAIL goal: no input reaches this: %s\n", (*g)->what);
		missed++;
	}
	fflush(stdout);
	CHECK(!missed);
}

int main(int argc, char **argv)
{
	static const int fatal[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	char dir[256];

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		signal(fatal[i], on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(tell);
	/* libFuzzer begins with the empty input too. */
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	if (argc < 2) {
		snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s", basename(argv[0]));
		run_path(dir);
		CHECK(inputs, "no input in %s", dir);
		snprintf(dir, sizeof(dir), "tests/fuzz/regress/%s", basename(argv[0]));
		run_path(dir);
		check_goals();
	}
	printf("PASS corpus (%u inputs)\n", inputs);
	return 0;
}
