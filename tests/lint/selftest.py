# SPDX-License-Identifier: Apache-2.0
"""A check that finds nothing proves nothing: each one is run on a small tree with one fault planted in it."""
import contextlib
import os
import subprocess
import tempfile

import checks_privilege
import checks_text
from result import judge


def complexity():
    """Without the allow file, which names functions of the real tree."""
    return checks_text.complexity(os.devnull)


LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"
BRANCHES = "int f(int a);\nint f(int a)\n{\n" + "\tif (a == 1)\n\t\ta++;\n" * 13 + "\treturn a;\n}\n"
SIZES = ("<!-- trusted-size -->\n| part | code lines |\n|---|---|\n| `common/` | {} |\n| `privsep/` | 0 |\n| `policy/` | 0 |\n"
         "| **all** | **{}** |\n")
# check, file, what stands in it after the licence line
FAULTS = [
    (checks_text.file_sizes, "unpriv/a.c", "int a;\n" * 800),
    (checks_text.line_widths, "unpriv/a.c", "\t/*" + "x" * 90 + "*/\n"),
    (checks_text.function_sizes, "unpriv/a.c", "int f(void);\nint f(void)\n{\n" + "\n" * 80 + "\treturn 0;\n}\n"),
    (complexity, "unpriv/a.c", BRANCHES),
    (checks_text.banned_calls, "unpriv/a.c", "void f(char *a) { strcpy (a, \"\"); }\n"),
    (checks_text.banned_calls, "unpriv/a.c", "void f(void) { (void)signal(1, handler); }\n"),
    (checks_text.banned_calls, "privsep/a.c", "void f(void) { localtime(0); }\n"),
    (checks_text.banned_calls, "common/text.c", "void f(void) { free(0); }\n"),
    (checks_text.headers_alone, "common/a.h", "#pragma once\nsize_t f(void);\n"),
    (checks_text.headers_alone, "common/a.h", "#include <stddef.h>\nstruct a { int b; };\n"),
    (checks_text.words, "unpriv/a.c", "/* TO" + "DO: more */\n"),
    (checks_text.words, "README.md", "see /wo" + "rk/main\n"),
    (checks_privilege.arrows, "common/a.c", '#include "privsep/b.h"\n'),
    (checks_privilege.arrows, "policy/a.c", '#include "privsep/b.h"\n'),
    (checks_privilege.arrows, "privsep/a.c", '#include "unpriv/base/b.h"\n'),
    (checks_privilege.arrows, "privsep/a.c", '#include "../unpriv/b.h"\n'),
    (checks_privilege.arrows, "unpriv/a.c", '#include "privsep/helper.h"\n'),
    (checks_privilege.arrows, "proxy/a.c", '#include "unpriv/rpc/b.h"\n'),
    (checks_privilege.privileged_calls, "unpriv/a.c", "void f(void) { mount(0, 0, 0, 0, 0); }\n"),
    (checks_privilege.privileged_calls, "unpriv/a.c", "void f(void) { syscall(SYS_setns, 0, 0); }\n"),
    (checks_privilege.privileged_calls, "common/a.c", "void f(void) { socket(AF_NETLINK, 0, 0); }\n"),
    (checks_privilege.privileged_calls, "policy/a.c", "void f(void) { socket(AF_NETLINK, 0, 0); }\n"),
    (checks_privilege.privileged_calls, "unpriv/a.c", 'const char *a = "/run/docker.sock";\n'),
    (checks_privilege.trusted_size, "privsep/a.c", "int a;\n" * (checks_privilege.TRUSTED_LINES + 1)),
    (checks_privilege.readme_sizes, "README.md", SIZES.format(7, 7)),
]
# What looks like a fault and is none.
INNOCENT = [
    (checks_text.banned_calls, "unpriv/a.c", "/* strcpy(a) */ const char *a = \"strcpy(b)\"; void f(void) { my_strcpy(a); }\n"),
    (checks_text.banned_calls, "unpriv/a.c", "void f(void) { (void)signal(SIGPIPE, SIG_IGN); }\n"),
    (checks_privilege.privileged_calls, "unpriv/a.c", "/* docker.sock */ void f(void) { a.mount(1); unmount(2); }\n"),
    (checks_privilege.privileged_calls, "policy/a.c", "void f(void) { unshare(0); int a[] = {AF_NETLINK}; }\n"),
    (checks_privilege.privileged_calls, "privsep/a.c", "void f(void) { mount(0, 0, 0, 0, 0); }\n"),
    (checks_privilege.trusted_size, "common/loop.c", "int a;\n" * (checks_privilege.TRUSTED_LINES + 1)),
    (checks_privilege.trusted_size, "common/a.h", "int a;\n" * (checks_privilege.TRUSTED_LINES + 1)),
    (checks_privilege.readme_sizes, "README.md", SIZES.format(0, 0)),
]


@contextlib.contextmanager
def tree(name, content):
    """A folder that holds one file, and is the current one meanwhile."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def verdict(check, name, content):
    with tree(name, content):
        return check()[0]


def linked_verdict(listed, linked):
    """What trusted_linked says of a launcher made of some sources, in a tree of others."""
    with tree("build/" + checks_privilege.LAUNCHER, ""):
        for name in listed:
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w", encoding="utf-8") as file:
                file.write("int main(void) { return 0; }\n" if name.endswith("/main.c") else "extern int unused;\nint unused;\n")
        subprocess.run(["gcc", "-o", "build/" + checks_privilege.LAUNCHER, *linked], check=True)
        return checks_privilege.trusted_linked("build")[0]


def planted_faults():
    findings = []
    if linked_verdict(["privsep/main.c", "common/a.c"], ["privsep/main.c"]) != "FAIL":
        findings.append("trusted_linked does not see a counted source that is not linked")
    if linked_verdict(["privsep/main.c", "common/loop.c"], ["privsep/main.c", "common/loop.c"]) != "FAIL":
        findings.append("trusted_linked does not see a linked source that is not counted")
    if linked_verdict(["privsep/main.c", "common/a.c"], ["privsep/main.c", "common/a.c"]) != "PASS":
        findings.append("trusted_linked finds a fault where there is none")
    for check, name, content in FAULTS:
        if verdict(check, name, LICENCE + content) != "FAIL":
            findings.append(f"{check.__name__} does not see {content[:60]!r} in {name}")
    for check, name, content in INNOCENT:
        if verdict(check, name, LICENCE + content) != "PASS":
            findings.append(f"{check.__name__} takes {content[:60]!r} in {name} for a fault")
    if verdict(checks_text.licence_lines, "unpriv/a.c", "int a;\n") != "FAIL":
        findings.append("licence_lines does not see a file without one")
    return judge(findings)


CHECKS = [("every check finds a planted fault", planted_faults)]
