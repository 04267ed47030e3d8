// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The messages of `xiwarp put` and `xiwarp serve`: encoding a decoded message gives the same octets. */
#include "tests/fuzz/fuzz.h"
#include "tools/xiwarp/xfer.c"

/* As in the table in xfer.h. */
static bool valid(const uint8_t *p, size_t len)
{
	size_t name;

	if (len < 4 || p[1] != 2)
		return false;
	switch (p[0]) {
	case 1:
		if (len < 18)
			return false;
		name = (size_t)p[16] << 8 | p[17];
		/* The digest is 0, SHA-256, or 1, GMAC, with a key. */
		return !p[2] && p[3] <= 1 && name <= 255 && len == 18 + name + 16 * p[3] &&
		       !memchr(p + 18, 0, name);
	case 2:
		return len == 24;
	case 3:
		return len == 36;
	case 4:
		return len == 12;
	default:
		return false;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	size_t len = size < 400 ? size : 400;
	uint8_t *p = fuzz_take(&in, len), *out = malloc(XIW_XFER_MAX);
	struct xiw_xfer x;

	CHECK(out);
	CHECK(!xiw_xfer_decode(&x, p, len) == valid(p, len));
	if (valid(p, len)) {
		CHECK(len <= XIW_XFER_MAX);
		CHECK(xiw_xfer_encode(&x, out) == len);
		REACHES(p[0] == 1 && p[3] && xiw_xfer_name_ok(x.name), "an OFFER with a key");
		REACHES(p[0] == 1 && !xiw_xfer_name_ok(x.name), "an OFFER with a bad name");
		REACHES(p[0] == 2, "a GRANT");
		REACHES(p[0] == 3, "a DONE");
		REACHES(p[0] == 4, "a RESULT");
		CHECK(!memcmp(out, p, len));
		CHECK(strnlen(x.name, sizeof(x.name)) < sizeof(x.name));
		/* No file name of the peer leads out of the directory. */
		if (xiw_xfer_name_ok(x.name)) {
			CHECK(x.name[0] && x.name[0] != '.' && !strpbrk(x.name, "/\n\r\033\177"));
		}
		CHECK(*xiw_xfer_status_name(x.status));
	}
	free(out);
	free(p);
	return 0;
}
