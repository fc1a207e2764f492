/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher makes before it has a child: it reads the site policy, then
 * makes folders, audit log, boards and channels.  Runs as root; the only outside
 * bytes are the policy file's.  Nothing is opened through a link, and nothing
 * below a folder that anybody but root could have changed.
 */
#include "privsep/launch.h"

#include "common/zfd.h"
#include "privsep/helper.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE 256

/* Opens the folder name in parent, made if missing.  An owned descriptor or a negative errno. */
static int enter(int parent, const char *name)
{
	if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return folder < 0 ? -errno : folder;
}

/* Whether nobody but root can put anything else in the place of what is in the folder. */
static int check_trusted(int folder)
{
	struct stat status;
	if (fstat(folder, &status) < 0)
		return -errno;
	bool open_to_others = (status.st_mode & 022) != 0 && (status.st_mode & S_ISVTX) == 0;
	return status.st_uid != 0 || open_to_others ? -EPERM : 0;
}

static int settle_owner(int folder, const struct stat *wanted)
{
	struct stat status;
	if (fstat(folder, &status) < 0)
		return -errno;
	if (status.st_uid != 0 && status.st_uid != wanted->st_uid)
		return -EPERM;
	if (fchown(folder, wanted->st_uid, wanted->st_gid) < 0 ||
	    fchmod(folder, wanted->st_mode) < 0)
		return -errno;
	return 0;
}

int launch_folder(const char *path, const struct stat *wanted, struct zerr *err)
{
	_cleanup_fd_ int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = folder < 0 ? -errno : 0;
	const char *next = path + 1; /* absolute, as the policy's reader has checked */
	while (r == 0 && *next != '\0') {
		char name[NAME_SIZE];
		size_t length = strcspn(next, "/");
		r = zstr_copy((struct zstr){next, length}, name, sizeof(name));
		next += length + (next[length] == '/');
		if (r == 0)
			r = check_trusted(folder);
		int child = r == 0 ? enter(folder, name) : -1;
		if (r == 0 && child < 0)
			r = child;
		zfd_closep(&folder);
		folder = child;
	}
	if (r == 0)
		r = settle_owner(folder, wanted);
	if (r < 0)
		return zerr_errno(err, r, "folder %s: not root's alone, or not to be made", path);
	return TAKE_FD(folder);
}

static const char *const levels[] = {"launcher", "docker", "broker"};

static void board_name(const struct launch *launch, size_t level, char name[NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "%s.%s.board", launch->options->service, levels[level]);
}

void launch_tidy(const struct launch *launch)
{
	char name[NAME_SIZE];
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		board_name(launch, i, name);
		(void)unlinkat(launch->run, name, 0); /* a board left behind names dead processes */
	}
}

/* Opens a level's board, empty and of the right size.  An owned descriptor or a negative errno. */
static int make_board(const struct launch *launch, size_t level)
{
	char name[NAME_SIZE];
	board_name(launch, level, name);
	_cleanup_fd_ int board = zfd_open_beneath(launch->run, name, O_RDWR | O_CREAT, 0600);
	if (board < 0)
		return board;
	/* The lock goes with this process: another launcher of the service may not begin before. */
	if (level == 0 && flock(board, LOCK_EX | LOCK_NB) < 0)
		return -EBUSY;
	if (ftruncate(board, 0) < 0 || ftruncate(board, sizeof(struct sandbox_board)) < 0)
		return -errno;
	return TAKE_FD(board);
}

/* The launcher's own board stays open: it is the lock. */
static int make_boards(struct launch *launch)
{
	launch->lock = make_board(launch, 0);
	if (launch->lock < 0)
		return launch->lock;
	_cleanup_fd_ int docker = make_board(launch, 1);
	launch->broker_board = make_board(launch, 2);
	int r = docker < 0 ? docker : launch->broker_board;
	if (r >= 0)
		r = sandbox_board_map(launch->lock, &launch->board);
	return r < 0 ? r : sandbox_board_map(docker, &launch->docker_board);
}

static int make_folders(struct launch *launch, struct zerr *err)
{
	const struct site_policy *site = &launch->site;
	const struct stat open_to_all = {.st_uid = 0, .st_gid = 0, .st_mode = 0755};
	const struct stat brokers = {
		.st_uid = site->broker_uid, .st_gid = site->broker_gid, .st_mode = 0750};
	const char *service = launch->options->service;
	(void)snprintf(launch->broker_state, sizeof(launch->broker_state), "%s/%s",
		       site->state_directory, service);
	(void)snprintf(launch->broker_run, sizeof(launch->broker_run), "%s/%s", site->run_directory,
		       service);
	_cleanup_fd_ int state = launch_folder(launch->broker_state, &brokers, err);
	launch->run = state < 0 ? state : launch_folder(site->run_directory, &open_to_all, err);
	_cleanup_fd_ int run =
		launch->run < 0 ? launch->run : launch_folder(launch->broker_run, &brokers, err);
	return run < 0 ? run : 0;
}

static int open_audit(struct launch *launch, struct zerr *err)
{
	const struct stat roots_alone = {.st_uid = 0, .st_gid = 0, .st_mode = 0700};
	const struct site_policy *site = &launch->site;
	_cleanup_fd_ int folder = launch_folder(site->audit_directory, &roots_alone, err);
	if (folder < 0)
		return folder;
	return audit_open(&launch->audit, folder, docker_domain.name, site->audit_sync_always, err);
}

int launch_prepare(struct launch *launch, struct zerr *err)
{
	(void)umask(022); /* cannot fail */
	int r = site_policy_load(launch->options->policy, &launch->site, err);
	if (r == 0)
		r = make_folders(launch, err);
	if (r < 0)
		return r;
	r = make_boards(launch);
	if (r == -EBUSY)
		return zerr_set(err, r, "%s: another launcher of it is running",
				launch->options->service);
	if (r < 0)
		return zerr_errno(err, r, "boards in %s", launch->site.run_directory);
	r = open_audit(launch, err);
	if (r < 0)
		return r;
	r = helper_channel(launch->docker_channel);
	if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, launch->link) < 0)
		r = -errno;
	return r < 0 ? zerr_errno(err, r, "channels") : 0;
}
