#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration behind ./quickstart: one container from cast to deletion.  Runs inside lab/lab."""
import json
import os
import subprocess
import time

from zunlab import PREFIX, Client, Container, Node, inspect, query, row


def title(text):
    print(f"\n== {text}", flush=True)


def run(*command):
    print("$ " + " ".join(os.path.basename(word) if word.startswith(PREFIX) else word for word in command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout + done.stderr, end="", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"quickstart: {command[0]} ended with {done.returncode}")


def follow(container, end, seconds=30):
    """Prints every change of the row until end(row)."""
    started, shown = time.monotonic(), None
    while True:
        current = row(container.uuid, "status, task_state, status_reason, container_id")
        state = current and (current["status"], current["task_state"])
        if state != shown:
            text = "the row is gone" if current is None else \
                f"status {current['status']}" + (f", task_state {current['task_state']}" if current["task_state"] else "")
            print(f"  {1000 * (time.monotonic() - started):6.0f} ms  {text}", flush=True)
            shown = state
        if end(current):
            return current
        if current and current["status"] == "Error" or time.monotonic() - started > seconds:
            raise SystemExit(f"quickstart: the container did not get there: {current}")
        time.sleep(0.002)


def main():
    title("keelson-launch compute: one launcher, one helper that may speak to Docker, one broker that may not")
    node = Node()
    node.start()
    run(PREFIX + "/bin/keelson", "doctor", "--run-directory", node.base + "/run", "--policy", node.policy)

    title("zun-api's part: the row, then oslo.messaging casts container_create over RabbitMQ")
    client = Client()
    container = Container(name="hello", command=["sh", "-c", "echo hello; sleep 600"], memory="64", cpu=0.5).insert()
    client.create(container)
    seen = follow(container, lambda current: current["status"] == "Running" and current["task_state"] is None)

    title("what Docker has")
    real = inspect(container.uuid)
    print(f"  {real['Name'][1:]}  {real['State']['Status']}  network {real['HostConfig']['NetworkMode']}  "
          f"memory {real['HostConfig']['Memory'] >> 20} MiB  pids {real['HostConfig']['PidsLimit']}  "
          f"privileged {real['HostConfig']['Privileged']}")
    assert real["Id"] == seen["container_id"]

    title("container_show: a call, answered by the agent")
    data = client.call("container_show", container=container.refresh().primitive())["zun_object.data"]
    print("  " + json.dumps({key: data[key] for key in ("name", "status", "status_detail", "host", "hostname")}))

    title("container_stop, then container_delete")
    client.act("stop", container, timeout=1)
    follow(container, lambda current: current["status"] == "Stopped" and current["task_state"] is None)
    client.act("delete", container, force=False)
    follow(container, lambda current: current is None)
    assert inspect(container.uuid) is None

    title("the node's rows")
    for line in query("select \"binary\" || ' on ' || host || ', report_count ' || report_count from zun_service"):
        print("  zun_service:  " + line[0])
    for line in query("select hostname || ': ' || cpus || ' cpus, ' || mem_total || ' MiB, ' || mem_used || ' MiB used' "
                      "from compute_node"):
        print("  compute_node: " + line[0])

    title("the audit log: one record before each effect, each holding the hash of the one before")
    with open(node.base + "/audit/docker.log", encoding="utf-8") as log:
        for line in log:
            record = json.loads(line)
            print(f"  {record['seq']:3} {record['op']:26} {record['decision']:6} {record['obj'].get('id', ''):38} "
                  f"prev {record['prev'][:12]}…")
    run(PREFIX + "/bin/keelson", "audit", "verify", node.base + "/audit/docker.log")

    title("stopping")
    status = node.stop()
    print(f"  keelson-launch ended with status {status}")
    if status != 0:
        raise SystemExit(status)


main()
