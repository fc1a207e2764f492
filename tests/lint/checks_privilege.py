# SPDX-License-Identifier: Apache-2.0
"""Checks of where privilege lives: arrows between folders, system calls outside privsep, the size of the trusted side."""
import json
import os
import re
import subprocess

import source
from result import judge, skip

# A folder, and the folders it may include from.
ARROWS = {
    "common": {"common"},
    "policy": {"common", "policy"},
    "privsep": {"common", "policy", "privsep"},
    "unpriv": {"common", "policy", "privsep", "unpriv"},
    "proxy": {"common", "unpriv", "proxy"},
}
# The broker's side sees of the trusted side what stands on its own side of the channel, and nothing else of it.
UNPRIV_SEES = {"privsep": {"privsep/client.h", "privsep/proto.h", "privsep/fds.h", "privsep/audit.h"},
               "policy": {"policy/sandbox.h", "policy/site.h"}}  # the latter: keelson doctor reads the policy as the launcher does
PROXY_SEES = ("unpriv/base/", "unpriv/store/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
# The aim for this release is 3,000, which is not reached; until it is, the figure may only go down.
TRUSTED_LINES_AIM = 3000
TRUSTED_LINES = 5210
# Modules of those folders that keelson-launch does not link; a build folder's binary is held against this list.
LEFT_OUT = {"common/hmac", "common/loop", "common/secret", "common/text_name", "common/text_utf8", "common/uuid_parse",
            "common/zbuf_cstr", "common/zfd_write", "common/zlog_broker", "privsep/audit_verify", "privsep/client"}
LAUNCHER = "privsep/keelson-launch"


def includes(name):
    """Files of the tree that a file includes, as paths from the root."""
    for target in INCLUDE.findall(source.code(name, keep_strings=True)):
        beside = os.path.normpath(os.path.join(os.path.dirname(name), target))
        yield target if os.path.exists(target) else beside if os.path.exists(beside) else target


def arrow_fault(name, target):
    here, there = source.folder(name), source.folder(target)
    if there not in ARROWS[here]:
        return f"{name} includes {target}"
    if here == "unpriv" and there in UNPRIV_SEES and target not in UNPRIV_SEES[there]:
        return f"{name} includes {target}, which is the trusted side's own"
    if here == "proxy" and there == "unpriv" and not target.startswith(PROXY_SEES):
        return f"{name} includes {target}"
    return None


def arrows():
    faults = [arrow_fault(name, target) for name in source.c_files(source.PRODUCT) for target in includes(name)]
    return judge(sorted({fault for fault in faults if fault}))


NAMESPACE = re.compile(r"(?<![\w.>])(?:mount|umount|umount2|move_mount|open_tree|fsopen|fsmount|mount_setattr|pivot_root|chroot|setns|"
                       r"unshare|clone|clone3|init_module|bpf|ptrace)\s*\(|\bSYS_(?:mount|umount2|move_mount|open_tree|fsopen|"
                       r"fsmount|mount_setattr|pivot_root|chroot|setns|unshare|clone|clone3|bpf|ptrace)\b")
NETLINK = re.compile(r"\b(?:AF|PF)_NETLINK\b")
NETLINK_SOCKET = re.compile(r"\bsocket(?:pair)?\s*\(\s*(?:AF|PF)_NETLINK\b")
DOCKER_SOCKET = re.compile(r'"[^"\n]*docker\.sock[^"\n]*"')


def privileged_calls():
    """mount, setns, unshare and their kin, netlink and the Docker socket's path: privsep's alone; policy makes namespaces
    for the sandboxes, names netlink in filters and the socket in the site policy's default."""
    findings = []
    for name in source.c_files(source.PRODUCT):
        here = source.folder(name)
        patterns = [] if here == "privsep" else [(NETLINK_SOCKET, False)] if here == "policy" else \
            [(NAMESPACE, False), (NETLINK, False), (DOCKER_SOCKET, True)]
        for pattern, strings in patterns:
            findings += [f"{name}:{line}: {what.rstrip('( ')}" for line, what in source.hits(name, pattern, strings)]
    return judge(findings)


def module(name):
    return os.path.splitext(name)[0]


def trusted_sources():
    return [name for name in source.c_files(source.TRUSTED, (".c",)) if module(name) not in LEFT_OUT]


def trusted_files():
    """The trusted side's sources, and each file of its folders that one of them includes, directly or not."""
    counted, new = set(), set(trusted_sources())
    while new:
        counted |= new
        new = {target for name in new for target in includes(name) if source.folder(target) in source.TRUSTED
               and os.path.exists(target)} - counted
    return sorted(counted)


def linked_sources(binary):
    """Base names of the C files whose objects a binary holds, as its file symbols tell."""
    listed = subprocess.run(["nm", "-a", binary], capture_output=True, text=True, check=True).stdout
    return {line.split()[2] for line in listed.splitlines() if re.fullmatch(r"[0-9a-f]+ a \S+\.c", line)}


def trusted_linked(build=None):
    """What is counted as trusted is what the launcher of a build folder links."""
    build = build or os.environ.get("KEELSON_BUILD")
    if not build:
        return skip("no build folder in KEELSON_BUILD")
    binary = os.path.join(build, LAUNCHER)
    if not os.path.exists(binary):
        return judge([f"{binary} is not there"])
    linked = linked_sources(binary)
    counted = {os.path.basename(name) for name in trusted_sources()}
    ours = {os.path.basename(name) for name in source.c_files(source.PRODUCT, (".c",))}
    findings = [f"{name} is linked and not counted" for name in sorted((linked & ours) - counted)]
    findings += [f"{name} is counted and not linked" for name in sorted(counted - linked)]
    return judge(findings, f"{len(counted)} sources")


def code_lines(names):
    """Code lines of each file, as cloc counts them."""
    if not names:
        return {}
    done = subprocess.run(["cloc", "--json", "--by-file", "--quiet", "--force-lang=C,def", "--skip-uniqueness", *names],
                          capture_output=True, text=True, check=True)
    return {name: entry["code"] for name, entry in json.loads(done.stdout).items() if name not in ("header", "SUM")}


def trusted_lines():
    """Code lines of each part of the trusted side, and what cloc did not take for code."""
    names = trusted_files()
    lines = code_lines(names)
    parts = {part: sum(count for name, count in lines.items() if source.folder(name.removeprefix("./")) == part)
             for part in source.TRUSTED}
    return parts, [name for name in names if name not in lines and source.code(name).strip()]


def trusted_size():
    parts, missing = trusted_lines()
    total = sum(parts.values())
    note = f"{total} code lines, at most {TRUSTED_LINES}, the aim is {TRUSTED_LINES_AIM}: " + ", ".join(f"{part} {count}" for part, count in parts.items())
    if missing:
        return judge([f"not counted: {', '.join(missing)}"])
    return ("PASS" if total <= TRUSTED_LINES else "FAIL"), note, []


README_TABLE = re.compile(r"(<!-- trusted-size[^\n]*-->\n)((?:\|[^\n]*\n)*)")


def readme_with_sizes():
    """The README as it is, and as it would be with the table of today's sizes."""
    parts, _ = trusted_lines()
    rows = [f"| `{part}/` | {count:,} |\n" for part, count in parts.items()]
    table = "| part | code lines |\n|---|---|\n" + "".join(rows) + f"| **all** | **{sum(parts.values()):,}** |\n"
    before = source.text("README.md")
    return before, README_TABLE.sub(lambda match: match.group(1) + table, before)


def readme_sizes():
    before, after = readme_with_sizes()
    if not README_TABLE.search(before):
        return judge(["README.md has no table after a line <!-- trusted-size … -->"])
    return judge([] if before == after else ["README.md tells other sizes; tests/lint/run --write-readme tells today's"])


CHECKS = [
    ("arrows between folders go down", arrows),
    ("privileged calls stand in privsep only", privileged_calls),
    ("the trusted side is small", trusted_size),
    ("the README tells the trusted side's size", readme_sizes),
    ("what counts as trusted is what the launcher links", trusted_linked),
]
