/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a driver on a scripted helper. Process: unit test. */
#include "tests/unit/driver/driver_case.h"
#include "common/zfd.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

void case_set(struct driver_case *test, enum container_column column, const char *value)
{
	assert_int_equal(container_set_text(&test->row, column, value), 0);
}

void case_open(struct driver_case *test, const struct fake_step *steps)
{
	static char host[] = "vm", runtime[] = "runc";
	struct zerr err;

	*test = (struct driver_case){
		.config = {.host = host,
			   .container_runtime = runtime,
			   .docker_api_minor = 26,
			   .docker_default_timeout = 60,
			   .reserve_disk_for_image = 0.2},
		.actor = {.request_id = "req-1", .project_id = "p1", .user_id = "u1"},
		.row = {.cpu = 0.5, .interactive = true},
	};
	case_set(test, CONTAINER_uuid, CASE_UUID);
	case_set(test, CONTAINER_container_id, CASE_ID);
	case_set(test, CONTAINER_status, "Running");
	case_set(test, CONTAINER_image, "127.0.0.1:5001/busybox:1.35");
	case_set(test, CONTAINER_command, "[\"sleep\", \"900\"]");
	case_set(test, CONTAINER_entrypoint, "[]");
	case_set(test, CONTAINER_environment, "{\"A\": \"1\"}");
	case_set(test, CONTAINER_memory, "512");
	fake_start(&test->helper, steps);
	assert_int_equal(
		driver_docker.open(&test->config, test->helper.channel, &test->driver, &err), 0);
	driver_docker.actor(test->driver, &test->actor);
}

void case_close(struct driver_case *test)
{
	driver_docker.close(test->driver);
	fake_finish(&test->helper);
	container_clear(&test->row);
}

void case_failed(const struct driver_case *test, const char *class, const char *text)
{
	assert_non_null(test->failure.class);
	if (strcmp(test->failure.class, class) != 0 || strstr(test->failure.message, text) == NULL)
		fail_msg("%s: %s", test->failure.class, test->failure.message);
}
