#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the suites and prints one line a test:  ok / FAIL / skip  suite: test.  Ends with
"N passed, N failed, N skipped".

A suite is a command that prints TAP (cmocka's CMOCKA_MESSAGE_OUTPUT=TAP) or lines that begin with
"PASS name", "FAIL name: why", "SKIP name: why".  A command that ends badly without saying so itself is one
more failure, and so is a command that ran no test."""
import os
import re
import subprocess
import sys
import time

TAP = re.compile(r"^(not )?ok \d+ - (.*?)(?: # SKIP(.*))?$")
LINE = re.compile(r"^(PASS|FAIL|SKIP) (.*)$")


class Runner:
    def __init__(self, log_directory):
        self.passed = self.failed = self.skipped = 0
        self.log_directory = log_directory
        self.failures = []

    def say(self, verdict, suite, text):
        print(f"{verdict:4} {suite}: {text}", flush=True)

    def note(self, kind, suite, text):
        if kind == "PASS":
            self.passed += 1
            self.say("ok", suite, text)
        elif kind == "SKIP":
            self.skipped += 1
            self.say("skip", suite, text)
        else:
            self.failed += 1
            self.failures.append(f"{suite}: {text}")
            self.say("FAIL", suite, text)

    def read(self, suite, line):
        """Counts the line if it is a test's; returns the verdict or None."""
        tap = TAP.match(line)
        if tap:
            kind = "SKIP" if tap.group(3) is not None else "FAIL" if tap.group(1) else "PASS"
            name = tap.group(2) + (":" + tap.group(3) if tap.group(3) else "")
        else:
            plain = LINE.match(line)
            if not plain:
                return None
            kind, name = plain.groups()
        self.note(kind, suite, name)
        return kind

    def suite(self, name, command, seconds=600, environment=None, directory=None, whole=False):
        """whole: a command that prints no test's line is one test itself."""
        started = time.monotonic()
        path = os.path.join(self.log_directory, re.sub(r"[^A-Za-z0-9.-]", "_", name) + ".log")
        environment = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP", **(environment or {})}
        seen, failed, tail = 0, 0, []
        with open(path, "w", encoding="utf-8", errors="replace") as log:
            process = subprocess.Popen(["timeout", "--kill-after=30", str(seconds), *command], stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment,
                                       cwd=directory, text=True, errors="replace")
            for line in process.stdout:
                log.write(line)
                line = line.rstrip("\n")
                kind = self.read(name, line)
                seen += kind is not None
                failed += kind == "FAIL"
                if kind is None:
                    tail = (tail + [line])[-15:]
            status = process.wait()
        if status != 0 and not failed:
            why = f"no end after {seconds} s" if status == 124 else f"exit status {status}"
            self.note("FAIL", name, why)
            failed = 1
        elif not seen and whole:
            self.note("PASS", name, "as a whole")
        elif not seen:
            self.note("FAIL", name, "ran no test")
            failed = 1
        if failed:
            print("".join(f"       | {line}\n" for line in tail), end="", flush=True)
        return time.monotonic() - started

    def step(self, suite, name, command, seconds=1200, **more):
        """One command that is one test: passes when it exits with 0, skips with 77."""
        started = time.monotonic()
        done = subprocess.run(["timeout", "--kill-after=30", str(seconds), *command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace", **more)
        took = f" ({time.monotonic() - started:.0f} s)"
        if done.returncode == 77:
            self.note("SKIP", suite, f"{name}: {done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ''}")
        elif done.returncode == 0:
            self.note("PASS", suite, name + took)
        else:
            self.note("FAIL", suite, f"{name}: exit status {done.returncode}")
            print("".join(f"       | {line}\n" for line in done.stdout.splitlines()[-25:]), end="", flush=True)
        return done.returncode == 0

    def end(self):
        for failure in self.failures:
            print(f"failed: {failure}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        sys.exit(1 if self.failed or not self.passed else 0)
