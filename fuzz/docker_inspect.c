/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine says of a container, an image and itself, and what becomes of
 * it in a row.  First byte: which of them.
 */
#include "unpriv/driver/docker_info.h"
#include "unpriv/driver/docker_state.h"
#include "unpriv/driver/docker_text.h"
#include <stdlib.h>
#include <string.h>

#define NOW 1796100000

static void container(const char *text, size_t length)
{
	struct docker_container read = {0};
	struct container row = {0};
	struct zerr err;

	if (docker_container_read(text, length, &read, &err) < 0)
		return;
	if (container_set_text(&row, CONTAINER_status, "Creating") == 0 &&
	    docker_config_to_row(&read, &row) == 0 &&
	    docker_state_to_row(&read.state, NOW, &row) == 0) {
		/* The columns' bounds hold whatever the engine says. */
		if (strlen(container_text(&row, CONTAINER_status)) > 20 ||
		    strlen(container_text(&row, CONTAINER_status_detail)) > 50 ||
		    strlen(container_text(&row, CONTAINER_hostname)) > 63)
			abort();
	}
	container_clear(&row);
	docker_container_clear(&read);
}

static void image(const char *text, size_t length)
{
	struct docker_image read = {0};
	struct zerr err;

	if (docker_image_read(text, length, &read, &err) < 0)
		return;
	(void)docker_image_has_digest(&read, "a", "sha256:00");
	docker_image_clear(&read);
}

static void info(const char *text, size_t length)
{
	struct docker_info read = {0};
	struct zerr err;

	if (docker_info_read(text, length, &read, &err) < 0)
		return;
	(void)docker_disk_quota(&read, "22 1 252:1 / / rw - xfs /dev/vda1 rw,prjquota\n");
	docker_info_clear(&read);
}

/* The same bytes as text files of the kernel, an error body, a time. */
static void texts(const char *text, size_t length)
{
	static const struct docker_info overlay = {.root_dir = "/var/lib/docker",
						   .storage_driver = "overlay2",
						   .backing_filesystem = "xfs"};
	char *copy = malloc(length + 1);
	char out[64];
	struct node_memory memory;

	if (copy == NULL)
		return;
	memcpy(copy, text, length);
	copy[length] = '\0';
	(void)docker_disk_quota(&overlay, copy);
	(void)node_memory_read(copy, &memory);
	(void)docker_age_text(copy, NOW, out);
	docker_error_message(500, (struct zstr){text, length}, out, sizeof(out));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const char *, size_t) = {container, image, info, texts};

	if (size > 0)
		readers[data[0] % 4]((const char *)data + 1, size - 1);
	return 0;
}
