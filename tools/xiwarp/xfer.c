// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "xfer.h"

#include <errno.h>
#include <string.h>

#include "base/be.h"

static size_t key_size(enum xiw_digest_kind kind)
{
	return kind == XIW_DIGEST_GMAC ? XIW_DIGEST_KEY : 0;
}

size_t xiw_xfer_encode(const struct xiw_xfer *x, uint8_t buf[XIW_XFER_MAX])
{
	size_t len;

	buf[0] = x->type;
	buf[1] = XIW_XFER_VERSION;
	xiw_put_be16(buf + 2, x->status);
	switch (x->type) {
	case XIW_XFER_OFFER:
		len = strlen(x->name);
		xiw_put_be16(buf + 2, x->kind);
		xiw_put_be32(buf + 4, x->mode);
		xiw_put_be64(buf + 8, x->size);
		xiw_put_be16(buf + 16, len);
		memcpy(buf + 18, x->name, len);
		len += 18;
		memcpy(buf + len, x->key, key_size(x->kind));
		return len + key_size(x->kind);
	case XIW_XFER_GRANT:
		xiw_put_be32(buf + 4, x->stag);
		xiw_put_be64(buf + 8, x->base_to);
		xiw_put_be64(buf + 16, x->length);
		return 24;
	case XIW_XFER_DONE:
		memcpy(buf + 4, x->digest, sizeof(x->digest));
		return 4 + sizeof(x->digest);
	default:
		xiw_put_be64(buf + 4, x->size);
		return 12;
	}
}

static int decode_offer(struct xiw_xfer *x, const uint8_t *buf, size_t len)
{
	size_t name_len;

	/* The first four octets are those of every message. */
	if (len < 18 || x->status >= XIW_DIGEST_KINDS)
		return -EBADMSG;
	x->kind = (enum xiw_digest_kind)x->status;
	x->status = 0;
	name_len = xiw_get_be16(buf + 16);
	if (name_len > XIW_XFER_NAME_MAX || len != 18 + name_len + key_size(x->kind) ||
	    memchr(buf + 18, '\0', name_len))
		return -EBADMSG;
	x->mode = xiw_get_be32(buf + 4);
	x->size = xiw_get_be64(buf + 8);
	memcpy(x->name, buf + 18, name_len);
	memcpy(x->key, buf + 18 + name_len, key_size(x->kind));
	return 0;
}

int xiw_xfer_decode(struct xiw_xfer *x, const uint8_t *buf, size_t len)
{
	memset(x, 0, sizeof(*x));
	if (len < 4 || buf[1] != XIW_XFER_VERSION)
		return -EBADMSG;
	x->type = (enum xiw_xfer_type)buf[0];
	x->status = xiw_get_be16(buf + 2);
	switch (buf[0]) {
	case XIW_XFER_OFFER:
		return decode_offer(x, buf, len);
	case XIW_XFER_GRANT:
		if (len != 24)
			return -EBADMSG;
		x->stag = xiw_get_be32(buf + 4);
		x->base_to = xiw_get_be64(buf + 8);
		x->length = xiw_get_be64(buf + 16);
		return 0;
	case XIW_XFER_DONE:
		if (len != 4 + sizeof(x->digest))
			return -EBADMSG;
		memcpy(x->digest, buf + 4, sizeof(x->digest));
		return 0;
	case XIW_XFER_RESULT:
		if (len != 12)
			return -EBADMSG;
		x->size = xiw_get_be64(buf + 4);
		return 0;
	default:
		return -EBADMSG;
	}
}

int xiw_xfer_name_ok(const char *name)
{
	if (!*name || *name == '.' || strchr(name, '/'))
		return 0;
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return 0;
	return 1;
}

const char *xiw_xfer_status_name(unsigned int status)
{
	static const char *const names[] = {
		[XIW_XFER_OK] = "ok",
		[XIW_XFER_BAD_NAME] = "the name is not a plain, visible file name",
		[XIW_XFER_EXISTS] = "the file exists there (serve --force would overwrite it)",
		[XIW_XFER_NO_SPACE] = "no space there",
		[XIW_XFER_TOO_LARGE] = "too large there (the file system, or serve --max-size)",
		[XIW_XFER_MISMATCH] = "the digests differ",
		[XIW_XFER_FAILED] = "the receiver could not make the file",
		[XIW_XFER_NO_MEMORY] = "no memory there for another file (serve --memory)",
	};

	return status < sizeof(names) / sizeof(names[0]) ? names[status] : "unknown reason";
}
