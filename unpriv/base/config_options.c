/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that the agents honour, or whose values they check (config.md §2
 * to §9 and §13): one row each, with type, default, bounds and the member it
 * fills.  Data only; no privilege.
 */
#include "unpriv/base/config_options.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* clang-format off */
#define SOME INT64_MIN /* no bound */
#define MOST INT64_MAX
#define DAY  86400

#define TO(member_) offsetof(struct config, member_)
#define NONE	    OPTION_NOWHERE
#define ROW(group_, name_, type_, initial_, ...)                                                   \
	{.group = (group_),                                                                        \
	 .name = (name_),                                                                          \
	 .type = OPTION_##type_,                                                                   \
	 .initial = (initial_),                                                                    \
	 __VA_ARGS__},
#define TEXT(group, name, initial, to) ROW(group, name, STRING, initial, .member = (to))
#define FLAG(group, name, initial, to) ROW(group, name, BOOLEAN, initial, .member = (to))
#define NUMBER(group, name, initial, low, high, to)                                                \
	ROW(group, name, INTEGER, initial, .least = (low), .greatest = (high), .member = (to))
#define REAL(group, name, initial, low, high, to)                                                  \
	ROW(group, name, FLOAT, initial, .least = (low), .greatest = (high), .member = (to))
#define ONE_OF(group, name, initial, list, to)                                                     \
	ROW(group, name, CHOICE, initial, .choices = (list), .member = (to))
#define RENAMED(group, name, type, initial, former, ...)                                           \
	ROW(group, name, type, initial, .alias = (former), __VA_ARGS__)
#define LIST(group, name, initial, to) ROW(group, name, LIST, initial, .member = (to))
#define SECRET(group, name, initial, to)                                                           \
	ROW(group, name, SECRET, initial, .secret = true, .member = (to))

#define MAIN	 "DEFAULT"
#define COMPUTE	 "compute"
#define DOCKER	 "docker"
#define DATABASE "database"
#define RABBIT	 "oslo_messaging_rabbit"

