#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Start-up recovery (timers-and-recovery.md section 3), kill -9 of everything, and peers that are restarted."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from zunlab import (HOST, PREFIX, Client, Container, Node, Report, docker, inspect, query, row, settled,  # noqa: E402
                    wait_row)

NODE = Node("recovery", rabbit="heartbeat_timeout_threshold = 10")
TRANSITIONAL = ("Creating", "Deleting", "Restarting", "Rebuilding")


def running(client):
    container = Container().insert()
    client.create(container)
    wait_row(container.uuid, settled("Running"))
    return container


def update(container, **columns):
    names = ", ".join(f"{name} = %s" for name in columns)
    query(f"update container set {names} where uuid = %s", *columns.values(), container.uuid)


def states_left_by_a_crash(client):
    """One row for each line of the table, made while the agent is down."""
    cases = {name: running(client) for name in
             ["stopping", "starting", "pausing", "rebooting", "killing", "deleting", "Deleting", "unpausing"]}
    docker("pause", "zun-" + cases["unpausing"].uuid)
    docker("stop", "-t", "0", "zun-" + cases["starting"].uuid)
    creating = Container().insert()
    half = Container().insert()
    lost = running(client)
    NODE.kill()
    for name in ["stopping", "starting", "pausing", "rebooting", "killing", "deleting", "unpausing"]:
        update(cases[name], task_state="container_" + name)
        cases[name].action({"stopping": "stop", "starting": "start", "pausing": "pause", "rebooting": "reboot",
                            "killing": "kill", "deleting": "delete", "unpausing": "unpause"}[name])
    update(cases["Deleting"], status="Deleting")
    creating.action("create")
    update(creating, host=HOST)
    half.action("create")
    update(half, host=HOST, task_state="container_creating")
    docker("rm", "-f", "zun-" + lost.uuid)
    update(lost, task_state="container_pausing")
    lost.action("pause")
    NODE.start()
    for name, status in [("stopping", "Stopped"), ("starting", "Running"), ("pausing", "Paused"), ("rebooting", "Running"),
                         ("killing", "Stopped"), ("unpausing", "Running")]:
        seen = wait_row(cases[name].uuid, settled(status), 90)
        assert seen["task_state"] is None, (name, seen)
        open_actions = query("select action from container_actions where container_uuid = %s and finish_time is null",
                             cases[name].uuid)
        assert not open_actions, (name, open_actions)
    for name in ["deleting", "Deleting"]:
        wait_row(cases[name].uuid, lambda current: current is None)
        assert inspect(cases[name].uuid) is None, name
    for container in (creating, half):
        seen = wait_row(container.uuid, settled("Error"))
        assert seen["status_reason"] == "Container failed to create correctly", seen
    seen = wait_row(lost.uuid, settled("Error"))
    assert seen["status_reason"], seen


