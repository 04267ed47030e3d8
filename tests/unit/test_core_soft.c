// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The ring in plain memory receives and sends as io_uring does. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "soft_rig.h"

/* ---- receives ------------------------------------------------------------------------------------------- */

BOTH(core_soft, receive_once)
{
	uint8_t in[16] = { 0 };

	io_uring_prep_recv(request(1), at[0], in, sizeof(in), 0);
	NOTHING();
	cr_assert_eq(send(at[1], "abc", 3, 0), 3);
	EXPECT({ 1, 3, false });
	cr_expect_arr_eq(in, "abc", 3);
	cr_assert_eq(send(at[1], "de", 2, 0), 2);
	io_uring_prep_recv(request(2), at[0], in, sizeof(in), 0);
	EXPECT({ 2, 2, false });
	shutdown(at[1], SHUT_WR);
	io_uring_prep_recv(request(3), at[0], in, sizeof(in), 0);
	EXPECT({ 3, 0, false });
}

BOTH(core_soft, receive_on_and_on)
{
	const uint8_t *first;

	receive_on(1);
	NOTHING();
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(send(at[1], "abcdefg", 7, 0), 7);
		take(1, WAIT_MS);
		cr_assert(got[0].flags & IORING_CQE_F_BUFFER);
		first = e->io.buf_area +
			(size_t)(got[0].flags >> IORING_CQE_BUFFER_SHIFT) * XIW_BUF_SIZE;
		cr_expect_arr_eq(first, "abcdefg", 7);
		EXPECT({ 1, 7, true });
		xiw_buf_taken(e);
		xiw_buf_return(e, (uint16_t)((first - e->io.buf_area) / XIW_BUF_SIZE));
	}
	shutdown(at[1], SHUT_WR);
	EXPECT({ 1, 0, false });
}

