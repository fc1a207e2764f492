/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zun.conf under oslo.config's rules (contract config.md §1), and the options
 * that the agents honour, typed.  One table in config.c names every option:
 * group, name, type, default, bounds, and the member below that it fills.
 */
#pragma once
#include "common/secret.h"
#include "common/zerr.h"
#include <stdbool.h>
#include <stdint.h>

#define CONFIG_HOSTS_MAX   8
#define CONFIG_WORKERS_MAX 32 /* more is refused to executor_thread_pool_size by capping it */
#define CONFIG_DEFAULT_KEY "notgood but just long enough i t"

struct config_rabbit_host {
	char host[256];
	uint16_t port;
	char user[128];
	struct secret password;
};

/* Strings are never NULL (an option that is empty or not set is ""), save log_file, log_dir,
 * docker_api_url, docker_default_registry and the db members, which are NULL when not set. */
struct config {
	/* [DEFAULT] */
	char *host; /* identity of the node; default: the host's name */
	char *my_ip;
	struct config_rabbit_host rabbit[CONFIG_HOSTS_MAX]; /* transport_url, in the file's order */
	unsigned rabbit_count;
	char *rabbit_vhost;	/* "/" when the path is empty */
	char *control_exchange; /* "zun" */
	int64_t rpc_response_timeout;
	int64_t executor_thread_pool_size; /* workers at most; brought to 2 … 32 */
	char *container_driver;		   /* normalised: "docker" */
	char *container_runtime;
	char *default_availability_zone;
	int64_t default_memory_swap;
	int64_t default_disk;
	char **image_driver_list; /* NULL-terminated */
	char *default_image_driver;
	int64_t periodic_interval_max;
	int64_t sync_container_state_interval;
	int64_t service_down_time;
	struct secret auth_encryption_key;
	bool allow_default_key;
	char *state_path; /* /var/lib/zun when unset */
	char *floating_cpu_set;
	bool debug, use_json, use_syslog;
	char *log_file, *log_dir;
	/* [compute] */
	char *topic;
	bool resume_container_state, enable_cpu_pinning, strict_recovery;
	double reserve_disk_for_image;
	int64_t action_timeout, create_timeout, max_reply_bytes, max_message_bytes;
	int64_t workers_min; /* ours: default 4; never above executor_thread_pool_size */
	/* [docker] */
	char *docker_api_url;
	int64_t docker_api_minor; /* of docker_remote_api_version "1.26" */
	int64_t docker_default_timeout, docker_execute_timeout;
	char *docker_default_registry;
	char *docker_remote_api_host;
	int64_t docker_remote_api_port;
	/* [database] */
	/* From connection; db_options is the rest of its query as libpq pairs: k='v' k2='v2'. */
	char *db_host, *db_name, *db_user, *db_options;
	uint16_t db_port;
	struct secret db_password;
	int64_t db_max_retries, db_retry_interval; /* of a lost connection */
	int64_t db_connect_max_retries;		   /* of the first; -1 = for ever */
	/* [oslo_messaging_rabbit] */
	bool rabbit_ssl, rabbit_ssl_verify_name; /* true unless a file says otherwise */
	bool rabbit_ssl_verify_name_set;	 /* it does say so, either way */
	char *rabbit_ssl_ca_file, *rabbit_ssl_cert_file, *rabbit_ssl_key_file;
	int64_t rabbit_heartbeat, rabbit_heartbeat_rate;
	char *rabbit_login_method;
	int64_t rabbit_retry_interval, rabbit_retry_backoff, rabbit_interval_max;
	bool rabbit_durable, rabbit_auto_delete, rabbit_ha_queues, rabbit_quorum;
	int64_t rabbit_quorum_delivery_limit, rabbit_quorum_max_length, rabbit_quorum_max_bytes;
	int64_t rabbit_transient_ttl, rabbit_prefetch, rabbit_missing_consumer_timeout;
	bool rabbit_cancel_on_failover;
	/* [network] */
	char *network_driver;
};

struct config_source {
	/* --config-file and --config-dir, in order, NULL-terminated; NULL = the default search */
	const char *const *files, *const *directories;
	const char *program; /* "zun-compute": <program>.conf is searched too */
};

/* Reads all files, then OS_<GROUP>__<OPTION> from the environment, then fills *config (zeroed by
 * the caller; config_free it also after a failure).  Unknown options: one warning each through
 * zlog. A wrong value or a line that is none: negative errno, *err = "FILE:LINE: [group] option:
 * what was expected".  Values, so also secrets, never appear in *err or in the log. */
int config_load(const struct config_source *source, struct config *config, struct zerr *err);
/* The same from one text and no environment, for tests and fuzzing; name stands for the file. */
int config_parse(const char *name, const char *text, size_t length, struct config *config,
		 struct zerr *err);
void config_free(struct config *config);
