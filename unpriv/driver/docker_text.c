/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts and times of the engine's answers, made fit for a row and for a user.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/docker_text.h"
#include "common/text.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"

#define ERROR_BODY_MAX 65536

/* Bytes of the character at text, 1 for a byte that begins none. */
static size_t character_length(struct zstr text, bool *valid)
{
	unsigned char lead = (unsigned char)text.data[0];
	size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	*valid = length <= text.length && text_utf8_valid((struct zstr){text.data, length});
	return *valid ? length : 1;
}

static bool is_control(char byte)
{
	return (unsigned char)byte < 0x20 || byte == 0x7f;
}

void docker_text_clean(struct zstr text, char *out, size_t size)
{
	size_t used = 0;

	while (text.length > 0) {
		bool valid;
		size_t length = character_length(text, &valid);

		if (length > size - 1 - used)
			break;
		memcpy(out + used, text.data, length);
		if (is_control(out[used]))
			out[used] = ' ';
		else if (!valid)
			out[used] = '?';
		used += length;
		text.data += length;
		text.length -= length;
	}
	while (used > 0 && out[used - 1] == ' ')
		used--;
	out[used] = '\0';
}

void docker_error_message(unsigned http_status, struct zstr body, char *out, size_t size)
{
	_cleanup_(json_putp) struct json_object *object = NULL;
	const char *message = NULL;
	struct zerr err;

	object = json_parse(body.data, body.length, ERROR_BODY_MAX, &err);
	if (json_object_is_type(object, json_type_object))
		(void)json_get_string(object, "message", &message,
				      &err); /* wrong type: as absent */
	if (message != NULL)
		body = zstr_from(message);
	else if (object != NULL)
		body.length = 0;
	docker_text_clean(body, out, size);
	if (out[0] == '\0')
		(void)snprintf(out, size, "HTTP status %u", http_status);
}

/* Fixed-width decimal number; -1 when a byte is no digit. */
static int digits(const char *text, size_t count)
{
	int value = 0;

	for (size_t i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value;
}

/* Reads "YYYY-MM-DDTHH:MM:SS", the first 19 characters. */
static bool parse_clock(const char *stamp, struct tm *clock)
{
	static const char form[] = "0000-00-00T00:00:00";

	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		bool digit = stamp[i] >= '0' && stamp[i] <= '9';

		if (form[i] == '0' ? !digit : stamp[i] != form[i])
			return false; /* the end of a shorter text too */
	}
	*clock = (struct tm){.tm_year = digits(stamp, 4) - 1900,
			     .tm_mon = digits(stamp + 5, 2) - 1,
			     .tm_mday = digits(stamp + 8, 2),
			     .tm_hour = digits(stamp + 11, 2),
			     .tm_min = digits(stamp + 14, 2),
			     .tm_sec = digits(stamp + 17, 2)};
	return clock->tm_mon >= 0 && clock->tm_mon < 12 && clock->tm_mday >= 1 &&
	       clock->tm_mday <= 31 && clock->tm_hour < 24 && clock->tm_min < 60 &&
	       clock->tm_sec <= 60;
}

/* The zone after the seconds: [.fraction] then "Z" or ±HH:MM. */
static bool parse_zone(const char *text, int *offset_s)
{
	*offset_s = 0;
	if (*text == '.') {
		text++;
		while (*text >= '0' && *text <= '9')
			text++;
	}
	if (text[0] == 'Z')
		return text[1] == '\0';
	if (strlen(text) != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':' ||
	    digits(text + 1, 2) < 0 || digits(text + 4, 2) < 0)
		return false;
	*offset_s = digits(text + 1, 2) * 3600 + digits(text + 4, 2) * 60;
	if (text[0] == '-')
		*offset_s = -*offset_s;
	return true;
}

enum docker_age docker_age_text(const char *stamp, time_t now, char out[DOCKER_AGE_MAX])
{
	static const struct {
		const char *name;
		long long seconds;
	} units[] = {{"days", 86400}, {"hours", 3600}, {"mins", 60}, {"seconds", 1}};
	struct tm clock;
	int offset_s;
	long long age;

	out[0] = '\0';
	if (stamp[0] == '\0')
		return DOCKER_AGE_NEVER;
	if (!parse_clock(stamp, &clock) || !parse_zone(stamp + 19, &offset_s))
		return DOCKER_AGE_UNKNOWN;
	if (clock.tm_year <= 1 - 1900)
		return DOCKER_AGE_NEVER;
	age = (long long)now - ((long long)timegm(&clock) - offset_s);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (age >= units[i].seconds) {
			(void)snprintf(out, DOCKER_AGE_MAX, "%lld %s", age / units[i].seconds,
				       units[i].name);
			return DOCKER_AGE_KNOWN;
		}
	}
	return DOCKER_AGE_UNKNOWN;
}
