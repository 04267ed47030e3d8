/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RFC 5044 sections 4.1 to 4.4, octet by octet: an FPDU in a part of the stream that is in memory. It shares only the
 * CRC with the library, which fuzz_crc32c compares with the definition.
 */
#ifndef XIW_TESTS_FUZZ_MPA_MODEL_H
#define XIW_TESTS_FUZZ_MPA_MODEL_H

#include "tests/fuzz/fuzz.h"

enum model_status { MODEL_WHOLE, MODEL_MORE, MODEL_BAD_LENGTH };

struct model_fpdu {
	enum model_status status;
	uint32_t wire_len; /* 0: not known */
	uint32_t ulpdu_len;
	bool markers_right, crc_right;
	uint8_t ulpdu[65536];
};

bool model_marker_due(bool markers, uint32_t pos);
/*
 * Reads the FPDU at raw[0 .. len), whose first octet has stream position @phase. @repair corrects its markers, and its
 * CRC if it is whole.
 */
void model_parse(struct model_fpdu *f, uint8_t *raw, uint32_t len, bool markers, uint32_t phase,
		 bool repair);

#endif
