/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of zun.conf: oslo.config's rules, the types, the two URLs, the files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/base/config.h"

static void parse(struct config *config, const char *text)
{
	struct zerr err = {0};

	memset(config, 0, sizeof(*config));
	if (config_parse("zun.conf", text, strlen(text), config, &err) < 0)
		fail_msg("%s\n%s", err.msg, text);
}

static void assert_error(const char *text, const char *expected)
{
	struct config config = {0};
	struct zerr err = {0};

	if (config_parse("zun.conf", text, strlen(text), &config, &err) != -EINVAL ||
	    !strstr(err.msg, expected))
		fail_msg("'%s' instead of '%s' for\n%s", err.msg, expected, text);
	config_free(&config);
}

static void test_an_empty_file_gives_the_defaults(void **state)
{
	struct config config;
	char name[256];

	(void)state;
	parse(&config, "");
	assert_int_equal(gethostname(name, sizeof(name)), 0);
	assert_string_equal(config.host, name);
	assert_non_null(config.my_ip);
	assert_string_equal(config.docker_remote_api_host, config.my_ip);
	assert_int_equal(config.rabbit_count, 1);
	assert_string_equal(config.rabbit[0].host, "localhost");
	assert_int_equal(config.rabbit[0].port, 5672);
	assert_string_equal(config.rabbit[0].user, "guest");
	assert_string_equal(secret_text(&config.rabbit[0].password), "guest");
	assert_string_equal(config.rabbit_vhost, "/");
	assert_string_equal(config.control_exchange, "zun");
	assert_string_equal(config.topic, "zun-compute");
	assert_string_equal(config.container_driver, "docker");
	assert_string_equal(config.state_path, "/var/lib/zun");
	assert_null(config.docker_api_url); /* the site policy names the socket */
	assert_string_equal(config.image_driver_list[0], "glance");
	assert_string_equal(config.image_driver_list[1], "docker");
	assert_null(config.image_driver_list[2]);
	assert_int_equal(config.docker_api_minor, 26);
	assert_int_equal(config.executor_thread_pool_size, 32);
	assert_int_equal(config.workers_min, 4);
	assert_int_equal(config.max_reply_bytes, 16777216);
	assert_int_equal(config.default_memory_swap, -1);
	assert_true(config.strict_recovery && !config.resume_container_state);
	assert_true(config.rabbit_ssl_verify_name && !config.rabbit_ssl_verify_name_set);
	assert_true(config.reserve_disk_for_image > 0.199 && config.reserve_disk_for_image < 0.201);
	assert_string_equal(secret_text(&config.auth_encryption_key), CONFIG_DEFAULT_KEY);
	assert_string_equal(config.rabbit_ssl_ca_file, "");
	assert_null(config.log_file);
	assert_null(config.db_host);
	assert_null(config.docker_default_registry);
	assert_int_equal(config.db_max_retries, 20);
	assert_int_equal(config.db_connect_max_retries, 10);
	config_free(&config);
}

