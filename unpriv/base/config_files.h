/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a configuration; private to unpriv/base. */
#pragma once
#include "unpriv/base/config.h"
#include "unpriv/base/config_ini.h"

/* Reads them all into *ini, in order.  0 or a negative errno with *err; a named file must be there.
 */
int config_read_files(const struct config_source *source, struct ini *ini, struct zerr *err);
