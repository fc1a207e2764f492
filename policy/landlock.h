/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock's interface up to ABI 7: Debian 12's headers end at an older one. */
#pragma once
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define LL_RULESET_VERSION  1U
#define LL_RULE_PATH        1
#define LL_RULE_PORT        2

#define LL_FS_WRITE_FILE    (UINT64_C(1) << 1)
#define LL_FS_READ_FILE     (UINT64_C(1) << 2)
#define LL_FS_READ_DIR      (UINT64_C(1) << 3)
#define LL_FS_REMOVE_FILE   (UINT64_C(1) << 5)
#define LL_FS_MAKE_REG      (UINT64_C(1) << 8)
#define LL_FS_TRUNCATE      (UINT64_C(1) << 14)
/* All rights of each ABI: execute to symbolic links (1), link and rename across folders (2),
 * truncate (3), ioctl on devices (5). */
#define LL_FS_ABI1          ((UINT64_C(1) << 13) - 1)
#define LL_FS_ABI2          ((UINT64_C(1) << 14) - 1)
#define LL_FS_ABI3          ((UINT64_C(1) << 15) - 1)
#define LL_FS_ABI5          ((UINT64_C(1) << 16) - 1)

#define LL_NET_BIND_TCP     UINT64_C(1)
#define LL_NET_CONNECT_TCP  UINT64_C(2)

#define LL_SCOPE_ABSTRACT   UINT64_C(1)
#define LL_SCOPE_SIGNAL     UINT64_C(2)

struct ll_ruleset {
	uint64_t fs, net, scoped; /* net from ABI 4, scoped from ABI 6 */
};

struct ll_path_rule {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

struct ll_port_rule {
	uint64_t allowed, port;
};
