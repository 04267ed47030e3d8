// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What several kinds of objects need. */
#include <poll.h>
#include <string.h>

#include "base/now.h"
#include "fabric/fabric.h"

long xiw_fi_none(void)
{
	return -FI_ENOSYS;
}

struct xiw_fi_nothing xiw_fi_nothing = {
	.size = sizeof(xiw_fi_nothing),
	.slot = { [0 ... XIW_FI_SLOTS - 1] = XIW_FI_NONE },
};

int64_t xiw_fi_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? INT64_MAX : (int64_t)xiw_now_ms() + timeout_ms;
}

bool xiw_fi_sleep(int fd, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left = deadline == INT64_MAX ? -1 : deadline - (int64_t)xiw_now_ms();

	if (left < 0 && deadline != INT64_MAX)
		return false;
	return poll(&p, 1, (int)left) > 0;
}

int xiw_fi_wait_control(enum fi_wait_obj wait, struct xiw_host_eq *eq, int command, void *arg)
{
	switch (command) {
	case FI_GETWAIT:
		if (wait == FI_WAIT_NONE)
			return -FI_ENODATA;
		*(int *)arg = xiw_host_eq_fd(eq);
		return 0;
	case FI_GETWAITOBJ:
		/* FI_WAIT_UNSPEC leaves it to us. ofi_rxm asks what it is, to wait for several at once. */
		*(enum fi_wait_obj *)arg = wait == FI_WAIT_NONE ? FI_WAIT_NONE : FI_WAIT_FD;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

bool xiw_fi_vector_fits(uint64_t flags, int vector)
{
	return !(flags & ~FI_AFFINITY) && (!(flags & FI_AFFINITY) || !vector);
}

socklen_t xiw_fi_addr_len(const void *addr)
{
	return ((const struct sockaddr *)addr)->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								      : sizeof(struct sockaddr_in);
}

int xiw_fi_give_addr(const struct sockaddr_storage *addr, socklen_t addr_len, void *to, size_t *len)
{
	const size_t room = *len;

	*len = addr_len;
	/* Who asks for the length alone gives no room. */
	if (room)
		memcpy(to, addr, room < addr_len ? room : addr_len);
	return room < addr_len ? -FI_ETOOSMALL : 0;
}

/* ---- private data ------------------------------------------------------------------------------------------ */

int xiw_fi_frame(struct xiw_fi_frame *frame, const void *param, size_t len)
{
	if (len > XIW_FI_PARAM_MAX || (len && !param))
		return -FI_EINVAL;
	frame->octets[0] = (uint8_t)len;
	if (len)
		memcpy(&frame->octets[1], param, len);
	frame->len = 1 + len;
	return 0;
}

size_t xiw_fi_unframe(const struct xiw_host_event *event, const uint8_t **data)
{
	*data = event->private_data;
	if (!event->private_len || event->private_data[0] >= event->private_len)
		return event->private_len;
	++*data;
	return event->private_data[0];
}

int xiw_fi_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	const size_t cm_data_size = XIW_FI_PARAM_MAX;

	(void)fid;
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	if (*len < sizeof(cm_data_size))
		return -FI_ETOOSMALL;
	memcpy(value, &cm_data_size, sizeof(cm_data_size));
	*len = sizeof(cm_data_size);
	return 0;
}
