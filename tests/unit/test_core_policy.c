// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The administrator's policy on CRCs (RFC 5044 section 4.4): who can set it, and how it is read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/policy.h"

static char dir[] = "/tmp/xiw-policy.XXXXXX", path[64], why[256];

static void setup(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/conf", dir);
	cr_assert_eq(chmod(dir, 0755), 0);
}

static void teardown(void)
{
	unlink(path);
	rmdir(path);
	rmdir(dir);
}

TestSuite(core_policy, .init = setup, .fini = teardown);

static void write_text(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
	cr_assert_eq(chmod(path, 0644), 0);
}

static enum xiw_crc_policy said(const char *text)
{
	write_text(text, strlen(text));
	return xiw_policy_crc_of(path, why, sizeof(why));
}

/* Only a file that root owns allows anything, so this test shows something only if root runs it. */
#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid())                                                                     \
			cr_skip_test("needs root");                                                \
	} while (0)

Test(core_policy, crc_is_required_unless_told_otherwise)
{
	cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_expect_str_empty(why, "a missing file is no error");
	NEEDS_ROOT();
	cr_expect_eq(said(""), XIW_CRC_REQUIRED);
	cr_expect_str_empty(why);
	cr_expect_eq(said("# crc off\n\n  \t\n"), XIW_CRC_REQUIRED);
	cr_expect_str_empty(why);
	cr_expect_eq(said("crc required\n"), XIW_CRC_REQUIRED);
	cr_expect_str_empty(why);
}

Test(core_policy, words)
{
	static const char *const optional[] = { "crc optional", "crc optional\n",
						"  crc\toptional  # on the storage net\r\n",
						"# host\n\ncrc optional\n",
						"crc off\ncrc optional\n" };

	NEEDS_ROOT();
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
		cr_expect_eq(said(optional[i]), XIW_CRC_OPTIONAL, "%s", optional[i]);
		cr_expect_str_empty(why);
	}
	cr_expect_eq(said("crc off\n"), XIW_CRC_OFF);
}

Test(core_policy, what_makes_no_sense_allows_nothing)
{
	static const char *const wrong[] = {
		"crc",	      "crc off x",	    "crc OFF",	   "off", "crc=off", "crcoff",
		"markers on", "crc off\ncrc maybe", "crc off\nx\n"
	};
	char *text = calloc(1, 5000);

	NEEDS_ROOT();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_expect_eq(said(wrong[i]), XIW_CRC_REQUIRED, "%s", wrong[i]);
		cr_expect(strstr(why, path) && strstr(why, "line "), "%s: %s", wrong[i], why);
	}
	write_text("crc off\n\0", 9);
	cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_expect(strstr(why, "no text"));
	memset(text, '\n', 4999);
	memcpy(text, "crc off", 7);
	cr_expect_eq(said(text), XIW_CRC_REQUIRED);
	text[4096] = '\0';
	cr_expect_eq(said(text), XIW_CRC_OFF);
	free(text);
}

Test(core_policy, only_root_s_file_counts)
{
	static const mode_t modes[] = { 0664, 0646, 0620, 0602, 0777 };
	char target[80];

	NEEDS_ROOT();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		cr_assert_eq(said("crc off"), XIW_CRC_OFF);
		cr_assert_eq(chmod(path, modes[i]), 0);
		cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_REQUIRED, "%o",
			     modes[i]);
		cr_expect(strstr(why, "chmod go-w"));
	}
	cr_assert_eq(said("crc off"), XIW_CRC_OFF);
	cr_assert_eq(chown(path, 65534, 0), 0);
	cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_assert_eq(chown(path, 0, 65534), 0);
	cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_OFF);

	snprintf(target, sizeof(target), "%s/target", dir);
	cr_assert_eq(rename(path, target), 0);
	cr_assert_eq(symlink(target, path), 0);
	cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_expect(*why);
	unlink(path);
	unlink(target);
	cr_assert_eq(mkdir(path, 0755), 0);
	cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_expect(strstr(why, "is no file"));
	rmdir(path);
	/* A FIFO without a writer: opening it must not wait. */
	cr_assert_eq(mkfifo(path, 0644), 0);
	cr_expect_eq(xiw_policy_crc_of(path, why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_expect(strstr(why, "is no file"));
}

Test(core_policy, only_root_names_another_file)
{
	NEEDS_ROOT();
	if (!access(XIW_CONF_FILE, F_OK))
		cr_skip_test("this host has a " XIW_CONF_FILE);
	cr_assert_eq(said("crc off"), XIW_CRC_OFF);
	cr_assert_eq(setenv("XIW_CONF", path, 1), 0);
	cr_expect_eq(xiw_policy_crc(why, sizeof(why)), XIW_CRC_OFF);
	/* Like a set-user-ID program that another user runs. */
	cr_assert_eq(setresuid(65534, 0, 0), 0);
	cr_expect_eq(xiw_policy_crc(why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_assert_eq(setresuid(65534, 65534, 0), 0);
	cr_expect_eq(xiw_policy_crc(why, sizeof(why)), XIW_CRC_REQUIRED);
	cr_assert_eq(setresuid(0, 0, 0), 0);
	cr_expect_eq(xiw_policy_crc(why, sizeof(why)), XIW_CRC_OFF);
}
