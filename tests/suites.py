#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every suite of ./run-tests, in the order they run."""
import argparse
import json
import os
import subprocess
import sys

from runner import Runner

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAB = os.path.join(ROOT, "tests/real/lab/lab")
BUILDS = {  # name: (environment, meson options)
    "gcc": ({"CC": "gcc"}, ["--prefix", "{work}/prefix"]),
    "clang": ({"CC": "clang"}, ["--prefix", "{work}/prefix-clang"]),
    "sanitized": ({"CC": "gcc"}, ["-Dsanitize=address,undefined", "-Db_lundef=false", "--prefix", "{work}/prefix-sanitized"]),
    "fuzz": ({"CC": "afl-clang-fast", "AFL_QUIET": "1"}, ["-Dfuzz=true", "-Dtests=false", "-Dsanitize=address"]),
}
SANITIZER_ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
REAL = [  # (name, servers, script, seconds)
    ("bus", "rabbitmq", "tests/real/bus/test_bus.py", 600),
    ("broker that lies", "", "tests/real/bus/test_hostile_broker.py", 600),
    ("docker helper", "docker", "tests/real/docker/run", 120),
    ("store", "", "tests/real/store/run", 180),
    ("spine", "postgresql rabbitmq docker registry", "tests/real/compute/test_spine.py", 600),
    ("bad messages", "postgresql rabbitmq docker", "tests/real/compute/test_bad_messages.py", 600),
    ("policy", "postgresql rabbitmq docker", "tests/real/compute/test_policy.py", 300),
    ("recovery", "postgresql rabbitmq docker", "tests/real/compute/test_recovery.py", 900),
    ("tls", "postgresql rabbitmq docker", "tests/real/compute/test_tls.py", 300),
]


class Suites:
    def __init__(self, work, logs):
        self.work = work
        self.runner = Runner(logs)
        self.built = {}

    def folder(self, build):
        return os.path.join(self.work, "build-" + build)

    def build(self, name):
        """Configures and builds once; later callers learn whether it worked."""
        if name not in self.built:
            environment, options = BUILDS[name]
            environment = {**os.environ, **environment}
            options = [option.format(work=self.work) for option in options]
            setup = ["meson", "setup", self.folder(name), ROOT, "-Dwerror=true", *options]
            self.built[name] = \
                self.runner.step("build", f"{name}: configures", setup, env=environment) and \
                self.runner.step("build", f"{name}: compiles without a warning", ["ninja", "-C", self.folder(name)],
                                 env=environment)
        return self.built[name]

    def tests_of(self, build, suite):
        listed = subprocess.run(["meson", "introspect", "--tests", self.folder(build)], check=True, capture_output=True,
                                text=True).stdout
        return [test for test in json.loads(listed) if any(suite in name for name in test["suite"])]

    def meson_suite(self, build, suite, label, environment=None, seconds=300):
        if not self.build(build):
            return
        tests = self.tests_of(build, suite)
        if not tests:
            self.runner.note("FAIL", label, f"build {build} has no test of suite {suite}")
        for test in tests:
            self.runner.suite(f"{label} {test['name']}", test["cmd"], seconds=seconds,
                              environment={**test["env"], **(environment or {})}, directory=test.get("workdir") or self.folder(build), whole=True)

    def suite_build(self):
        for name in ("gcc", "clang", "sanitized"):
            self.build(name)
        if self.built["gcc"]:
            self.runner.step("build", "gcc: installs", ["ninja", "-C", self.folder("gcc"), "install"])

    def suite_unit(self):
        self.meson_suite("gcc", "unit", "unit")
        self.meson_suite("clang", "unit", "unit/clang")

    def suite_sanitized(self):
        self.meson_suite("sanitized", "unit", "unit/asan+ubsan", SANITIZER_ENVIRONMENT)

    def suite_hostile(self):
        self.meson_suite("sanitized", "hostile", "hostile/asan+ubsan", SANITIZER_ENVIRONMENT, seconds=300)
        self.meson_suite("gcc", "hostile", "hostile", seconds=300)

    def suite_lint(self):
        environment = {"KEELSON_BUILD": self.folder("gcc")} if self.build("gcc") else {}
        self.runner.suite("lint", [os.path.join(ROOT, "tests/lint/run")], environment=environment, directory=ROOT)

    def suite_static(self):
        if self.build("gcc") and self.build("clang"):
            self.runner.suite("static", [os.path.join(ROOT, "tests/static/run"), self.folder("gcc"), self.folder("clang")],
                              seconds=1200, directory=ROOT)

    def suite_hardening(self):
        if self.build("gcc"):
            self.runner.suite("hardening", [os.path.join(ROOT, "tests/static/hardening"), self.folder("gcc")],
                              directory=ROOT)

    def suite_fuzz(self):
        if self.build("fuzz"):
            self.runner.suite("fuzz", [os.path.join(ROOT, "fuzz/smoke"), self.folder("fuzz"), self.work], seconds=600,
                              directory=ROOT)

    def suite_real(self):
        if not self.build("gcc"):
            return
        self.runner.step("real", "installs", ["ninja", "-C", self.folder("gcc"), "install"])
        for name, servers, script, seconds in REAL:
            self.runner.suite("real/" + name, [LAB, "--with", servers, "--", os.path.join(ROOT, script)], seconds=seconds,
                              environment={"KEELSON_PREFIX": self.work + "/prefix", "KEELSON_BUILD": self.folder("gcc")})


def main():
    order = ["build", "lint", "unit", "sanitized", "hostile", "fuzz", "static", "hardening", "real"]
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("suites", nargs="*", default=order)
    arguments = parser.parse_args()
    suites = Suites(arguments.work, arguments.logs)
    for name in arguments.suites:
        if name not in order:
            sys.exit(f"run-tests: no suite named {name}; there are: {' '.join(order)}")
    for name in order:
        if name in arguments.suites:
            getattr(suites, "suite_" + name)()
    suites.runner.end()


main()
