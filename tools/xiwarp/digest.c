// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "digest.h"

#include <string.h>

#define GMAC_SIZE 16
#define ADD_MOST (1u << 30) /* OpenSSL takes lengths as int */

bool xiw_digest_begin(struct xiw_digest *d, enum xiw_digest_kind kind,
		      const uint8_t key[XIW_DIGEST_KEY])
{
	/* A key is used once, so that the nonce may be fixed. */
	static const uint8_t nonce[12];

	memset(d, 0, sizeof(*d));
	if (kind == XIW_DIGEST_SHA256) {
		d->sha256 = EVP_MD_CTX_new();
		return d->sha256 && EVP_DigestInit_ex(d->sha256, EVP_sha256(), NULL);
	}
	d->gmac = EVP_CIPHER_CTX_new();
	return d->gmac && EVP_EncryptInit_ex(d->gmac, EVP_aes_128_gcm(), NULL, key, nonce);
}

bool xiw_digest_add(struct xiw_digest *d, const uint8_t *octets, size_t len)
{
	int out, n;

	if (d->sha256)
		return EVP_DigestUpdate(d->sha256, octets, len);
	for (; len; octets += n, len -= (size_t)n) {
		n = (int)(len < ADD_MOST ? len : ADD_MOST);
		/* Without a place for cipher text they are authenticated only. */
		if (!EVP_EncryptUpdate(d->gmac, NULL, &out, octets, n))
			return false;
	}
	return true;
}

bool xiw_digest_finish(struct xiw_digest *d, uint8_t digest[XIW_DIGEST_SIZE])
{
	uint8_t none[EVP_MAX_BLOCK_LENGTH];
	int len;

	if (d->sha256)
		return EVP_DigestFinal_ex(d->sha256, digest, NULL);
	memset(digest, 0, XIW_DIGEST_SIZE);
	return EVP_EncryptFinal_ex(d->gmac, none, &len) &&
	       EVP_CIPHER_CTX_ctrl(d->gmac, EVP_CTRL_GCM_GET_TAG, GMAC_SIZE, digest);
}

void xiw_digest_end(struct xiw_digest *d)
{
	EVP_MD_CTX_free(d->sha256);
	EVP_CIPHER_CTX_free(d->gmac);
	memset(d, 0, sizeof(*d));
}

const char *xiw_digest_name(enum xiw_digest_kind kind)
{
	return kind == XIW_DIGEST_SHA256 ? "SHA-256" : "GMAC";
}
