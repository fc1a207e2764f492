#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The site policy holds whatever the bus says, and a bad policy file stops the start."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from zunlab import PREFIX, Client, Container, Node, Report, inspect, settled, wait_row  # noqa: E402

POLICY = "memory_max = 128M\ncpu_max = 1\npids_max = 50\nruntimes = runc\nregistries = docker.io\nno_new_privileges = yes\n"
NODE = Node("policy", policy=POLICY)


def refused(client, words, **fields):
    container = Container(**fields).insert()
    client.create(container)
    seen = wait_row(container.uuid, settled("Error"))
    assert words in seen["status_reason"], seen
    assert inspect(container.uuid) is None


def ceilings(client):
    refused(client, "memory_max", memory="129")
    refused(client, "cpu_max", cpu=1.5)
    refused(client, "runtimes", runtime="sysbox")
    refused(client, "registries", image="evil.example:5000/busybox:latest")
    refused(client, "privileged", privileged=True)


def what_is_allowed_gets_the_ceilings(client):
    container = Container(memory="128", cpu=1.0).insert()
    client.create(container)
    wait_row(container.uuid, settled("Running"))
    unlimited = Container().insert()
    client.create(unlimited)
    wait_row(unlimited.uuid, settled("Running"))
    host = inspect(unlimited.uuid)["HostConfig"]
    assert host["Memory"] == 128 * 2**20 and host["PidsLimit"] == 50, host
    assert "no-new-privileges" in " ".join(host["SecurityOpt"] or []), host["SecurityOpt"]
    assert not host["Privileged"] and not host["Binds"] and not host["CapAdd"] and not host["Devices"]


def refuses_to_start(_):
    for text, mode, words in [("docker_socket = /x\nnonsense = 1\n", 0o644, "nonsense"), ("docker_socket = /x\n", 0o666, "writable"),
                              ("memory_max = lots\n", 0o644, "memory_max"), ("privileged = yes\nprivileged = no\n", 0o644, "privileged")]:
        path = NODE.base + "/bad.conf"
        Node.write(path, text, mode)
        done = subprocess.run([PREFIX + "/sbin/keelson-launch", "compute", "--policy", path, "--", "--config-file", NODE.conf],
                              capture_output=True, text=True, timeout=30)
        assert done.returncode != 0 and words in done.stderr, (words, done.stderr)
        os.unlink(path)


def main():
    NODE.start()
    client = Client()
    report = Report()
    for test in [ceilings, what_is_allowed_gets_the_ceilings, refuses_to_start]:
        report.run(test.__name__, test, client)
    NODE.stop()
    if report.failed and os.environ.get("KEELSON_SHOW_LOG"):
        print(NODE.text())
    report.end()


main()
