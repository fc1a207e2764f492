/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC-SHA-256 (RFC 2104). */
#pragma once
#include "sha256.h"

void hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
		 uint8_t out[SHA256_SIZE]);
