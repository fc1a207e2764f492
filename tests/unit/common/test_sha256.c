/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/sha256.c and common/hmac.c: published vectors, then OpenSSL on every length
 * around the block size. */
#include "common/hmac.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void expect_hex(const uint8_t digest[SHA256_SIZE], const char *expected)
{
	char text[2 * SHA256_SIZE + 1];

	hex_encode(digest, SHA256_SIZE, text);
	assert_string_equal(text, expected);
}

/* FIPS 180-2 appendix B and the NIST example values. */
static void test_sha256_gives_the_published_digests(void **state)
{
	static const struct {
		const char *text, *digest;
	} cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqk"
		 "lm"
		 "nopqrlmnopqrsmnopqrstnopqrstu",
		 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	uint8_t digest[SHA256_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sha256(cases[i].text, strlen(cases[i].text), digest);
		expect_hex(digest, cases[i].digest);
	}
}

static void test_sha256_of_a_million_letters(void **state)
{
	uint8_t digest[SHA256_SIZE];
	struct sha256 hash;
	char part[1000];

	(void)state;
	memset(part, 'a', sizeof(part));
	sha256_init(&hash);
	for (size_t i = 0; i < 1000; i++)
		sha256_update(&hash, part, sizeof(part));
	sha256_final(&hash, digest);
	expect_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* RFC 4231 cases 1, 2, 3, 4, 6 and 7. */
static void test_hmac_gives_the_published_codes(void **state)
{
	static const char long_key_data[] =
		"This is a test using a larger than block-size key and a larger than block-size "
		"data. "
		"The key needs to be hashed before being used by the HMAC algorithm.";
	uint8_t code[SHA256_SIZE], key[131], data[50];

	(void)state;
	memset(key, 0x0b, 20);
	hmac_sha256(key, 20, "Hi There", 8, code);
	expect_hex(code, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, code);
	expect_hex(code, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	memset(data, 0xdd, sizeof(data));
	hmac_sha256(key, 20, data, sizeof(data), code);
	expect_hex(code, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	for (size_t i = 0; i < 25; i++)
		data[i] = (uint8_t)(i + 1);
	memset(data + 25, 0xcd, 25);
	{
		uint8_t many[50];

		memset(many, 0xcd, sizeof(many));
		hmac_sha256(data, 25, many, sizeof(many), code);
	}
	expect_hex(code, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
	hmac_sha256(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", 54,
		    code);
	expect_hex(code, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	hmac_sha256(key, sizeof(key), long_key_data, strlen(long_key_data), code);
	expect_hex(code, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

static void test_sha256_agrees_with_openssl_on_every_length_and_split(void **state)
{
	uint8_t data[300], ours[SHA256_SIZE], theirs[EVP_MAX_MD_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + (i >> 3));
	for (size_t length = 0; length <= sizeof(data); length++) {
		struct sha256 hash;
		size_t split = length * 3 / 7;

		sha256_init(&hash);
		sha256_update(&hash, data, split);
		sha256_update(&hash, data + split, length - split);
		sha256_final(&hash, ours);
		assert_int_equal(EVP_Digest(data, length, theirs, NULL, EVP_sha256(), NULL), 1);
		assert_memory_equal(ours, theirs, SHA256_SIZE);
	}
}

static void test_hmac_agrees_with_openssl_on_every_key_length(void **state)
{
	uint8_t key[200], ours[SHA256_SIZE], theirs[EVP_MAX_MD_SIZE];
	unsigned int size;

	(void)state;
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 13 + 1);
	for (size_t length = 0; length <= sizeof(key); length++) {
		hmac_sha256(key, length, key, 200 - length, ours);
		assert_non_null(
			HMAC(EVP_sha256(), key, (int)length, key, 200 - length, theirs, &size));
		assert_int_equal(size, SHA256_SIZE);
		assert_memory_equal(ours, theirs, SHA256_SIZE);
	}
}

static void test_hex_is_lower_case_and_terminated(void **state)
{
	char text[9] = "zzzzzzzz";

	(void)state;
	hex_encode((const uint8_t *)"\x00\xff\x1a\xe9", 4, text);
	assert_string_equal(text, "00ff1ae9");
	hex_encode(NULL, 0, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256_gives_the_published_digests),
		cmocka_unit_test(test_sha256_of_a_million_letters),
		cmocka_unit_test(test_hmac_gives_the_published_codes),
		cmocka_unit_test(test_sha256_agrees_with_openssl_on_every_length_and_split),
		cmocka_unit_test(test_hmac_agrees_with_openssl_on_every_key_length),
		cmocka_unit_test(test_hex_is_lower_case_and_terminated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