const struct option config_options[] = {
	/* "@…": found out at run time (config_resolve.c). */
	ROW(MAIN, "host", HOST, "@hostname", .member = TO(host))
	ROW(MAIN, "my_ip", HOST, "@address", .member = TO(my_ip))
	TEXT(MAIN, "my_block_storage_ip", "$my_ip", NONE)
	ROW(MAIN, "transport_url", TRANSPORT, "rabbit://", .secret = true)
	ROW(MAIN, "control_exchange", NAME, "zun", .member = TO(control_exchange))
	NUMBER(MAIN, "rpc_response_timeout", "60", 1, DAY, TO(rpc_response_timeout))
	RENAMED(MAIN, "executor_thread_pool_size", INTEGER, "64", "rpc_thread_pool_size",
		.least = 1, .greatest = MOST, .member = TO(executor_thread_pool_size))
	ROW(MAIN, "container_driver", DRIVER, "docker", .member = TO(container_driver))
	TEXT(MAIN, "capsule_driver", "cri", NONE)
	TEXT(MAIN, "container_runtime", "runc", TO(container_runtime))
	TEXT(MAIN, "default_availability_zone", "nova", TO(default_availability_zone))
	NUMBER(MAIN, "default_memory_swap", "-1", SOME, MOST, TO(default_memory_swap))
	NUMBER(MAIN, "default_disk", "10", 0, INT32_MAX, TO(default_disk))
	REAL(MAIN, "default_cpu", "1.0", 0, INT32_MAX, NONE)
	NUMBER(MAIN, "default_memory", "512", 0, INT32_MAX, NONE)
	LIST(MAIN, "image_driver_list", "glance,docker", TO(image_driver_list))
	TEXT(MAIN, "default_image_driver", "docker", TO(default_image_driver))
	TEXT(MAIN, "sandbox_image", "kubernetes/pause", NONE)
	TEXT(MAIN, "sandbox_image_driver", "docker", NONE)
	ONE_OF(MAIN, "sandbox_image_pull_policy", "ifnotpresent", "always|ifnotpresent|never", NONE)
	NUMBER(MAIN, "periodic_interval_max", "60", 1, DAY, TO(periodic_interval_max))
	NUMBER(MAIN, "sync_container_state_interval", "60", SOME, DAY,
		TO(sync_container_state_interval))
	NUMBER(MAIN, "service_down_time", "180", 1, DAY, TO(service_down_time))
	SECRET(MAIN, "auth_encryption_key", CONFIG_DEFAULT_KEY, TO(auth_encryption_key))
	FLAG(MAIN, "allow_default_key", "false", TO(allow_default_key))
	TEXT(MAIN, "state_path", "/var/lib/zun", TO(state_path))
	TEXT(MAIN, "floating_cpu_set", "", TO(floating_cpu_set))
	FLAG(MAIN, "debug", "false", TO(debug))
	FLAG(MAIN, "use_json", "false", TO(use_json))
	FLAG(MAIN, "use_syslog", "false", TO(use_syslog))
	FLAG(MAIN, "use_journal", "false", NONE)
	FLAG(MAIN, "use_stderr", "false", NONE)
	RENAMED(MAIN, "log_file", STRING, NULL, "logfile", .member = TO(log_file))
	RENAMED(MAIN, "log_dir", STRING, NULL, "logdir", .member = TO(log_dir))

	ROW(COMPUTE, "topic", NAME, "zun-compute", .member = TO(topic))
	FLAG(COMPUTE, "resume_container_state", "false", TO(resume_container_state))
	FLAG(COMPUTE, "remount_container_volume", "true", NONE)
	REAL(COMPUTE, "reserve_disk_for_image", "0.2", 0, 1, TO(reserve_disk_for_image))
	FLAG(COMPUTE, "enable_cpu_pinning", "false", TO(enable_cpu_pinning))
	NUMBER(COMPUTE, "resource_provider_association_refresh", "300", 0, MOST, NONE)
	FLAG(COMPUTE, "host_shared_with_nova", "false", NONE)
	ONE_OF(COMPUTE, "unique_container_name_scope", "", "|project|global", NONE)
	NUMBER(COMPUTE, "reserved_host_disk_mb", "0", 0, MOST, NONE)
	NUMBER(COMPUTE, "reserved_host_memory_" "mb", "512", 0, MOST, NONE)
	NUMBER(COMPUTE, "reserved_host_cpus", "0", 0, MOST, NONE)
	REAL(COMPUTE, "cpu_allocation_" "ratio", NULL, 0, MOST, NONE)
	REAL(COMPUTE, "ram_allocation_" "ratio", NULL, 0, MOST, NONE)
	REAL(COMPUTE, "disk_" "allocat" "ion_" "ratio", NULL, 0, MOST, NONE)
	REAL(COMPUTE, "initial_cpu_" "allocation_" "ratio", "16.0", 0, MOST, NONE)
	REAL(COMPUTE, "in" "it" "ia" "l_" "ra" "m_" "al" "lo" "ca" "ti" "on" "_r" "at" "i" "o",
		"1." "5", 0, MOST, NONE)
	REAL(COMPUTE, "initi" "al_" "disk_" "alloc" "ation" "_rati" "o", "1.0", 0, MOST, NONE)
	NUMBER(COMPUTE, "action_timeout", "900", 1, DAY, TO(action_timeout))
	NUMBER(COMPUTE, "create_timeout", "3600", 1, DAY, TO(create_timeout))
	/* A failure that names the limit has to fit itself; RabbitMQ 3 takes 128 MiB at most. */
	NUMBER(COMPUTE, "max_reply_bytes", "16777216", 65536, 134217728, TO(max_reply_bytes))
	NUMBER(COMPUTE, "max_message_bytes", "16777216", 65536, 67108864, TO(max_message_bytes))
	NUMBER(COMPUTE, "workers_min", "4", 2, CONFIG_WORKERS_MAX, TO(workers_min))
	FLAG(COMPUTE, "strict_recovery", "true", TO(strict_recovery))
	FLAG(COMPUTE, "capsule_share_pid", "false", NONE)

	/* Not set: the socket that the site policy names, which is the only one ever opened. */
	ROW(DOCKER, "api_url", SOCKET, NULL, .member = TO(docker_api_url))
	ROW(DOCKER, "docker_remote_api_version", MINOR, "1.26", .least = 12, .greatest = 999,
		.member = TO(docker_api_minor))
	NUMBER(DOCKER, "default_timeout", "60", 1, DAY, TO(docker_default_timeout))
	NUMBER(DOCKER, "execute_timeout", "5", 1, DAY, TO(docker_execute_timeout))
	FLAG(DOCKER, "api_insecure", "false", NONE)
	ROW(DOCKER, "docker_remote_api_host", HOST, "$my_ip", .member = TO(docker_remote_api_host))
	NUMBER(DOCKER, "docker_remote_api_port", "2375", 1, 65535, TO(docker_remote_api_port))
	TEXT(DOCKER, "default_registry", NULL, TO(docker_default_registry))
	SECRET(DOCKER, "default_registry_password", NULL, NONE)

	ROW(DATABASE, "connection", CONNECTION, NULL, .secret = true)
	TEXT(DATABASE, "connection_" "parameters", "", NONE)
	NUMBER(DATABASE, "max_" "pool_" "size", "5", SOME, MOST, NONE)
	NUMBER(DATABASE, "max_" "overflow", "50", SOME, MOST, NONE)
	NUMBER(DATABASE, "con" "nec" "tio" "n_" "rec" "ycl" "e_" "tim" "e", "360" "0", SOME,
		MOST, NONE)
	/* The first connection: how often, -1 for ever. */
	NUMBER(DATABASE, "max_retries", "10", -1, INT32_MAX, TO(db_connect_max_retries))
	NUMBER(DATABASE, "retry_interval", "10", 0, DAY, NONE)
	FLAG(DATABASE, "use_db_reconnect", "false", NONE)
	NUMBER(DATABASE, "db_retry_interval", "1", 0, DAY, TO(db_retry_interval))
	FLAG(DATABASE, "db_inc_retry_interval", "true", NONE)
	NUMBER(DATABASE, "db_max_retry_interval", "10", 0, DAY, NONE)
	NUMBER(DATABASE, "db_max_retries", "20", -1, INT32_MAX, TO(db_max_retries))

	RENAMED(RABBIT, "ssl", BOOLEAN, "false", "rabbit_use_ssl", .member = TO(rabbit_ssl))
	RENAMED(RABBIT, "ssl_ca_file", STRING, "", "kombu_ssl_ca_certs",
		.member = TO(rabbit_ssl_ca_file))
	RENAMED(RABBIT, "ssl_cert_file", STRING, "", "kombu_ssl_certfile",
		.member = TO(rabbit_ssl_cert_file))
	RENAMED(RABBIT, "ssl_key_file", STRING, "", "kombu_ssl_keyfile",
		.member = TO(rabbit_ssl_key_file))
	/* Upstream's default is false (known-faults F05). */
	FLAG(RABBIT, "ssl_enforce_hostname_verification", "true", TO(rabbit_ssl_verify_name))
	FLAG(RABBIT, "ssl_enforce_fips_mode", "false", NONE)
	NUMBER(RABBIT, "heartbeat_timeout_threshold", "60", 0, DAY, TO(rabbit_heartbeat))
	NUMBER(RABBIT, "heartbeat_rate", "2", 1, 100, TO(rabbit_heartbeat_rate))
	REAL(RABBIT, "kombu_reconnect_delay", "1.0", 0, DAY, NONE)
	RENAMED(RABBIT, "kombu_missing_consumer_retry_timeout", INTEGER, "60",
		"kombu_reconnect_timeout", .least = 0, .greatest = DAY,
		.member = TO(rabbit_missing_consumer_timeout))
	ONE_OF(RABBIT, "kombu_failover_strategy", "round-robin", "round-robin|shuffle", NONE)
	ONE_OF(RABBIT, "rabbit_login_method", "AMQPLAIN", "PLAIN|AMQPLAIN|EXTERNAL",
		TO(rabbit_login_method))
	NUMBER(RABBIT, "rabbit_retry_interval", "1", 0, DAY, TO(rabbit_retry_interval))
	NUMBER(RABBIT, "rabbit_retry_backoff", "2", 0, DAY, TO(rabbit_retry_backoff))
	NUMBER(RABBIT, "rabbit_interval_max", "30", 0, DAY, TO(rabbit_interval_max))
	FLAG(RABBIT, "amqp_durable_queues", "false", TO(rabbit_durable))
	FLAG(RABBIT, "amqp_auto_delete", "false", TO(rabbit_auto_delete))
	FLAG(RABBIT, "rabbit_ha_queues", "false", TO(rabbit_ha_queues))
	FLAG(RABBIT, "rabbit_quorum_queue", "false", TO(rabbit_quorum))
	NUMBER(RABBIT, "rabbit_quorum_delivery_" "limit", "0", 0, INT32_MAX,
		TO(rabbit_quorum_delivery_limit))
	/* The first name is misspelt upstream; later releases have both. */
	RENAMED(RABBIT, "rabbit_quroum_max_memory_length", INTEGER, "0",
		"rabbit_quorum_max_memory_length", .least = 0, .greatest = MOST,
		.member = TO(rabbit_quorum_max_length))
	RENAMED(RABBIT, "rabbit_quroum_max_memory_bytes", INTEGER, "0",
		"rabbit_quorum_max_memory_bytes", .least = 0, .greatest = MOST,
		.member = TO(rabbit_quorum_max_bytes))
	NUMBER(RABBIT, "rabbit_transient_queues_ttl", "1800", 1, INT32_MAX / 1000,
		TO(rabbit_transient_ttl))
	NUMBER(RABBIT, "rabbit_qos_prefetch_count", "0", 0, 65535, TO(rabbit_prefetch))
	FLAG(RABBIT, "direct_mandatory_flag", "true", NONE)
	FLAG(RABBIT, "enable_cancel_on_failover", "false", TO(rabbit_cancel_on_failover))
	FLAG(RABBIT, "heartbeat_in_pthread", "false", NONE)
	FLAG(RABBIT, "rabbit_transient_quorum_queue", "false", NONE)
	FLAG(RABBIT, "rabbit_stream_fanout", "false", NONE)
	FLAG(RABBIT, "use_queue_manager", "false", NONE)

	TEXT("network", "driver", "kuryr", TO(network_driver))
	LIST("volume", "driver_list", "cinder,local", NONE)
	FLAG("volume", "use_multipath", "false", NONE)
	NUMBER("volume", "timeout_wait_volume_available", "60", 0, DAY, NONE)
	NUMBER("volume", "timeout_wait_volume_deleted", "60", 0, DAY, NONE)
};
/* clang-format on */
const size_t config_option_count = sizeof(config_options) / sizeof(config_options[0]);

const struct option *config_option(const char *group, const char *name)
{
	for (size_t i = 0; i < config_option_count; i++) {
		const struct option *option = &config_options[i];

		if (strcmp(option->group, group) == 0 &&
		    (strcmp(option->name, name) == 0 ||
		     (option->alias && strcmp(option->alias, name) == 0)))
			return option;
	}
	return NULL;
}
