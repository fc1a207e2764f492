#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C file that defines proto_build_id: SHA-256 over the names and the
contents of the sources of the given folders.  Nothing else goes in (no time, no
path of the machine, no option), so that equal sources give equal ids.

    build_id.py SOURCE_ROOT OUT.c DEPFILE FOLDER...
"""
import hashlib
import os
import sys

SUFFIXES = (".c", ".h", ".def")


def main():
    root, out, depfile = sys.argv[1:4]
    names = []
    for folder in sys.argv[4:]:
        for name in os.listdir(os.path.join(root, folder)):
            if name.endswith(SUFFIXES):
                names.append(folder + "/" + name)
    total = hashlib.sha256()
    for name in sorted(names):
        with open(os.path.join(root, name), "rb") as source:
            content = source.read()
        total.update(b"%s\n%d\n" % (name.encode(), len(content)))
        total.update(content)
    values = ", ".join("0x%02x" % byte for byte in total.digest())
    with open(out, "w") as generated:
        generated.write(
            "/* SPDX-License-Identifier: Apache-2.0 */\n"
            "/* Made by tools/build_id.py from the sources of the trusted side. */\n"
            '#include "privsep/proto.h"\n\n'
            "const uint8_t proto_build_id[32] = {%s};\n" % values
        )
    # The folders themselves are named too: a new file changes the id as well.
    watched = [os.path.join(root, name) for name in names + sys.argv[4:]]
    with open(depfile, "w") as dependencies:
        dependencies.write("%s: %s\n" % (out, " ".join(watched)))


if __name__ == "__main__":
    main()
