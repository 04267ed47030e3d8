// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an RDMAP Stream keeps of a posted operation: pieces, copied octets, flags. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/rdmap_rig.h"

TestSuite(rdmap_post, .init = rdmap_begin, .fini = rdmap_end);

static uint8_t octets[1 << 16];

static struct xiw_rdma_work work(enum xiw_rdma_kind kind, const struct iovec *iov,
				 unsigned int count)
{
	return (struct xiw_rdma_work){
		.size = sizeof(struct xiw_rdma_work),
		.kind = kind,
		.iov = iov,
		.iov_count = count,
		.stag = 0x99,
	};
}

/* Takes the next message, and gathers its octets. */
static uint32_t next(struct xiw_rdmap_out *out, uint8_t *to)
{
	struct xiw_vec whole;
	struct xiw_vec_cur at;

	cr_assert_eq(xiw_rdmap_next(&s, out), 1);
	whole = (struct xiw_vec){ out->buf, out->len };
	at = xiw_vec_at(out->npieces ? out->pieces : &whole, out->npieces ? out->npieces : 1, 0);
	cr_assert_eq(xiw_vec_take(&at, to, out->len), out->len);
	return out->len;
}

Test(rdmap_post, gathers)
{
	struct iovec iov[XIW_RDMA_PIECES_MAX + 1];
	struct xiw_rdma_work w = work(XIW_RDMA_WRITE, iov, XIW_RDMA_PIECES_MAX);
	uint8_t got[1024], expected[1024];
	struct xiw_rdmap_out out;
	uint32_t len = 0;

	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t i = 0; i <= XIW_RDMA_PIECES_MAX; i++) {
		iov[i] = (struct iovec){ octets + 500 * i, i == 3 ? 0 : 2 * i };
		if (i == XIW_RDMA_PIECES_MAX)
			break;
		memcpy(expected + len, iov[i].iov_base, iov[i].iov_len);
		len += (uint32_t)iov[i].iov_len;
	}
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -ENOMEM); /* there is no room yet */
	cr_assert_eq(xiw_rdmap_make_rooms(&s), 0);
	/* Every place of the queue, and twice, so that a room is used again. */
	for (uint64_t i = 0; i < 2 * DEPTH; i++) {
		struct xiw_rdmap_op op;

		w.kind = i & 1 ? XIW_RDMA_SEND : XIW_RDMA_WRITE;
		cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
		cr_expect_eq(next(&out, got), len);
		cr_expect_arr_eq(got, expected, len);
		xiw_rdmap_sent(&s, out.id, true);
		cr_expect(xiw_rdmap_completed(&s, &op) && op.op.len == len && !op.failed);
	}
	w.iov_count++;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
}

/* The array of pieces is the caller's again, and so is the memory of inline octets. */
Test(rdmap_post, keeps_copies)
{
	struct iovec iov[3] = { { octets, 100 }, { octets + 200, 0 }, { octets + 300, 156 } };
	struct xiw_rdma_work w = work(XIW_RDMA_SEND, iov, 3);
	uint8_t got[XIW_RDMA_INLINE_MAX];
	struct xiw_rdmap_out out;

	cr_assert_eq(xiw_rdmap_make_rooms(&s), 0);
	memset(octets, 1, sizeof(octets));
	cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
	w.flags = XIW_RDMA_INLINE;
	cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
	w.iov_count = 1;
	cr_assert_eq(xiw_rdmap_post_work(&s, &w), 0);
	memset(iov, 0xff, sizeof(iov));
	memset(octets, 2, sizeof(octets));
	cr_expect_eq(next(&out, got), 256); /* not inline: the memory as it is now */
	cr_expect(out.npieces == 3 && got[0] == 2 && got[255] == 2);
	cr_expect_eq(next(&out, got), 256);
	cr_expect(!out.npieces && got[0] == 1 && got[255] == 1);
	cr_expect_eq(next(&out, got), 100);
	cr_expect(got[0] == 1 && got[99] == 1);
}

Test(rdmap_post, refuses)
{
	struct iovec iov[2] = { { octets, XIW_RDMA_INLINE_MAX }, { octets, 1 } };
	struct xiw_rdma_work w = work(XIW_RDMA_SEND, iov, 2);

	cr_assert_eq(xiw_rdmap_make_rooms(&s), 0);
	w.flags = XIW_RDMA_INLINE;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EMSGSIZE);
	iov[1].iov_len = 0;
	iov[1].iov_base = NULL;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), 0);
	iov[1].iov_len = 1;
	w.flags = 0;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL); /* no memory */
	iov[1].iov_base = octets;
	iov[0].iov_len = UINT32_MAX;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EMSGSIZE);
	iov[0].iov_len = SIZE_MAX;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EMSGSIZE);
	iov[0].iov_len = 1;
	w.len = 2; /* the pieces have the length */
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	w.len = 0;
	w.kind = XIW_RDMA_WRITE;
	w.to = UINT64_MAX - 1;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL); /* TO wraps */
	w.to = 0;
	w.iov = NULL;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	w = work(XIW_RDMA_READ, NULL, 0);
	w.flags = XIW_RDMA_INLINE;
	cr_expect_eq(xiw_rdmap_post_work(&s, &w), -EINVAL);
	cr_expect_eq(s.tail, 1);
}
