/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of policy/: the mount namespace of a process that is being dropped. */
#pragma once
#include "policy/sandbox.h"

/* Enters the namespaces that drop asks for; the working folder is / afterwards.
 * 0 or a negative errno with *err. */
int view_enter(const struct sandbox_drop *drop, struct zerr *err);
