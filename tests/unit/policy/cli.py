#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""keelson as its caller sees it: words, exit status, and that `doctor` finds what is wrong on a board.
Usage: cli.py KEELSON"""
import os
import struct
import subprocess
import sys
import tempfile

KEELSON = sys.argv[1]
SLOTS = 64
SLOT = struct.Struct("<IIQIIi20s")  # struct sandbox_slot, padded to its alignment
SLOT_SIZE = (SLOT.size + 7) & ~7
failed = False


def keelson(*words):
    done = subprocess.run([KEELSON, *words], capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


def check(name, condition, shown=""):
    global failed
    failed |= not condition
    print(f"PASS {name}" if condition else f"FAIL {name}: {shown}", flush=True)


def board(folder, name, *slots):
    data = b"".join(SLOT.pack(*slot).ljust(SLOT_SIZE, b"\0") for slot in slots).ljust(SLOTS * SLOT_SIZE, b"\0")
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def doctor(folder):
    return keelson("doctor", "--run-directory", folder, "--policy", os.path.join(folder, "no-policy.conf"))


def slot(pid, role, uid=None, capabilities=0, syscalls=44, instructions=100, abi=7):
    return (pid, os.getuid() if uid is None else uid, capabilities, syscalls, instructions, abi, role)


def words():
    status, out, err = keelson("--version")
    check("--version names the version", status == 0 and out.startswith("keelson ") and not err, (status, out, err))
    status, out, err = keelson("--help")
    check("--help goes to standard output", status == 0 and "doctor" in out and not err, (status, out, err))
    for bad in [(), ("nonsense",), ("audit",), ("audit", "verify"), ("audit", "prove", "x"), ("audit", "verify", "--all"),
                ("doctor", "--policy"), ("doctor", "here")]:
        status, out, err = keelson(*bad)
        check(f"wrong words are told so: {' '.join(bad) or 'none'}", status == 2 and "usage:" in err and not out,
              (status, out, err))
    with open("/dev/full", "wb") as full:
        done = subprocess.run([KEELSON, "audit", "verify", "/dev/null"], stdout=full, stderr=subprocess.DEVNULL)
    check("an output that cannot be written is a fault", done.returncode == 1, done.returncode)


def audit(folder):
    empty = os.path.join(folder, "docker.log")
    with open(empty, "wb"):
        pass
    status, out, _ = keelson("audit", "verify", empty)
    check("an empty log without a state file is intact, and says what it lacks",
          status == 0 and "intact: 0 records" in out and "no state file" in out, out)
    with open(os.path.join(folder, "docker.state"), "wb") as file:
        file.write(b"x" * 4096)
    status, out, _ = keelson("audit", "verify", empty)
    check("a state file that is none is a fault", status == 1 and "BROKEN" in out, out)
    with open(empty, "wb") as file:
        file.write(b'{"ts":"now"}\n')
    status, out, _ = keelson("audit", "verify", empty)
    check("a log that is none is a fault, with its line", status == 1 and "line 1" in out, out)
    status, out, _ = keelson("audit", "verify", empty, os.path.join(folder, "missing.log"))
    check("every file is looked at", status == 1 and out.count("\n") == 2 and "missing.log: not read" in out, out)


def boards(folder):
    status, out, _ = doctor(folder)
    check("without a board no service runs", "No service runs" in out, out)
    check("a missing policy file is a fault", status == 1 and "! site policy" in out, out)
    me = os.getpid()
    board(folder, "compute.broker.board", slot(me, b"worker"))
    status, out, _ = doctor(folder)
    check("a process without a sandbox is found", status == 1 and "no_new_privs is off" in out and
          "0 system call filters in force" in out, out)
    check("a process that is nobody's child is found", "is not a service's" in out, out)
    check("its descriptors are listed", "0 file /dev/null" in out or "0 " in out, out)
    board(folder, "compute.broker.board", slot(me, b"worker", uid=os.getuid() + 1))
    check("a uid that is not so is found", f"it states uid {os.getuid() + 1}" in doctor(folder)[1], doctor(folder)[1])
    board(folder, "compute.broker.board", slot(me, b"worker", syscalls=45))
    check("a filter of another length is found", "it may make 45 system calls" in doctor(folder)[1], doctor(folder)[1])
    board(folder, "compute.broker.board", slot(me, b"worker", abi=0))
    check("Landlock that is not in force is shown", " none" in doctor(folder)[1], doctor(folder)[1])
    board(folder, "compute.broker.board", slot(me, b"launcher"))
    check("the broker's board cannot hold a trusted role", "no such role on this board" in doctor(folder)[1],
          doctor(folder)[1])
    board(folder, "compute.broker.board", slot(me, b"a\x1b[2J\n\"b"))
    out = doctor(folder)[1]
    check("a role that deceives a terminal is escaped", "no such role" in out and "\x1b" not in out, out)
    board(folder, "compute.broker.board", slot(me, b"x" * 20))
    check("a role without an end is cut", "x" * 19 + " " in doctor(folder)[1], doctor(folder)[1])
    board(folder, "compute.broker.board", slot(me, b"worker"), slot(me, b"worker"))
    check("a process that stands there twice is found", "twice" in doctor(folder)[1], doctor(folder)[1])
    board(folder, "compute.broker.board", *[slot(4100000 + i, b"worker") for i in range(SLOTS)])
    check("processes that have ended are found", doctor(folder)[1].count("has ended") == SLOTS, doctor(folder)[1])
    board(folder, "compute.broker.board", slot(0xffffffff, b"worker"))
    check("a pid that cannot be is no process", "has ended" in doctor(folder)[1], doctor(folder)[1])
    with open(os.path.join(folder, "compute.broker.board"), "wb") as file:
        file.write(b"short")
    check("a short board is found", "is not one" in doctor(folder)[1], doctor(folder)[1])
    os.unlink(os.path.join(folder, "compute.broker.board"))
    os.symlink("/etc/passwd", os.path.join(folder, "compute.broker.board"))
    check("a board that is a link is not followed", "! board compute.broker.board" in doctor(folder)[1], doctor(folder)[1])
    os.unlink(os.path.join(folder, "compute.broker.board"))
    os.mkfifo(os.path.join(folder, "compute.broker.board"))
    check("a board that is a pipe does not block", "is not one" in doctor(folder)[1], doctor(folder)[1])
    os.unlink(os.path.join(folder, "compute.broker.board"))


def main():
    words()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        audit(folder)
        boards(folder)
    sys.exit(failed)


main()
