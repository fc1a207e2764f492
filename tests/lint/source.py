# SPDX-License-Identifier: Apache-2.0
"""What the lint checks read: the files of the tree, and C text without comments or strings."""
import os
import re
import subprocess

PRODUCT = ("common", "privsep", "policy", "unpriv", "proxy")
TRUSTED = ("common", "privsep", "policy")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def files():
    """Every file of the tree that is tracked or would be, relative to the root; in an exported tree, every file."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        names = []
        for folder, folders, found in os.walk("."):
            folders[:] = [name for name in folders if not name.startswith((".", "build"))]
            names += [os.path.relpath(os.path.join(folder, name), ".") for name in found]
    return sorted(name for name in set(names) if os.path.isfile(name) and not os.path.islink(name))


def folder(name):
    return name.split("/")[0]


def c_files(folders=None, suffixes=(".c", ".h", ".def")):
    return [name for name in files() if name.endswith(suffixes) and (folders is None or folder(name) in folders)]


def text(name):
    """The file as text; None when it is binary."""
    with open(name, "rb") as file:
        content = file.read()
    if b"\0" in content:
        return None
    return content.decode("utf-8", "replace")


def is_script(name):
    with open(name, "rb") as file:
        return file.read(2) == b"#!"


def code(name, keep_strings=False):
    """C text with comments (and the inside of strings) blanked out; lines keep their numbers."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token if keep_strings else token[0] + token[0]
        return " " + "\n" * token.count("\n")
    return TOKEN.sub(blank, text(name) or "")


def hits(name, pattern, keep_strings=False):
    """(line number, matched text) of every match of a compiled pattern in the code of a file."""
    source = code(name, keep_strings)
    return [(source.count("\n", 0, match.start()) + 1, match.group(0).strip()) for match in pattern.finditer(source)]


def allowed(path):
    """An allow file: "subject reason" lines; a subject without a reason is a fault of the file."""
    entries = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                subject, _, reason = line.strip().partition(" ")
                if not reason.strip():
                    raise SystemExit(f"{path}: {subject}: no reason given")
                entries[subject] = reason.strip()
    return entries
