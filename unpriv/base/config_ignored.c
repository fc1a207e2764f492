/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of zun and of the libraries it uses that mean nothing to the agents
 * of this release: known, so that a real zun.conf gives no warning.  Data only;
 * no privilege.
 */
#include "unpriv/base/config_options.h"
#include <string.h>
#include "common/zbuf.h"

#define KEYSTONE                                                                                   \
	"auth_section auth_type auth_url cafile certfile collect_timing default_domain_id "        \
	"default_domain_name domain_id domain_name insecure keyfile password "                     \
	"project_domain_id project_domain_name project_id project_name split_loggers "             \
	"system_scope tenant_id tenant_name timeout trust_id user_domain_id user_domain_name "     \
	"user_id user_name username application_credential_id application_credential_name "        \
	"application_credential_secret passcode region_name interface "
#define CLIENT "region_name endpoint_type ca_file cert_file key_file insecure "

/* names: separated by blanks; "*" = every option of the group. */
static const struct {
	const char *group, *names;
} ignored[] = {
	{"DEFAULT",
	 "minimum_cpus maximum_cpus minimum_memory maximum_memory minimum_disk maximum_disk "
	 "default_sleep_time default_timeout default_schedule_zone pybasedir bindir "
	 "rootwrap_config tempdir fatal_exception_format_errors "
	 "log_config_append log_config log_date_format watch_log_file syslog_log_facility "
	 "log_color use_eventlog log_rotate_interval log_rotate_interval_type max_logfile_count "
	 "max_logfile_size_mb log_rotation_type logging_context_format_string "
	 "logging_default_format_string logging_debug_format_suffix logging_exception_prefix "
	 "logging_user_identity_format default_log_levels publish_errors instance_format "
	 "instance_uuid_format rate_limit_interval rate_limit_burst rate_limit_except_level "
	 "fatal_deprecations "
	 "rpc_conn_pool_size conn_pool_min_size conn_pool_ttl rpc_ping_enabled "
	 "backdoor_port backdoor_socket log_options graceful_shutdown_timeout "
	 "run_external_periodic_tasks api_paste_config wsgi_log_format tcp_keepidle "
	 "wsgi_default_pool_size max_header_line wsgi_keep_alive client_socket_timeout "
	 "wsgi_server_debug"},
	{"compute", "provider_config_location"},
	{"docker", "ca_file cert_file key_file docker_remote_api_url default_registry_username "
		   "docker_data_root"},
	{"database",
	 "backend slave_connection mysql_engine mysql_sql_mode mysql_enable_ndb "
	 "mysql_wsrep_sync_wait sqlite_synchronous sqlite_db connection_debug connection_trace "
	 "pool_timeout"},
	{"oslo_messaging_rabbit",
	 "ssl_version kombu_ssl_version kombu_compression conn_pool_min_size conn_pool_ttl "
	 "rpc_conn_pool_size rabbit_max_retries hostname processname "
	 "rabbit_hosts rabbit_host rabbit_port rabbit_userid rabbit_password rabbit_virtual_host"},
	{"keystone_auth", KEYSTONE},
	{"keystone_authtoken",
	 KEYSTONE "www_authenticate_uri auth_uri auth_version delay_auth_decision "
		  "http_connect_timeout http_request_max_retries cache memcached_servers "
		  "memcache_servers memcache_security_strategy memcache_secret_key "
		  "memcache_tls_enabled memcache_tls_cafile memcache_tls_certfile "
		  "memcache_tls_keyfile memcache_tls_allowed_ciphers memcache_pool_dead_retry "
		  "memcache_pool_maxsize memcache_pool_socket_timeout "
		  "memcache_pool_unused_timeout memcache_pool_conn_get_timeout "
		  "memcache_use_advanced_pool memcache_sasl_enabled memcache_username "
		  "memcache_password enforce_token_bind include_service_catalog "
		  "service_token_roles service_token_roles_required service_type "
		  "signing_dir token_cache_time revocation_cache_time"},
	{"neutron_client", KEYSTONE CLIENT},
	{"placement_client", KEYSTONE CLIENT},
	{"glance_client", KEYSTONE CLIENT "api_version"},
	{"cinder_client", KEYSTONE CLIENT "api_version"},
	{"neutron", KEYSTONE CLIENT "ovs_bridge"},
	{"glance", "images_directory"},
	{"volume", "driver volume_dir fstype"},
	{"network", "driver_name"},
	{"pci", "passthrough_whitelist alias"},
	{"cni_daemon", "*"},
	{"websocket_proxy", "*"},
	{"api", "*"},
	{"scheduler", "*"},
	{"quota", "*"},
	{"zun_client", "*"},
	{"ssl", "*"},
	{"profiler", "*"},
	{"oslo_policy", "*"},
	{"oslo_concurrency", "*"},
	{"oslo_middleware", "*"},
	{"oslo_reports", "*"},
	{"oslo_messaging_notifications", "*"},
	{"oslo_messaging_amqp", "*"},
	{"oslo_messaging_kafka", "*"},
	{"privsep", "*"},
	{"privsep_osbrick", "*"},
	{"vif_plug_ovs_privileged", "*"},
	{"vif_plug_linux_bridge_privileged", "*"},
	{"os_vif_ovs", "*"},
	{"os_vif_linux_bridge", "*"},
	{"os_brick", "*"},
	{"cors", "*"},
	{"healthcheck", "*"},
};

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t span = strcspn(at, " ");

		if (span == length && memcmp(at, word, length) == 0)
			return true;
		at += span;
	}
	return false;
}

bool config_ignored(const char *group, const char *name)
{
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (strcmp(ignored[i].group, group) == 0)
			return strcmp(ignored[i].names, "*") == 0 ||
			       has_word(ignored[i].names, name);
	return false;
}

bool config_group_known(const char *group)
{
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (strcmp(ignored[i].group, group) == 0)
			return true;
	return false;
}

bool config_is_secret(const char *group, const char *name)
{
	static const char *const secrets = "password application_credential_secret passcode "
					   "memcache_secret_key memcache_password slave_connection "
					   "rabbit_password ssl_key_password hmac_keys "
					   "ssl_client_key_password transport_url";
	const struct option *option = config_option(group, name);

	return option ? option->secret : config_ignored(group, name) && has_word(secrets, name);
}
