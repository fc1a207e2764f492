#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The unit keeps its bound of exposure (SECURITY-BAR section 4), and nothing in it is unknown to systemd.
Usage: packaging.py FOLDER"""
import os
import re
import shutil
import subprocess
import sys

FOLDER = sys.argv[1]
MOST = {"keelson-compute.service": 37}
failed = False


def check(name, wrong):
    global failed
    failed |= bool(wrong)
    print(f"FAIL {name}: {wrong}" if wrong else f"PASS {name}", flush=True)


def analyze(*words):
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout, done.stderr


if not shutil.which("systemd-analyze"):
    print("SKIP units: systemd-analyze is not here")
    sys.exit(0)
for unit, most in MOST.items():
    path = os.path.join(FOLDER, unit)
    status, out, err = analyze("security", "--offline=true", f"--threshold={most}", "--no-pager", path)
    score = re.search(r"Overall exposure level for \S+: (\S+)", out)
    check(f"{unit}: exposure {score.group(1) if score else '?'}, at most {most / 10}", "" if status == 0 and score else out + err)
    status, out, err = analyze("verify", path)
    unknown = [line for line in (out + err).splitlines() if re.search(r"[Uu]nknown|[Ff]ailed to parse|[Ii]nvalid", line)]
    check(f"{unit}: every line is understood", "; ".join(unknown))
sys.exit(failed)
