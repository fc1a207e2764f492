/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole texts of UTF-8.  For the broker; a helper asks for a class.  Needs no
 * privilege.
 */
#include "common/text.h"

bool text_utf8_valid(struct zstr text)
{
	uint32_t code;

	for (size_t at = 0, taken; at < text.length; at += taken) {
		taken = text_utf8_next(text, at, &code);
		if (taken == 0)
			return false;
	}
	return true;
}
