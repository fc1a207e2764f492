/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson-compute: the broker.  Executed by keelson-launch as an unprivileged
 * user with the descriptors of privsep/fds.h; becomes the dispatcher, and forks
 * workers and publisher without executing anything.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "privsep/client.h"
#include "privsep/fds.h"
#include "unpriv/compute/arguments.h"
#include "unpriv/compute/dispatcher.h"
#include "unpriv/compute/rules.h"
#include "unpriv/compute/worker.h"
#include "unpriv/rpc/publisher.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM	       "keelson-compute"
#define EXIT_FAILED    1
#define EXIT_SANDBOX   80
#define LANDLOCK_LEAST 1

struct broker {
	struct arguments arguments;
	struct config config;
	char state_directory[PATH_MAX];
	struct priv_channel docker; /* the first channel: only for opening others */
	struct sandbox_board *board;
	struct rules rules;
	bool unconfined; /* the sandbox could not be closed */
};

/* The site policy is the launcher's to read: it may ask for more, or for less (0: best effort). */
static unsigned landlock_least(void)
{
	const char *given = getenv("KEELSON_LANDLOCK_MIN_ABI");
	uint64_t least;

	return given && zfd_parse_u64(given, 100, &least) == 0 ? (unsigned)least : LANDLOCK_LEAST;
}

static struct rules_source source_of(struct broker *broker)
{
	return (struct rules_source){.config = &broker->config,
				     .state_directory = broker->state_directory,
				     .config_paths = broker->arguments.paths,
				     .board = broker->board,
				     .landlock_min_abi = landlock_least()};
}

static enum zlog_level level_of(const struct broker *broker, const struct config *config)
{
	return broker->arguments.debug || config->debug ? ZLOG_DEBUG : ZLOG_INFO;
}

/* A child keeps no password that it has no use for. */
static void work(void *context, int jobs, int channel)
{
	struct broker *broker = context;
	struct rules_source source = source_of(broker);
	struct worker_options options = {.config = &broker->config,
					 .state_directory = broker->state_directory,
					 .jobs = jobs,
					 .docker_channel = channel,
					 .confine = &broker->rules.confine};

	for (unsigned i = 0; i < broker->config.rabbit_count; i++)
		secret_clear(&broker->config.rabbit[i].password);
	(void)prctl(PR_SET_NAME, "keelson-worker"); /* what ps shows; nothing hangs on it */
	zlog_setup("worker", level_of(broker, &broker->config), broker->config.use_json);
	rules_worker(&broker->rules, &source);
	worker_main(&options);
}

static void publish(void *context, int socket)
{
	struct broker *broker = context;
	struct rules_source source = source_of(broker);

	secret_clear(&broker->config.db_password);
	secret_clear(&broker->config.auth_encryption_key);
	(void)prctl(PR_SET_NAME, "keelson-publish"); /* likewise; 15 bytes at most */
	zlog_setup("publisher", level_of(broker, &broker->config), broker->config.use_json);
	rules_publisher(&broker->rules, &source);
	publisher_main(&broker->config, socket, &broker->rules.confine);
}

static int open_channel(void *context)
{
	struct broker *broker = context;
	const struct req_docker_open_channel request = {0};
	struct ans_docker_open_channel answer;
	struct zerr err = {0};
	int fd = -1;
	int result = priv_docker_open_channel(&broker->docker, &request, &answer, &fd, &err);

	if (result == 0 && fd >= 0)
		return fd;
	zfd_closep(&fd);
	zlog_error("docker helper: a channel for a worker: %s", err.msg);
	return result < 0 ? result : -EUSERS;
}

static void ended(void *context, pid_t pid)
{
	struct broker *broker = context;

	if (broker->board)
		sandbox_board_leave(broker->board, pid);
}

static int load_config(const struct broker *broker, struct config *config, struct zerr *err)
{
	struct config_source source = {.files = broker->arguments.files,
				       .directories = broker->arguments.directories,
				       .program = "zun-compute"};

	return config_load(&source, config, err);
}

/* SIGHUP: the log level, and nothing else. */
static void reload(void *context)
{
	struct broker *broker = context;
	struct config *again = calloc(1, sizeof(*again));
	struct zerr err = {0};

	if (!again || load_config(broker, again, &err) < 0) {
		zlog_warning("configuration: reading it again: %s", again ? err.msg : "no memory");
	} else {
		broker->config.debug = again->debug;
		zlog_setup("dispatcher", level_of(broker, again), broker->config.use_json);
		zlog_info("log level: %s",
			  level_of(broker, again) == ZLOG_DEBUG ? "debug" : "info");
	}
	if (again)
		config_free(again);
	free(again);
}

static int confine(void *context, struct zerr *err)
{
	struct broker *broker = context;
	struct rules_source source = source_of(broker);
	int result;

	rules_dispatcher(&broker->rules, &source);
	result = sandbox_confine(SANDBOX_DISPATCHER, &broker->rules.confine, err);
	broker->unconfined = result < 0;
	return result;
}

/* Where the operator wants the log: a file, or a file of the usual name in a folder.  False:
 * nowhere. */
