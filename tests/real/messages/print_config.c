/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads zun.conf files, one a line on stdin, and prints for each what was read:
 * one line of JSON, or {"error": …}.  Read by config_peer.py, which compares it
 * with what oslo.config reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/zlog.h"
#include "unpriv/base/config.h"
#include <json-c/json.h>

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value) < 0)
		exit(1);
}

static struct json_object *text_of(const char *text)
{
	return text ? json_object_new_string(text) : NULL;
}

static struct json_object *list_of(char *const *list)
{
	struct json_object *array = json_object_new_array();

	for (; *list; list++)
		if (json_object_array_add(array, json_object_new_string(*list)) < 0)
			exit(1);
	return array;
}

static void add_rabbit(struct json_object *object, const struct config *config)
{
	struct json_object *hosts = json_object_new_array();

	for (unsigned i = 0; i < config->rabbit_count; i++) {
		const struct config_rabbit_host *from = &config->rabbit[i];
		struct json_object *host = json_object_new_object();

		add(host, "host", text_of(from->host));
		add(host, "port", json_object_new_int(from->port));
		add(host, "user", text_of(from->user));
		add(host, "password", text_of(secret_text(&from->password)));
		if (json_object_array_add(hosts, host) < 0)
			exit(1);
	}
	add(object, "hosts", hosts);
	add(object, "vhost", text_of(config->rabbit_vhost));
}

static struct json_object *describe(const struct config *config)
{
	struct json_object *object = json_object_new_object();

	add(object, "state_path", text_of(config->state_path));
	add(object, "default_registry", text_of(config->docker_default_registry));
	add(object, "floating_cpu_set", text_of(config->floating_cpu_set));
	add(object, "image_driver_list", list_of(config->image_driver_list));
	add(object, "debug", json_object_new_boolean(config->debug));
	add(object, "sync_container_state_interval",
	    json_object_new_int64(config->sync_container_state_interval));
	add(object, "reserve_disk_for_image",
	    json_object_new_double(config->reserve_disk_for_image));
	add(object, "rabbit_heartbeat_rate", json_object_new_int64(config->rabbit_heartbeat_rate));
	add(object, "executor_thread_pool_size",
	    json_object_new_int64(config->executor_thread_pool_size));
	add_rabbit(object, config);
	return object;
}

int main(void)
{
	char path[4096];

	zlog_setup("print_config", ZLOG_ERROR, false);
	while (fgets(path, sizeof(path), stdin)) {
		const char *files[] = {path, NULL}, *none[] = {NULL};
		struct config_source source = {.files = files, .directories = none};
		struct config config = {0};
		struct zerr err = {0};
		struct json_object *object;

		path[strcspn(path, "\n")] = '\0';
		if (config_load(&source, &config, &err) < 0) {
			object = json_object_new_object();
			add(object, "error", text_of(err.msg));
		} else {
			object = describe(&config);
		}
		(void)puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
		(void)json_object_put(object); /* the only reference */
		config_free(&config);
	}
	return 0;
}
