/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The digest that put and serve compare. By default it is a GMAC (NIST SP 800-38D) under a random key, which put makes
 * for each file. Damage does not depend on the key, so that it is missed with a probability of at most 2^-92 for a
 * file of 1 TiB. Where the processor has instructions for both, a GMAC takes a quarter of the time of SHA-256: both
 * ends keep up with the wire, even on few CPUs, for which a thread of its own alone does not help. SHA-256 is for users
 * who keep the digest.
 */
#ifndef XIW_TOOL_DIGEST_H
#define XIW_TOOL_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

#define XIW_DIGEST_KEY 16
#define XIW_DIGEST_SIZE 32 /* that of SHA-256; behind a GMAC there are zeros */

enum xiw_digest_kind { XIW_DIGEST_SHA256, XIW_DIGEST_GMAC, XIW_DIGEST_KINDS };

struct xiw_digest {
	EVP_MD_CTX *sha256;
	EVP_CIPHER_CTX *gmac;
};

/* All return false if OpenSSL fails. A digest that was begun, or is zero, may be ended. */
bool xiw_digest_begin(struct xiw_digest *d, enum xiw_digest_kind kind,
		      const uint8_t key[XIW_DIGEST_KEY]);
bool xiw_digest_add(struct xiw_digest *d, const uint8_t *octets, size_t len);
bool xiw_digest_finish(struct xiw_digest *d, uint8_t digest[XIW_DIGEST_SIZE]);
void xiw_digest_end(struct xiw_digest *d);
/* For reports. */
const char *xiw_digest_name(enum xiw_digest_kind kind);

#endif