/* More than a buffer: the octets are in the buffers in the order of the completions. */
BOTH(core_soft, receive_many_octets)
{
	uint64_t have = 0, bad = 0;
	const uint64_t len = 5 * XIW_BUF_SIZE + 123;
	const int room = 2 << 20;
	const uint8_t *from;

	setsockopt(at[0], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	for (uint64_t i = 0; i < len; i++)
		octets[i] = (uint8_t)(i * 7 + i / 251);
	receive_on(1);
	for (uint64_t sent = 0; have < len;) {
		ssize_t n = send(at[1], octets + sent, len - sent, MSG_DONTWAIT);

		sent += n > 0 ? (uint64_t)n : 0;
		take(1, QUIET_MS);
		for (unsigned int i = 0; i < ngot; i++) {
			const uint16_t bid = (uint16_t)(got[i].flags >> IORING_CQE_BUFFER_SHIFT);

			cr_assert(got[i].res > 0 && got[i].flags & IORING_CQE_F_MORE);
			from = e->io.buf_area + (size_t)bid * XIW_BUF_SIZE;
			bad += !!memcmp(from, octets + have, (size_t)got[i].res);
			have += (uint64_t)got[i].res;
			xiw_buf_taken(e);
			xiw_buf_return(e, bid);
		}
		ngot = 0;
	}
	cr_expect_eq(have, len);
	cr_expect_eq(bad, 0);
	cancel(2, 1);
	EXPECT({ 1, -ECANCELED, false }, { 2, 0, false });
}

BOTH(core_soft, receive_without_a_buffer)
{
	/* As if all were in use: those that the ring was offered are taken by another socket. */
	const int mine[2] = { at[0], at[1] };

	connect_both();
	receive_on(1);
	for (unsigned int i = 0; i < XIW_BUFS_OFFERED; i++) {
		cr_assert_eq(send(at[1], "x", 1, 0), 1);
		take(i + 1, WAIT_MS);
	}
	ngot = 0;
	cancel(2, 1);
	take(2, WAIT_MS);
	ngot = 0;
	forget_close(at[0]);
	close(at[1]);
	at[0] = mine[0];
	at[1] = mine[1];
	receive_on(3);
	cr_assert_eq(send(at[1], "abc", 3, 0), 3);
	EXPECT({ 3, -ENOBUFS, false });
}

BOTH(core_soft, receive_what_was_reset)
{
	receive_on(1);
	NOTHING();
	reset(at[1]);
	EXPECT({ 1, -ECONNRESET, false });
	receive_on(2);
	EXPECT({ 2, 0, false });
	at[1] = -1;
}

BOTH(core_soft, cancel_a_receive)
{
	receive_on(1);
	NOTHING();
	cancel(2, 1);
	EXPECT({ 1, -ECANCELED, false }, { 2, 0, false });
	cancel(3, 1);
	EXPECT({ 3, -ENOENT, false });
	receive_on(4);
	cr_assert_eq(send(at[1], "abc", 3, 0), 3);
	EXPECT({ 4, 3, true });
	cancel(5, 4);
	EXPECT({ 4, -ECANCELED, false }, { 5, 0, false });
}

/* ---- sends ---------------------------------------------------------------------------------------------- */

/* Small buffers, so that a long message has to wait for its reader. */
static void narrow(void)
{
	const int small = 4096;

	setsockopt(at[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(at[1], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
}

static uint64_t read_all(int fd)
{
	static uint8_t in[65536];
	uint64_t n = 0;
	ssize_t some;

	while ((some = recv(fd, in, sizeof(in), MSG_DONTWAIT)) > 0)
		n += (uint64_t)some;
	return n;
}

BOTH(core_soft, send_short)
{
	uint8_t in[3];

	io_uring_prep_send(request(1), at[0], "abc", 3, MSG_WAITALL);
	io_uring_prep_nop(request(2));
	take(2, WAIT_MS);
	cr_expect_eq(got[0].user_data, 1);
	EXPECT({ 1, 3, false }, { 2, 0, false });
	cr_expect_eq(recv(at[1], in, 3, MSG_WAITALL), 3);
	cr_expect_arr_eq(in, "abc", 3);
}

/* MSG_WAITALL: the completion comes when TCP has all of it, however often TCP is full. */
BOTH(core_soft, send_long)
{
	const int len = 128 << 10;
	uint64_t read = 0;

	narrow();
	io_uring_prep_send(request(1), at[0], octets, (size_t)len, MSG_WAITALL);
	NOTHING();
	for (int i = 0; i < 100000 && !ngot; i++) {
		read += read_all(at[1]);
		take(1, 1);
	}
	EXPECT({ 1, len, false });
	while (read < (uint64_t)len)
		read += read_all(at[1]);
	cr_expect_eq(read, (uint64_t)len);
}

BOTH(core_soft, send_into_a_full_socket)
{
	narrow();
	while (send(at[0], octets, 65536, MSG_DONTWAIT) > 0)
		;
	io_uring_prep_send(request(1), at[0], octets, 100, MSG_DONTWAIT);
	EXPECT({ 1, -EAGAIN, false });
	io_uring_prep_send(request(2), at[0], octets, 100, MSG_WAITALL);
	NOTHING();
	cancel(3, 2);
	EXPECT({ 2, -ECANCELED, false }, { 3, 0, false });
}

/* What TCP has taken counts, and not that the rest was refused. */
BOTH(core_soft, send_a_part)
{
	narrow();
	io_uring_prep_send(request(1), at[0], octets, 1 << 20, MSG_WAITALL);
	NOTHING();
	reset(at[1]);
	take(1, WAIT_MS);
	cr_expect(ngot == 1 && got[0].res > 0 && got[0].res < 1 << 20, "%d", got[0].res);
	ngot = 0;
	io_uring_prep_send(request(2), at[0], octets, 1, MSG_WAITALL);
	take(1, WAIT_MS);
	cr_expect(got[0].res == -EPIPE || got[0].res == -ECONNRESET, "%d", got[0].res);
	ngot = 0;
	at[1] = -1;
}
