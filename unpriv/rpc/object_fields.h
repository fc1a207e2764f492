/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the container classes and their types; private to unpriv/rpc. */
#pragma once
#include <json-c/json.h>
#include <stdbool.h>

struct object_field;

/* NULL for a field that we do not know: a higher minor version may have it. */
const struct object_field *object_field(const char *name, bool capsule);
/* NULL when value (may be NULL: null) is of the field's type, else what was expected. */
const char *object_field_check(const struct object_field *field, struct json_object *value);