def kill_during_creates(client):
    """kill -9 of the whole tree at ten moments of a create; afterwards nothing is lost and nothing is left over."""
    containers = []
    for delay in [0.0, 0.02, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.8]:
        container = Container().insert()
        client.create(container)
        containers.append(container)
        time.sleep(delay)
        NODE.kill()
        NODE.start()
    for container in containers:
        seen = wait_row(container.uuid, lambda current: current["task_state"] is None and current["status"] not in TRANSITIONAL,
                        60)
        real = inspect(container.uuid)
        assert seen["status"] in ("Running", "Error"), seen
        if seen["status"] == "Running":
            assert real and real["State"]["Running"] and real["Id"] == seen["container_id"], (seen, real)
        else:
            assert seen["status_reason"], seen
    names = docker("ps", "-a", "--format", "{{.Names}}").split()
    for name in names:
        assert not name.startswith("zun-") or row(name[4:]), f"{name} has no row"
    done = subprocess.run([PREFIX + "/bin/keelson", "audit", "verify", NODE.base + "/audit/docker.log"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def kill_of_one_process_ends_and_restart_heals(client):
    container = running(client)
    NODE.process.poll()
    children = NODE.children()
    for pid in children:
        with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
            if comm.read().strip().startswith("keelson-launch"):
                os.kill(pid, 9)
                break
    else:
        raise AssertionError("no helper among the children")
    assert NODE.process.wait(30) != 0, "the launcher must say that something went wrong"
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}") and pid in NODE.children()]
    assert inspect(container.uuid)["State"]["Running"], "running containers do not notice"
    NODE.start()
    client.act("stop", container, timeout=0)
    wait_row(container.uuid, settled("Stopped"))


def worker_killed_is_replaced(client):
    container = running(client)
    workers = []
    for pid in NODE.children():
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read().strip() == "keelson-worker":
                workers.append(pid)
    if not workers:
        raise AssertionError("no process shows itself as a worker")
    for pid in workers:
        os.kill(pid, 9)
    container.refresh()
    for _ in range(20):
        data = client.call("container_show", container=container.primitive())["zun_object.data"]
        assert data["status"] == "Running"
    assert NODE.process.poll() is None


def sigkill(name):
    with open(os.path.join(os.environ["LAB"], name + ".pid"), encoding="ascii") as file:
        return int(file.read())


def shell(function):
    """Runs a function of the lab's services.sh."""
    lab = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lab")
    done = subprocess.run(
        ["bash", "-c", f"set -eu; here={lab}; die() {{ echo \"$1\" >&2; exit 1; }}; "
         "until_ok() { local n=$(($1*10)); shift 3; while [ $n -gt 0 ]; do \"$@\" >/dev/null 2>&1 && return 0; sleep 0.1; "
         f"n=$((n-1)); done; return 1; }}; . {lab}/services.sh; {function}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr[-500:]


def rabbitmq_restarted(client):
    shell("rabbitmqctl_lab stop_app; rabbitmqctl_lab start_app; rabbitmq_ready")
    deadline = time.monotonic() + 60
    while True:
        try:
            container = Container().insert()
            Client(timeout=5).call("container_show", container=container.primitive())
            break
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    running(Client())


def queue_deleted_under_us(_):
    shell(f"rabbitmqctl_lab delete_queue zun-compute.{HOST}")
    deadline = time.monotonic() + 30
    while True:
        try:
            Client(timeout=3).call("container_show", container=Container().insert().primitive())
            return
        except Exception:
            if time.monotonic() > deadline:
                raise


def postgresql_restarted(client):
    pid = sigkill("postgresql")
    parents = subprocess.run(["pgrep", "-P", str(pid), "postgres"], capture_output=True, text=True).stdout.split()
    os.kill(int(parents[0]) if parents else pid, 2)
    time.sleep(1)
    shell("postgresql_start; until_ok 30 PostgreSQL /dev/null sql -c 'select 1'")
    running(Client())


def cast_sent_while_down_is_done_after_start(client):
    assert NODE.stop() == 0
    container = Container().insert()
    client.create(container)
    time.sleep(0.5)
    assert row(container.uuid)["status"] == "Creating"
    NODE.start()
    wait_row(container.uuid, settled("Running"))


def drain_loses_nothing(client):
    containers = [Container().insert() for _ in range(20)]
    for container in containers:
        client.create(container)
    time.sleep(0.3)
    assert NODE.stop() == 0
    NODE.start()
    for container in containers:
        wait_row(container.uuid, settled("Running"), 90)


def main():
    NODE.start()
    client = Client()
    report = Report()
    for test in [states_left_by_a_crash, kill_during_creates, kill_of_one_process_ends_and_restart_heals,
                 worker_killed_is_replaced, cast_sent_while_down_is_done_after_start, drain_loses_nothing,
                 queue_deleted_under_us, rabbitmq_restarted, postgresql_restarted]:
        report.run(test.__name__, test, client)
        if NODE.process.poll() is not None:
            NODE.start()
    NODE.stop()
    if report.failed and os.environ.get("KEELSON_SHOW_LOG"):
        print(NODE.text())
    report.end()


main()