/* Each text sets [compute] topic or [DEFAULT] state_path. */
static void test_lines_are_read_as_oslo_config_reads_them(void **state)
{
	static const struct {
		const char *text, *state_path;
	} cases[] = {
		{"[DEFAULT]\nstate_path=/a\n", "/a"},
		{"[DEFAULT]\nstate_path = /a", "/a"},
		{"[DEFAULT]\nstate_path : /a = b\n", "/a = b"},
		{"[DEFAULT]\nstate_path = a:b\n", "a:b"},
		{"[DEFAULT]\n\tstate_path", NULL},
		{"[DEFAULT]\r\nstate_path=/a\r\n\r\n", "/a"},
		{"[DEFAULT]\rstate_path=/a\r", "/a"},
		{"# c\n; c\n\n[DEFAULT]\n#state_path=/x\nstate_path=/a # b\n", "/a # b"},
		{"[DEFAULT]\nstate_path=\"/a b\"\n", "/a b"},
		{"[DEFAULT]\nstate_path='/a'\n", "/a"},
		{"[DEFAULT]\nstate_path=\"/a'\n", "\"/a'"},
		{"[DEFAULT]\nstate_path=\"\n", ""},
		{"[DEFAULT]\nstate_path=\"a\" \"b\"\n", "a\" \"b"},
		{"[DEFAULT]\nstate_path=/a\n  /b\n\t/c  \n", "/a\n/b\n/c"},
		{"[DEFAULT]\nstate_path=\n  /b\n", "\n/b"},
		{"[DEFAULT]\nstate_path=/a\n # no comment\n", "/a\n# no comment"},
		{"[DEFAULT]\nstate_path=/a\n x=y\n", "/a\nx=y"},
		{"[DEFAULT]\nstate_path=/a\nstate_path=/b\n", "/b"},
		{"[DEFAULT]\nstate_path=/a\n[x]\nstate_path=/c\n[DEFAULT]\nstate_path=/d\n", "/d"},
		{"[DEFAULT]\nSTATE_PATH=/a\n[default]\nstate_path=/b\n", "/var/lib/zun"},
		{"[DEFAULT]\nstate-path=/a\n", "/var/lib/zun"},
		{"[DEFAULT]\nstate_path=\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config;

		if (!cases[i].state_path) {
			assert_error(cases[i].text, "zun.conf:2: continues no option's value");
			continue;
		}
		parse(&config, cases[i].text);
		if (strcmp(config.state_path, cases[i].state_path) != 0)
			fail_msg("'%s' from\n%s", config.state_path, cases[i].text);
		config_free(&config);
	}
}

static void test_group_names_are_taken_in_any_case(void **state)
{
	struct config config;

	(void)state;
	parse(&config, "[Compute]\ntopic=a\n[COMPUTE]\naction_timeout=5\n");
	assert_string_equal(config.topic, "a");
	assert_int_equal(config.action_timeout, 5);
	config_free(&config);
}

static void test_broken_lines_stop_with_file_and_line(void **state)
{
	(void)state;
	assert_error("host=a\n", "zun.conf:1: an option before any [group]");
	assert_error("\n[DEFAULT]\nhost\n", "zun.conf:3: neither '=' nor ':'");
	assert_error("[DEFAULT\n", "zun.conf:1: a group ends with ']'");
	assert_error("[DEFAULT] # x\n", "zun.conf:1: a group ends with ']'");
	assert_error("[]\n", "zun.conf:1: a group without a name");
	assert_error("[DEFAULT]\n=x\n", "zun.conf:2: a line without an option's name");
	assert_error("  x\n", "zun.conf:1: continues no option's value");
	assert_error("[DEFAULT]\nhost=a\n\n b\n", "zun.conf:4: continues no option's value");
	assert_error("[DEFAULT]\nhost=a\n#\n b\n", "zun.conf:4: continues no option's value");
	assert_error("[DEFAULT]\nhost=\xff\n", "zun.conf:2: not UTF-8");
	assert_error("\xef\xbb\xbf[DEFAULT]\n", "zun.conf:1: neither");
}

static void test_references_are_replaced(void **state)
{
	static const struct {
		const char *value, *state_path;
	} cases[] = {
		{"$host", "node"},
		{"${host}x", "nodex"},
		{"/$host/$my_ip/", "/node/10.0.0.9/"},
		{"$compute.topic", "t-node"},
		{"${compute.topic}.x", "t-node.x"},
		{"$$host", "$host"},
		{"\\$host", "$host"},
		{"a\\b", "a\\b"},
		{"$", "$"},
		{"$1", "$1"},
		{"a $ b", "a $ b"},
		{"${host", "${host"},
		{"${}", "${}"},
		{"$$$host", "$node"},
		{"$rpc_response_timeout", "60"},
		{"$log_file|", "|"},
		{"$pybasedir|", "/p|"},
		{"$bindir|", "|"},
		{"$glance.images_directory|", "|"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config;
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "[DEFAULT]\nhost=node\nmy_ip=10.0.0.9\npybasedir=/p\nstate_path=%s\n"
			       "[compute]\ntopic=t-$host\n",
			       cases[i].value);
		parse(&config, text);
		if (strcmp(config.state_path, cases[i].state_path) != 0)
			fail_msg("'%s' from %s", config.state_path, cases[i].value);
		config_free(&config);
	}
}

static void test_a_reference_looks_in_its_own_group_first(void **state)
{
	struct config config;

	(void)state;
	parse(&config, "[DEFAULT]\nhost=a\n[docker]\ndefault_registry=$default_timeout-$host\n"
		       "default_timeout=7\n");
	assert_string_equal(config.docker_default_registry, "7-a");
	config_free(&config);
}

static void test_references_that_lead_nowhere_stop_the_start(void **state)
{
	(void)state;
	assert_error("[DEFAULT]\nstate_path=$nosuch\n",
		     "zun.conf:2: [DEFAULT] state_path: refers to an option that does not exist");
	assert_error("[DEFAULT]\nstate_path=$nogroup.host\n", "does not exist");
	assert_error("[DEFAULT]\nstate_path=$host.\n", "does not exist");
	assert_error("[DEFAULT]\nstate_path=$HOST\n", "does not exist");
	assert_error("[DEFAULT]\nstate_path=$state_path\n", "lead back to itself");
	assert_error("[DEFAULT]\nstate_path=$host\nhost=$my_ip\nmy_ip=$host\n",
		     "lead back to itself");
	assert_error("[docker]\ndefault_registry=$compute.default_timeout\n", "does not exist");
}

static void test_references_cannot_grow_without_end(void **state)
{
	static char text[200000] = "[DEFAULT]\nlog_dir=";
	size_t used = strlen(text);

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", "$log_file");
	(void)snprintf(text + used, sizeof(text) - used, "\nlog_file=0123456789\n");
	assert_error(text, "[DEFAULT] log_dir: too long");
}

static void test_wrong_values_are_named_with_what_was_expected(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"[DEFAULT]\ndebug=maybe\n", "zun.conf:2: [DEFAULT] debug: true or false expected"},
		{"[DEFAULT]\ndebug=\n", "true or false"},
		{"[DEFAULT]\ndebug=\" true\"\n", "true or false"},
		{"[DEFAULT]\nservice_down_time=soon\n", "a whole number expected"},
		{"[DEFAULT]\nservice_down_time=1.5\n", "a whole number expected"},
		{"[DEFAULT]\nservice_down_time=0\n", "a number from 1 to 86400 expected"},
		{"[DEFAULT]\nservice_down_time=99999999999999999999\n", "a number from 1 to 86400"},
		{"[DEFAULT]\nservice_down_time=-\n", "a whole number expected"},
		{"[DEFAULT]\nservice_down_time=0x10\n", "a whole number expected"},
		{"[compute]\nreserve_disk_for_image=half\n", "a number expected"},
		{"[compute]\nreserve_disk_for_image=nan\n", "a number expected"},
		{"[compute]\nreserve_disk_for_image=0x1p-3\n", "a number expected"},
		{"[compute]\nreserve_disk_for_image=1.01\n", "a number from 0 to 1 expected"},
		{"[compute]\nreserve_disk_for_image=1e999\n", "a number expected"},
		{"[compute]\ncpu_allocation_ratio=-1\n", "a number of at least 0 expected"},
		{"[compute]\ntopic=\n", "at most 127 letters"},
		{"[compute]\ntopic=a b\n", "at most 127 letters"},
		{"[compute]\nworkers_min=1\n", "a number from 2 to 32"},
		{"[compute]\nunique_container_name_scope=x\n", "one of |project|global expected"},
		{"[DEFAULT]\nhost=a b\n", "a host name or address"},
		{"[DEFAULT]\nhost=\n", "a host name or address"},
		{"[DEFAULT]\ncontainer_driver=fake\n", "docker expected"},
		{"[docker]\napi_url=tcp://1.2.3.4:2375\n", "unix:///path expected"},
		{"[docker]\napi_url=unix:///\n", "unix:///path expected"},
		{"[docker]\ndocker_remote_api_version=2.0\n", "like 1.26 expected"},
		{"[docker]\ndocker_remote_api_version=1.x\n", "like 1.26 expected"},
		{"[docker]\ndocker_remote_api_version=1.5\n", "a number from 12 to 999"},
		{"[docker]\ndocker_remote_api_port=70000\n", "a number from 1 to 65535"},
		{"[oslo_messaging_rabbit]\nrabbit_login_method=X\n",
		 "one of PLAIN|AMQPLAIN|EXTERNAL"},
		{"[oslo_messaging_rabbit]\nrabbit_ha_queues=1\nrabbit_quorum_queue=1\n",
		 "zun.conf:2: [oslo_messaging_rabbit] rabbit_ha_queues: not together"},
		{"[volume]\nuse_multipath=2\n", "true or false"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_error(cases[i].text, cases[i].expected);
}

static void test_values_of_every_type_are_taken(void **state)
{
	struct config config;

	(void)state;
	parse(&config,
	      "[DEFAULT]\ndebug = YES\nservice_down_time =  +90 \ndefault_disk=\n"
	      "image_driver_list = docker ,\n  glance,, x,\nrpc_thread_pool_size=3\n"
	      "container_driver=zun.container.docker.driver.DockerDriver\nlogfile=/l\n"
	      "sync_container_state_interval=-1\n"
	      "[compute]\nreserve_disk_for_image = 2.5e-1\nworkers_min=8\n"
	      "[docker]\ndocker_remote_api_version=1.41\napi_url=unix:///x\n"
	      "[oslo_messaging_rabbit]\nkombu_ssl_ca_certs=/ca\nrabbit_quorum_max_memory_length=9\n"
	      "ssl_enforce_hostname_verification=true\n");
	assert_true(config.debug);
	assert_int_equal(config.service_down_time, 90);
	assert_int_equal(config.default_disk, 10); /* empty: not set */
	assert_string_equal(config.image_driver_list[0], "docker");
	assert_string_equal(config.image_driver_list[1], "glance");
	assert_string_equal(config.image_driver_list[2], "");
	assert_string_equal(config.image_driver_list[3], "x");
	assert_null(config.image_driver_list[4]);
	assert_int_equal(config.executor_thread_pool_size, 3);
	assert_int_equal(config.workers_min, 3);
	assert_string_equal(config.container_driver, "docker");
	assert_string_equal(config.log_file, "/l");
	assert_int_equal(config.sync_container_state_interval, -1);
	assert_true(config.reserve_disk_for_image == 0.25);
	assert_int_equal(config.docker_api_minor, 41);
	assert_string_equal(config.docker_api_url, "unix:///x");
	assert_string_equal(config.rabbit_ssl_ca_file, "/ca");
	assert_int_equal(config.rabbit_quorum_max_length, 9);
	assert_true(config.rabbit_ssl_verify_name && config.rabbit_ssl_verify_name_set);
	config_free(&config);
}

static void test_transport_url_with_several_hosts(void **state)
{
	struct config config;

	(void)state;
	parse(&config,
	      "[DEFAULT]\ntransport_url = rabbit://us%40er:p%2Fw%25@h1:5671,\n"
	      " u2:p:2@[fe80::1]:5673,h3,u4@h4:/v%2Fh?ssl=1&ssl_ca_file=%2Fca+x&heartbeat_rate=3\n"
	      "[oslo_messaging_rabbit]\nssl=false\n");
	assert_int_equal(config.rabbit_count, 4);
	assert_string_equal(config.rabbit[0].user, "us@er");
	assert_string_equal(secret_text(&config.rabbit[0].password), "p/w%");
	assert_string_equal(config.rabbit[0].host, "h1");
	assert_int_equal(config.rabbit[0].port, 5671);
	assert_string_equal(config.rabbit[1].user, "u2");
	assert_string_equal(secret_text(&config.rabbit[1].password), "p:2");
	assert_string_equal(config.rabbit[1].host, "fe80::1");
	assert_int_equal(config.rabbit[1].port, 5673);
	assert_string_equal(config.rabbit[2].user, "guest");
	assert_string_equal(config.rabbit[2].host, "h3");
	assert_int_equal(config.rabbit[2].port, 5672);
	assert_string_equal(config.rabbit[3].user, "u4");
	assert_string_equal(secret_text(&config.rabbit[3].password), "guest");
	assert_int_equal(config.rabbit[3].port, 5672);
	assert_string_equal(config.rabbit_vhost, "v/h");
	assert_true(config.rabbit_ssl);
	assert_string_equal(config.rabbit_ssl_ca_file, "/ca x");
	assert_int_equal(config.rabbit_heartbeat_rate, 3);
	config_free(&config);
}

static void test_virtual_hosts_are_taken_from_the_path(void **state)
{
	static const char *const cases[][2] = {
		{"rabbit://h", "/"},	   {"rabbit://h/", "/"},      {"rabbit://h/zun", "zun"},
		{"rabbit://h//", "/"},	   {"rabbit://h/a/b", "a/b"}, {"rabbit://h/?ssl=1", "/"},
		{"rabbit://h?ssl=1", "/"}, {"rabbit://", "/"},	      {"rabbit:///v#x", "v"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config;
		char text[128];

		(void)snprintf(text, sizeof(text), "[DEFAULT]\ntransport_url=%s\n", cases[i][0]);
		parse(&config, text);
		assert_string_equal(config.rabbit_vhost, cases[i][1]);
		config_free(&config);
	}
}

static void test_bad_transport_urls_are_refused_without_a_word_of_them(void **state)
{
	static const char *const cases[] = {
		"rabbit",
		"amqp://hidden@h/",
		"rabbit:/hidden",
		"rabbit://hidden:s3cret@h:0/",
		"rabbit://hidden:s3cret@h:70000/",
		"rabbit://hidden:s3cret@h:x/",
		"rabbit://hidden@[::1/",
		"rabbit://hidden@[::1]x/",
		"rabbit://hidden:s3cret%00@h/",
		"rabbit://hidden@a b/",
		"rabbit://a,b,c,d,e,f,g,h,hidden/",
		"rabbit://h/?ssl=hidden",
		"rabbit://hidden:s3cret@h/?heartbeat_rate=s3cret",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config = {0};
		struct zerr err = {0};
		char text[256];

		(void)snprintf(text, sizeof(text), "[DEFAULT]\ntransport_url=%s\n", cases[i]);
		assert_int_equal(config_parse("zun.conf", text, strlen(text), &config, &err),
				 -EINVAL);
		assert_non_null(strstr(err.msg, "zun.conf:2: ["));
		assert_null(strstr(err.msg, "hidden"));
		assert_null(strstr(err.msg, "s3cret"));
		config_free(&config);
	}
}

static void test_database_connection_is_taken_apart(void **state)
{
	struct config config;

	(void)state;
	parse(&config,
	      "[database]\nconnection = postgresql+psycopg2://zu%40n:p%40s/w?#'@db.example:6432/"
	      "zu%20n?sslmode=verify-full&sslrootcert=/etc/ca'%5Cx.pem\n"
	      "connection_parameters=connect_timeout=5&application_name=k\n");
	assert_string_equal(config.db_user, "zu@n");
	assert_string_equal(secret_text(&config.db_password), "p@s/w?#'");
	assert_string_equal(config.db_host, "db.example");
	assert_int_equal(config.db_port, 6432);
	assert_string_equal(config.db_name, "zu n");
	assert_string_equal(config.db_options,
			    "sslmode='verify-full' sslrootcert='/etc/ca\\'\\\\x.pem' "
			    "connect_timeout='5' application_name='k'");
	config_free(&config);
	parse(&config, "[database]\nconnection=postgresql:///zun?host=/run/postgresql&port=5433\n");
	assert_string_equal(config.db_host, "/run/postgresql");
	assert_int_equal(config.db_port, 5433);
	assert_null(config.db_user);
	assert_null(config.db_options);
	config_free(&config);
	parse(&config, "[database]\nconnection=postgresql://zun@[::1]/zun\n");
	assert_string_equal(config.db_host, "::1");
	assert_int_equal(config.db_port, 5432);
	assert_int_equal(config.db_password.length, 0);
	config_free(&config);
	parse(&config, "[database]\nconnection=postgresql://zun:x@/zun?host=db1:5433&host=db2&"
		       "target_session_attrs=read-write\n");
	assert_string_equal(config.db_host, "db1:5433,db2");
	assert_string_equal(config.db_options, "target_session_attrs='read-write'");
	config_free(&config);
	assert_error("[database]\nconnection=postgresql://zun@db0/zun?host=db1\n",
		     "zun.conf:2: [database] connection: hosts expected before the name of the "
		     "database or in the query, not both");
}

static void test_bad_database_connections_are_refused(void **state)
{
	(void)state;
	assert_error("[database]\nconnection=mysql+pymysql://zun:s3cret@h/zun\n",
		     "zun.conf:2: [database] connection: postgresql:// expected: this build has "
		     "PostgreSQL only");
	assert_error("[database]\nconnection=sqlite:////var/lib/zun.db\n", "PostgreSQL only");
	assert_error("[database]\nconnection=oracle://h/zun\n", "postgresql:// expected");
	assert_error("[database]\nconnection=zun\n", "postgresql://user:password@host:port/name");
	assert_error("[database]\nconnection=postgresql://h\n", "name of a database");
	assert_error("[database]\nconnection=postgresql://h:x/zun\n", "host:port");
	assert_error("[database]\nconnection=postgresql://h/zun?password=s3cret\n", "not allowed");
	assert_error("[database]\nconnection=postgresql://h/zun?service=x\n", "not allowed");
	assert_error("[database]\nconnection=postgresql:///zun?port=0\n", "1 to 65535");
	assert_error("[database]\nconnection=postgresql://h/zun\nconnection_parameters=user=x\n",
		     "not allowed");
}

static void write_file(const char *folder, const char *name, const char *text, mode_t mode)
{
	char path[256];
	int file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	assert_int_equal(zfd_write_all(file, text, strlen(text)), 0);
	assert_int_equal(fchmod(file, mode), 0);
	assert_int_equal(close(file), 0);
}

/* Removes each name below folder, "" being the folder itself; NULL ends the list. */
static void remove_files(const char *folder, ...)
{
	va_list names;
	const char *name;
	char path[256];

	va_start(names, folder);
	for (name = va_arg(names, const char *); name; name = va_arg(names, const char *)) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
		assert_int_equal(remove(path), 0);
	}
	va_end(names);
}

static void test_later_files_folders_and_the_environment_win(void **state)
{
	char folder[] = "/tmp/keelson-config-XXXXXX", path[256], parts[256];
	const char *files[] = {path, NULL}, *folders[] = {parts, NULL};
	struct config_source source = {.files = files, .directories = folders};
	struct config config = {0};
	struct zerr err = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/zun.conf", folder);
	(void)snprintf(parts, sizeof(parts), "%s/zun.conf.d", folder);
	assert_int_equal(mkdir(parts, 0700), 0);
	write_file(folder, "zun.conf", "[compute]\ntopic=a\naction_timeout=1\ncreate_timeout=1\n",
		   0600);
	write_file(parts, "20.conf", "[compute]\naction_timeout=20\ncreate_timeout=20\n", 0600);
	write_file(parts, "10.conf", "[compute]\naction_timeout=10\n", 0600);
	write_file(parts, "30.txt", "[compute]\naction_timeout=30\n", 0600);
	write_file(parts, ".hidden.conf", "[compute]\naction_timeout=40\n", 0600);
	assert_int_equal(setenv("OS_COMPUTE__CREATE_TIMEOUT", "77", 1), 0);
	assert_int_equal(setenv("OS_DEFAULT__STATE_PATH", "/s/$compute.topic", 1), 0);
	if (config_load(&source, &config, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(config.topic, "a");
	assert_int_equal(config.action_timeout, 20);
	assert_int_equal(config.create_timeout, 77);
	assert_string_equal(config.state_path, "/s/a");
	config_free(&config);
	assert_int_equal(setenv("OS_COMPUTE__CREATE_TIMEOUT", "x", 1), 0);
	assert_int_equal(config_load(&source, &config, &err), -EINVAL);
	assert_string_equal(err.msg, "environment OS_COMPUTE__CREATE_TIMEOUT: [compute] "
				     "create_timeout: a whole number expected");
	config_free(&config);
	(void)unsetenv("OS_COMPUTE__CREATE_TIMEOUT"); /* cannot fail: a plain name */
	(void)unsetenv("OS_DEFAULT__STATE_PATH");
	remove_files(folder, "zun.conf.d/10.conf", "zun.conf.d/20.conf", "zun.conf.d/30.txt",
		     "zun.conf.d/.hidden.conf", "zun.conf.d", "zun.conf", "", NULL);
}

static void test_the_default_files_are_searched_at_home_first(void **state)
{
	static const char *const places[] = {".zun", ".zun/zun.conf.d", "zun-compute.conf.d"};
	char folder[] = "/tmp/keelson-config-XXXXXX", path[256];
	struct config_source source = {.program = "zun-compute"};
	struct config config = {0};
	const char *home = getenv("HOME");
	_cleanup_free_ char *saved = home ? strdup(home) : NULL;
	struct zerr err = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, places[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	/* The first place that has a name wins; then the program's file, then the folders. */
	write_file(folder, ".zun/zun.conf", "[compute]\ntopic=a\naction_timeout=1\n", 0600);
	write_file(folder, "zun.conf", "[compute]\ntopic=unseen\n", 0600);
	write_file(folder, "zun-compute.conf", "[compute]\naction_timeout=2\n", 0600);
	write_file(folder, ".zun/zun.conf.d/1.conf", "[compute]\ncreate_timeout=3\n", 0600);
	write_file(folder, "zun-compute.conf.d/1.conf", "[compute]\nworkers_min=5\n", 0600);
	assert_int_equal(setenv("HOME", folder, 1), 0);
	if (config_load(&source, &config, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(config.topic, "a");
	assert_int_equal(config.action_timeout, 2);
	assert_int_equal(config.create_timeout, 3);
	assert_int_equal(config.workers_min, 5);
	config_free(&config);
	assert_int_equal(saved ? setenv("HOME", saved, 1) : unsetenv("HOME"), 0);
	remove_files(folder, ".zun/zun.conf.d/1.conf", "zun-compute.conf.d/1.conf",
		     ".zun/zun.conf.d", "zun-compute.conf.d", ".zun/zun.conf", "zun.conf",
		     "zun-compute.conf", ".zun", "", NULL);
}

static void test_a_named_file_must_be_there(void **state)
{
	const char *files[] = {"/nonexistent/zun.conf", NULL};
	struct config_source source = {.files = files};
	struct config config = {0};
	struct zerr err = {0};

	(void)state;
	assert_int_equal(config_load(&source, &config, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/zun.conf"));
	source = (struct config_source){.files = files + 1, .directories = files};
	assert_int_equal(config_load(&source, &config, &err), -ENOENT);
	files[0] = "/tmp";
	source = (struct config_source){.files = files};
	assert_int_equal(config_load(&source, &config, &err), -EISDIR);
	config_free(&config);
}

/* What config_load writes to the log for a file. */
static void load_logged(const char *text, mode_t mode, char *log, size_t size)
{
	char folder[] = "/tmp/keelson-config-XXXXXX", path[256];
	const char *files[] = {path, NULL}, *folders[] = {NULL};
	struct config_source source = {.files = files, .directories = folders};
	struct config config = {0};
	int saved = dup(STDERR_FILENO), file = memfd_create("log", MFD_CLOEXEC);
	ssize_t length;

	assert_non_null(mkdtemp(folder));
	write_file(folder, "zun.conf", text, mode);
	(void)snprintf(path, sizeof(path), "%s/zun.conf", folder);
	assert_true(saved >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
	assert_int_equal(config_load(&source, &config, NULL), 0);
	assert_true(dup2(saved, STDERR_FILENO) >= 0 && close(saved) == 0);
	length = pread(file, log, size - 1, 0);
	assert_true(length >= 0);
	log[length] = '\0';
	assert_int_equal(close(file), 0);
	config_free(&config);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static unsigned lines_with(const char *log, const char *text)
{
	unsigned count = 0;

	for (const char *at = strstr(log, text); at; at = strstr(at + 1, text))
		count++;
	return count;
}

static void test_unknown_options_are_named_once_each(void **state)
{
	char log[8192];

	(void)state;
	load_logged("[DEFAULT]\nhots=a\nhots=b\nallow_default_key=1\ndebug=0\nmaximum_cpus=3\n"
		    "[compute]\ntopics=x\n[nowhere]\na=1\nb=2\n[Nowhere]\nc=3\n[api]\nport=1\n"
		    "[keystone_auth]\npassword=s3cret\nauth_url=http://x\n",
		    0600, log, sizeof(log));
	assert_int_equal(lines_with(log, "[DEFAULT] hots: unknown option"), 1);
	assert_int_equal(lines_with(log, "zun.conf:8: [compute] topics: unknown option"), 1);
	assert_int_equal(lines_with(log, "[nowhere]: unknown group"), 1);
	assert_int_equal(lines_with(log, "\n"), 3);
}

static void test_a_file_of_another_program_gives_no_flood(void **state)
{
	static char text[8192] = "[compute]\n";
	static char log[16384];

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "x%u=1\n", i);
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		       "[DEFAULT]\nallow_default_key=1\n");
	load_logged(text, 0600, log, sizeof(log));
	assert_int_equal(lines_with(log, "\n"), 51);
}

static void test_readable_secrets_and_the_default_key_are_warned_about(void **state)
{
	static const char secret[] = "[DEFAULT]\ntransport_url=rabbit://u:s3cret@h/\n"
				     "[database]\nconnection=postgresql://u:s3cret@h/d\n";
	char log[8192];

	(void)state;
	load_logged(secret, 0644, log, sizeof(log));
	assert_int_equal(lines_with(log, "every user may read it"), 1);
	assert_int_equal(lines_with(log, "auth_encryption_key: still the default"), 1);
	assert_int_equal(lines_with(log, "s3cret"), 0);
	load_logged(secret, 0640, log, sizeof(log));
	assert_int_equal(lines_with(log, "every user may read it"), 0);
	load_logged("[DEFAULT]\ndebug=false\nallow_default_key=true\n", 0644, log, sizeof(log));
	assert_int_equal(lines_with(log, "\n"), 0);
	load_logged("[DEFAULT]\nauth_encryption_key=short\n", 0600, log, sizeof(log));
	assert_int_equal(lines_with(log, "32 characters expected"), 1);
	load_logged(
		"[DEFAULT]\nallow_default_key=1\n[oslo_messaging_rabbit]\nkombu_compression=gzip\n",
		0600, log, sizeof(log));
	assert_int_equal(lines_with(log, "kombu_compression: not supported"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_file_gives_the_defaults),
		cmocka_unit_test(test_lines_are_read_as_oslo_config_reads_them),
		cmocka_unit_test(test_group_names_are_taken_in_any_case),
		cmocka_unit_test(test_broken_lines_stop_with_file_and_line),
		cmocka_unit_test(test_references_are_replaced),
		cmocka_unit_test(test_a_reference_looks_in_its_own_group_first),
		cmocka_unit_test(test_references_that_lead_nowhere_stop_the_start),
		cmocka_unit_test(test_references_cannot_grow_without_end),
		cmocka_unit_test(test_wrong_values_are_named_with_what_was_expected),
		cmocka_unit_test(test_values_of_every_type_are_taken),
		cmocka_unit_test(test_transport_url_with_several_hosts),
		cmocka_unit_test(test_virtual_hosts_are_taken_from_the_path),
		cmocka_unit_test(test_bad_transport_urls_are_refused_without_a_word_of_them),
		cmocka_unit_test(test_database_connection_is_taken_apart),
		cmocka_unit_test(test_bad_database_connections_are_refused),
		cmocka_unit_test(test_later_files_folders_and_the_environment_win),
		cmocka_unit_test(test_the_default_files_are_searched_at_home_first),
		cmocka_unit_test(test_a_named_file_must_be_there),
		cmocka_unit_test(test_unknown_options_are_named_once_each),
		cmocka_unit_test(test_a_file_of_another_program_gives_no_flood),
		cmocka_unit_test(test_readable_secrets_and_the_default_key_are_warned_about),
	};

	zlog_setup("test", ZLOG_WARNING, false);
	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
