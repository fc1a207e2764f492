/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the site policy file.  Runs in the launcher, as root, before anything else is read. */
#include "policy/site_value.h"
#include "common/zfd.h"

#define SHARES_OF_A_CPU 1024U
#define CPUS_MAX        256U
#define SHARES_MIN      2U /* the kernel's */

int value_count(const char *text, uint64_t max, uint64_t *count)
{
	return zfd_parse_u64(text, max, count) < 0 ? -EINVAL : 0;
}

int value_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	char digits[21];
	size_t length = strspn(text, "0123456789");
	const char *unit = text[length] ? strchr(units, text[length]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	uint64_t value;

	if (zstr_copy((struct zstr){text, length}, digits, sizeof(digits)) < 0 ||
	    (text[length] && (!unit || text[length + 1])))
		return -EINVAL;
	if (value_count(digits, INT64_MAX >> shift, &value) < 0)
		return -EINVAL;
	*bytes = value << shift;
	return 0;
}

int value_cpus(const char *text, uint32_t *shares)
{
	char whole[8];
	char decimals[4] = "000";
	const char *dot = strchr(text, '.');
	size_t length = dot ? (size_t)(dot - text) : strlen(text);
	uint64_t cpus, thousandths, sum;

	if (zstr_copy((struct zstr){text, length}, whole, sizeof(whole)) < 0)
		return -EINVAL;
	if (dot) {
		size_t places = strlen(dot + 1);

		if (places == 0 || places >= sizeof(decimals))
			return -EINVAL;
		memcpy(decimals, dot + 1, places);
	}
	if (value_count(whole, CPUS_MAX, &cpus) < 0 ||
	    value_count(decimals, 999, &thousandths) < 0)
		return -EINVAL;
	sum = (cpus * 1000 + thousandths) * SHARES_OF_A_CPU / 1000;
	if (sum > CPUS_MAX * SHARES_OF_A_CPU || (sum < SHARES_MIN && cpus + thousandths > 0))
		return -EINVAL;
	*shares = (uint32_t)sum;
	return 0;
}

int value_flag(const char *text, bool *flag)
{
	bool yes = strcmp(text, "yes") == 0;

	if (!yes && strcmp(text, "no") != 0)
		return -EINVAL;
	*flag = yes;
	return 0;
}

int value_path(const char *text, char *path, size_t size)
{
	const char *part = text;

	if (strlen(text) >= size || *part != '/')
		return -EINVAL;
	do {
		size_t length = strcspn(++part, "/");

		if (length == 0 || (length == 1 && part[0] == '.') ||
		    (length == 2 && part[0] == '.' && part[1] == '.'))
			return -EINVAL;
		part += length;
	} while (*part);
	return zstr_copy(zstr_from(text), path, size);
}

static bool is_item_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr("._-:/", byte));
}

int value_list(const char *text, struct site_list *list)
{
	struct site_list read = {.any = strcmp(text, "*") == 0};
	size_t used = 0;

	while (*text && !read.any) {
		size_t length = 0;

		while (is_item_byte(text[length]))
			length++;
		if (length == 0 || read.count == SITE_LIST_MAX ||
		    length >= sizeof(read.text) - used)
			return -EINVAL;
		memcpy(read.text + used, text, length);
		used += length + 1;
		read.count++;
		text += length;
		if (!*text)
			break;
		/* One comma, or blanks, or both, and another item after them. */
		length = strspn(text, " \t");
		length += text[length] == ',';
		length += strspn(text + length, " \t");
		if (length == 0 || !text[length])
			return -EINVAL;
		text += length;
	}
	*list = read;
	used = 0;
	for (size_t i = 0; i < list->count; i++) {
		list->items[i] = list->text + used;
		used += strlen(list->items[i]) + 1;
	}
	return 0;
}

bool site_list_has(const struct site_list *list, struct zstr item)
{
	const char *text = list->text; /* not items: the structure may be a copy of another */

	for (size_t i = 0; i < list->count; i++, text += strlen(text) + 1)
		if (zstr_equal(item, text))
			return true;
	return list->any;
}

int value_account(const char *text, char name[33], uint32_t *id)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	bool number = strspn(text, "0123456789") == strlen(text);
	uint64_t value = UINT32_MAX;

	if (length == 0 || text[length] || text[0] == '-' || length >= 33)
		return -EINVAL;
	/* The two greatest mean "none" to the kernel and to NFS. */
	if (number && value_count(text, UINT32_MAX - 2, &value) < 0)
		return -EINVAL;
	*id = (uint32_t)value;
	return zstr_copy(zstr_from(text), name, 33);
}