static bool name_log(const struct broker *broker, char *path, size_t size)
{
	const char *file =
		broker->arguments.log_file ? broker->arguments.log_file : broker->config.log_file;
	const char *folder =
		broker->arguments.log_dir ? broker->arguments.log_dir : broker->config.log_dir;
	bool has_folder = folder && folder[0] != '\0';
	int length;

	if (!file || file[0] == '\0') {
		if (!has_folder)
			return false;
		file = "zun-compute.log";
	}
	if (has_folder && file[0] != '/')
		length = snprintf(path, size, "%s/%s", folder, file);
	else
		length = snprintf(path, size, "%s", file);
	return length > 0 && (size_t)length < size;
}

/* The launcher shows us the host read-only: a log that cannot be written there goes on to stderr,
 * which is no reason not to run. */
static void redirect_log(const struct broker *broker)
{
	char path[PATH_MAX];
	_cleanup_fd_ int fd = -1;

	if (!name_log(broker, path, sizeof(path)))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		zlog_warning("log file %s: %s: the log stays on stderr", path, strerror(errno));
}

/* The launcher names the folder; by hand it is the one of the configuration. */
static int prepare_state(struct broker *broker, struct zerr *err)
{
	const char *given = getenv("KEELSON_STATE_DIRECTORY");
	int length;

	if (given && given[0] == '/')
		length = snprintf(broker->state_directory, sizeof(broker->state_directory), "%s",
				  given);
	else
		length = snprintf(broker->state_directory, sizeof(broker->state_directory),
				  "%s/compute", broker->config.state_path);
	if (length < 0 || (size_t)length >= sizeof(broker->state_directory))
		return zerr_set(err, -ENAMETOOLONG, "state_path: too long");
	if (mkdir(broker->state_directory, 0700) < 0 && errno != EEXIST)
		return zerr_errno(err, -errno, "%s", broker->state_directory);
	return 0;
}

/* What an operator should know at each start. */
static void warn_about(const struct config *config)
{
	if (config->rabbit_ssl && config->rabbit_ssl_verify_name_set &&
	    !config->rabbit_ssl_verify_name)
		zlog_warning(
			"[oslo_messaging_rabbit] ssl_enforce_hostname_verification is false: any "
			"holder of a certificate of the authority may play the message broker");
	if (config->rabbit_heartbeat == 0)
		zlog_warning(
			"[oslo_messaging_rabbit] heartbeat_timeout_threshold is 0: a dead message "
			"broker is found by TCP alone");
}

static int check_descriptors(struct zerr *err)
{
	if (fcntl(FD_DOCKER_CHANNEL, F_GETFD) < 0 || fcntl(FD_LAUNCHER, F_GETFD) < 0)
		return zerr_set(err, -EBADF, "not started by keelson-launch compute");
	/* Children get none of them. */
	if (fcntl(FD_DOCKER_CHANNEL, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(FD_LAUNCHER, F_SETFD, FD_CLOEXEC) < 0)
		return zerr_errno(err, -errno, "the launcher's descriptors");
	return 0;
}

static int prepare(struct broker *broker, struct zerr *err)
{
	int result = load_config(broker, &broker->config, err);

	if (result < 0)
		return result;
	zlog_setup("dispatcher", level_of(broker, &broker->config), broker->config.use_json);
	redirect_log(broker);
	warn_about(&broker->config);
	result = check_descriptors(err);
	if (result == 0)
		result = prepare_state(broker, err);
	if (result < 0)
		return result;
	result = priv_open(&broker->docker, FD_DOCKER_CHANNEL, PROTO_DOCKER, err);
	if (result != 0)
		return result < 0 ? result : -EPROTO;
	/* Without a board there is nothing for `keelson doctor` to compare, and nothing else is
	 * lost. */
	if (sandbox_board_map(FD_BOARD, &broker->board) < 0)
		broker->board = NULL;
	return 0;
}

static int run(struct broker *broker, struct zerr *err)
{
	static const struct dispatcher_hooks hooks = {.work = work,
						      .publish = publish,
						      .open_channel = open_channel,
						      .ended = ended,
						      .reload = reload,
						      .confine = confine};
	struct dispatcher_options options = {.config = &broker->config,
					     .state_directory = broker->state_directory,
					     .launcher = FD_LAUNCHER,
					     .hooks = &hooks,
					     .context = broker};
	int result = prepare(broker, err);

	return result < 0 ? result : dispatcher_run(&options, err);
}

int main(int argc, char **argv)
{
	static struct broker broker; /* large, and zeroed */
	struct zerr err = {0};
	int result;

	(void)umask(077);
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail for a valid signal */
	/* The loop waits while a name is looked up: 2 s for each server, once. */
	(void)setenv("RES_OPTIONS", "timeout:2 attempts:1", 0);
	zlog_setup("dispatcher", ZLOG_INFO, false);
	result = arguments_parse(&broker.arguments, argc, argv, PROGRAM);
	if (result != 0)
		return result < 0 ? 2 : 0;
	result = run(&broker, &err);
	if (result < 0)
		zlog_error("%s", err.msg);
	else
		zlog_info("stopped");
	priv_close(&broker.docker);
	config_free(&broker.config);
	if (broker.unconfined)
		return EXIT_SANDBOX;
	return result < 0 ? EXIT_FAILED : 0;
}
