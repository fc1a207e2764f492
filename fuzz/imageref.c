/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of image references: what it takes is made of its parts, what it refuses
 * changes nothing. */
#include "common/imageref.h"
#include "common/text.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Appends a part with what stands before it in a reference. */
static void append(struct zwriter *writer, char lead, struct zstr part)
{
	if (lead && part.length > 0)
		zput_u8(writer, (uint8_t)lead);
	zput_bytes(writer, part.data, part.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zstr text = {.data = (const char *)data, .length = size};
	struct imageref image, untouched;
	uint8_t whole[IMAGEREF_MAX];
	struct zwriter writer;

	memset(&image, 0x5a, sizeof(image));
	untouched = image;
	if (imageref_parse(text, &image) < 0) {
		require(memcmp(&image, &untouched, sizeof(image)) == 0);
		require(!text_valid(TEXT_IMAGE, text));
		return 0;
	}
	require(text_valid(TEXT_IMAGE, text) && text_valid(TEXT_TOKEN, text));
	zwriter_init(&writer, whole, sizeof(whole));
	append(&writer, 0, image.repository);
	append(&writer, ':', image.tag);
	append(&writer, '@', image.digest);
	require(!writer.failed && writer.used == size && memcmp(whole, data, size) == 0);
	require(image.repository.length > 0 && image.domain.length > 0);
	return 0;
}
