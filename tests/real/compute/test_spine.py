#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The main job, with every peer real: casts from oslo.messaging become Docker containers and rows."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from zunlab import (HOST, LAB, PREFIX, Client, Container, Node, Report, docker, inspect, query, row, settled,  # noqa: E402
                    wait_row)

NODE = Node()
ALL = "status, status_reason, status_detail, task_state, container_id, host, hostname, runtime, command, ports, started_at"


def created(client, run=True, arguments=None, **fields):
    container = Container(**fields).insert()
    client.create(container, run=run, **(arguments or {}))
    return container


def actions(container, action):
    return query("select finish_time is not null, message from container_actions where container_uuid = %s and action = %s",
                 container.uuid, action)


def events(container):
    return query("""select e.event, e.result from container_actions_events e join container_actions a on a.id = e.action_id
                    where a.container_uuid = %s order by e.id""", container.uuid)


def wait_action(container, action, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = query("""select finish_time, message from container_actions
                         where container_uuid = %s and action = %s and request_id = %s""",
                      container.uuid, action, container.request_id)
        if found and found[0][0]:
            return found[0][1]
        time.sleep(0.02)
    raise AssertionError(f"action {action} not finished")


def create_and_run(client):
    container = created(client)
    seen = wait_row(container.uuid, settled("Running"), columns=ALL)
    real = inspect(container.uuid)
    assert real["State"]["Running"] and real["Id"] == seen["container_id"], real["State"]
    assert real["HostConfig"]["NetworkMode"] == "none" and not real["HostConfig"]["Privileged"]
    assert real["Config"]["Labels"]["io.keelson.uuid"] == container.uuid
    assert seen["host"] == HOST and seen["started_at"], seen
    assert wait_action(container, "create") is None
    assert events(container) == [("compute__do_container_create", "Success"), ("compute__do_container_start", "Success")], \
        events(container)


def create_without_run(client):
    container = created(client, run=False)
    seen = wait_row(container.uuid, settled("Created"), columns=ALL)
    assert seen["status_detail"] == "Created" and seen["runtime"] == "runc", seen
    assert seen["hostname"] == seen["container_id"][:12], seen
    assert inspect(container.uuid)["State"]["Status"] == "created"
    assert wait_action(container, "create") is None
    assert events(container) == [("compute__do_container_create", "Success")]


def every_field_reaches_docker(client):
    container = created(
        client, run=False, command=["sh", "-c", "echo 'a b' \"c\"; sleep 5", ""], entrypoint=["/bin/sh", "-c"], cpu=0.25,
        memory="96", environment={"A": "1", "UTF": "ü", "EMPTY": ""}, labels={"tier": "web", "x": ""}, workdir="/tmp",
        hostname="web1", tty=True, interactive=True, restart_policy={"Name": "on-failure", "MaximumRetryCount": "3"},
        healthcheck={"test": "true", "interval": 5, "retries": 3, "timeout": 2}, exposed_ports={"80/tcp": {}},
        runtime="runc")
    seen = wait_row(container.uuid, settled("Created"), columns=ALL)
    real = inspect(container.uuid)
    config, host = real["Config"], real["HostConfig"]
    assert config["Cmd"] == container.data["command"], config["Cmd"]
    assert config["Entrypoint"] == ["/bin/sh", "-c"]
    assert {"A=1", "UTF=ü", "EMPTY="} <= set(config["Env"]), config["Env"]
    assert config["Labels"] == {"tier": "web", "x": "", "io.keelson.uuid": container.uuid}, config["Labels"]
    assert (config["WorkingDir"], config["Hostname"]) == ("/tmp", "web1")
    assert config["Tty"] and config["OpenStdin"] and config["AttachStdin"] and config["StdinOnce"]
    assert config["Healthcheck"] == {"Test": ["CMD-SHELL", "true"], "Interval": 5 * 10**9, "Timeout": 2 * 10**9,
                                     "Retries": 3}, config["Healthcheck"]
    assert config["ExposedPorts"] == {"80/tcp": {}}
    assert (host["Memory"], host["CpuShares"]) == (96 * 2**20, 256)
    assert host["RestartPolicy"] == {"Name": "on-failure", "MaximumRetryCount": 3}
    assert host["Runtime"] == "runc" and host["PidsLimit"] == 4096, host["PidsLimit"]
    assert json.loads(seen["ports"]) == [80] and seen["hostname"] == "web1", seen


def empty_command_comes_from_the_image(client):
    container = created(client, run=False, command=[])
    seen = wait_row(container.uuid, settled("Created"), columns=ALL)
    assert json.loads(seen["command"]) == ["sh"], seen


def lifecycle(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    wait_action(container, "create")
    for method, arguments, status, docker_status in [
            ("pause", {}, "Paused", "paused"), ("unpause", {}, "Running", "running"),
            ("reboot", {"timeout": 1}, "Running", "running"), ("stop", {"timeout": 1}, "Stopped", "exited"),
            ("start", {}, "Running", "running"), ("kill", {"signal": "None"}, "Stopped", "exited"),
            ("start", {}, "Running", "running"), ("kill", {"signal": "SIGKILL"}, "Stopped", "exited"),
            ("start", {}, "Running", "running"), ("stop", {"timeout": "1"}, "Stopped", "exited")]:
        client.act(method, container, **arguments)
        assert wait_action(container, method) is None, method
        seen = wait_row(container.uuid, settled(status), 10, ALL)
        assert inspect(container.uuid)["State"]["Status"] == docker_status, (method, docker_status)
        assert seen["status_reason"] is None, seen
    assert events(container)[-1] == ("compute__do_container_stop", "Success"), events(container)[-1]


def kill_with_a_harmless_signal_leaves_it_running(client):
    container = created(client, command=["sh", "-c", "trap '' HUP; while :; do sleep 1; done"])
    wait_row(container.uuid, settled("Running"))
    client.act("kill", container, signal="HUP")
    assert wait_action(container, "kill") is None
    assert row(container.uuid)["status"] == "Running", "K37: status follows the engine, not the signal"


def show(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    container.refresh()
    reply = client.call("container_show", container=container.primitive())
    assert reply["zun_object.name"] == "Container" and reply["zun_object.version"] == "1.44"
    data = reply["zun_object.data"]
    assert data["uuid"] == container.uuid and data["status"] == "Running", data
    assert data["status_detail"] is None or data["status_detail"].startswith("Up "), data["status_detail"]
    docker("kill", "zun-" + container.uuid)
    time.sleep(1.1)  # an age of 0 s is shown as none
    data = client.call("container_show", container=container.primitive())["zun_object.data"]
    assert data["status"] == "Stopped" and data["status_detail"].startswith("Exited(137)"), data
    assert row(container.uuid)["status"] == "Stopped"
    docker("rm", "-f", "zun-" + container.uuid)
    data = client.call("container_show", container=container.primitive())["zun_object.data"]
    assert data["status"] == "Error" and data["status_reason"], data


def show_of_an_uncreated_container_changes_nothing(client):
    container = Container().insert()
    data = client.call("container_show", container=container.primitive())["zun_object.data"]
    assert data["status"] == "Creating" and data["container_id"] is None, data


def show_of_a_missing_row_is_not_found(client):
    container = Container()
    container.data["id"] = 99
    container.data["container_id"] = "0" * 64
    try:
        client.call("container_show", container=container.primitive())
    except Exception as error:
        assert type(error).__name__.startswith("ContainerNotFound") and error.code == 404, repr(error)
    else:
        raise AssertionError("no error")


def delete(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    client.act("stop", container, timeout=1)
    wait_action(container, "stop")
    client.act("delete", container, force=False)
    wait_row(container.uuid, lambda current: current is None)
    assert inspect(container.uuid) is None
    assert not query("select 1 from container_actions where container_uuid = %s", container.uuid)


def forced_delete_of_a_running_container(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    client.act("delete", container, force=True)
    wait_row(container.uuid, lambda current: current is None)
    assert inspect(container.uuid) is None


def delete_of_a_running_container_without_force_fails_definitely(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    client.act("delete", container, force=False)
    assert wait_action(container, "delete") == "Error"
    seen = row(container.uuid)
    assert seen["status"] == "Error" and seen["task_state"] is None and seen["status_reason"], seen
    assert inspect(container.uuid)["State"]["Running"]


def delete_when_docker_has_lost_it(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    docker("rm", "-f", "zun-" + container.uuid)
    client.act("delete", container, force=False)
    wait_row(container.uuid, lambda current: current is None)


def action_on_a_lost_container_is_an_error(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    docker("rm", "-f", "zun-" + container.uuid)
    client.act("pause", container)
    assert wait_action(container, "pause") == "Error"
    seen = row(container.uuid)
    assert seen["status"] == "Error" and seen["task_state"] is None and seen["status_reason"], seen


def pull_by_tag_and_by_digest(client):
    registry = os.environ["LAB_REGISTRY"]
    docker("rmi", "-f", registry + "/busybox:1.35")
    container = created(client, image=registry + "/busybox:1.35", image_pull_policy=None)
    wait_row(container.uuid, settled("Running"))
    digest = json.loads(docker("image", "inspect", registry + "/busybox:1.35"))[0]["RepoDigests"][0]
    docker("rmi", "-f", registry + "/busybox:1.35")
    container = created(client, image=digest, image_pull_policy="always")
    wait_row(container.uuid, settled("Running"))
    assert inspect(container.uuid)["Config"]["Image"] == digest


def missing_image(client):
    for image, policy in [("busybox:none-such", "never"), (os.environ["LAB_REGISTRY"] + "/none/such:1", "always")]:
        container = created(client, image=image, image_pull_policy=policy)
        assert wait_action(container, "create") == "Error"
        seen = row(container.uuid)
        assert seen["status"] == "Error" and seen["task_state"] is None and "such" in seen["status_reason"], seen
        assert seen["host"] == HOST, "host is kept after an image error"
        assert "%!" not in seen["status_reason"] and "http:" not in seen["status_reason"], seen


def bad_image_names_never_reach_the_engine(client):
    for image in ["A", "a:", ":1", "a b", "x" * 250 + "/../y", "a@sha256:12"]:
        container = created(client, image=image)
        assert wait_action(container, "create") == "Error", image
        seen = row(container.uuid)
        assert seen["status"] == "Error" and seen["status_reason"] and seen["task_state"] is None, (image, seen)


def bad_command_is_an_error_with_a_reason(client):
    container = created(client, command=["/no/such/program"])
    assert wait_action(container, "create") == "Error"
    seen = row(container.uuid)
    assert seen["status"] == "Error" and "no such file" in seen["status_reason"].lower(), seen


def usage():
    return query("select mem_used, cpu_used, running_containers, mem_total from compute_node where hostname = %s", HOST)[0]


def claim_and_release(client):
    before = usage()
    container = created(client, memory="64", cpu=0.5)
    wait_row(container.uuid, settled("Running"))
    held = usage()
    assert held[0] == before[0] + 64 and abs(held[1] - before[1] - 0.5) < 1e-6 and held[2] == before[2] + 1, (before, held)
    client.act("delete", container, force=True)
    wait_row(container.uuid, lambda current: current is None)
    assert usage()[:3] == before[:3], (before, usage())


def claim_over_the_limit(client):
    before = usage()
    container = created(client, memory="512", arguments={"limits": {"memory": before[0] + 100}})
    assert wait_action(container, "create") == "Error"
    seen = row(container.uuid)
    assert seen["status"] == "Error" and seen["host"] is None, seen
    assert "Insufficient compute resources" in seen["status_reason"] and "memory" in seen["status_reason"], seen
    assert inspect(container.uuid) is None and usage()[:3] == before[:3]


def what_needs_other_services_is_refused_plainly(client):
    network = {"network": "4cfdb9d4-bdc8-41ea-bf18-61cc40278f8e", "port": "", "router:external": False, "shared": True,
               "fixed_ip": "", "preserve_on_delete": False, "pci_request_id": None}
    container = created(client, arguments={"requested_networks": [network]})
    assert wait_action(container, "create") == "Error"
    seen = row(container.uuid)
    assert seen["status"] == "Error" and seen["host"] is None and "network" in seen["status_reason"].lower(), seen
    assert inspect(container.uuid) is None


def a_foreign_container_is_not_touched(client):
    container = Container().insert()
    docker("create", "--name", "zun-" + container.uuid, "--network", "none", "busybox", "sleep", "600")
    query("update container set status = 'Created', container_id = %s, host = %s where uuid = %s", "f" * 64, HOST, container.uuid)
    client.act("start", container)
    assert wait_action(container, "start") == "Error"
    assert inspect(container.uuid)["State"]["Status"] == "created"
    client.act("delete", container, force=False)
    assert wait_action(container, "delete") == "Error"
    assert inspect(container.uuid) is not None
    docker("rm", "zun-" + container.uuid)


def name_taken_by_a_foreign_container(client):
    container = Container().insert()
    docker("create", "--name", "zun-" + container.uuid, "--network", "none", "busybox", "sleep", "600")
    client.create(container)
    assert wait_action(container, "create") == "Error"
    assert row(container.uuid)["status"] == "Error"
    assert inspect(container.uuid)["State"]["Status"] == "created"
    docker("rm", "zun-" + container.uuid)


def actions_of_one_container_keep_their_order(client):
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    for index in range(4):
        client.act("pause", container)
        client.act("unpause", container)
    client.act("stop", container, timeout=0 if index else 1)
    assert wait_action(container, "stop") is None
    wait_row(container.uuid, settled("Stopped"))
    assert not query("select 1 from container_actions where container_uuid = %s and (finish_time is null or message = 'Error')",
                     container.uuid), actions(container, "pause")


def service_and_node_rows(_):
    deadline = time.monotonic() + 5
    while not query("select 1 from compute_node") and time.monotonic() < deadline:
        time.sleep(0.05)
    service = query("select \"binary\", availability_zone, disabled, forced_down, report_count, last_seen_up from zun_service "
                    "where host = %s", HOST)
    assert len(service) == 1 and service[0][:4] == ("zun-compute", "nova", False, False), service
    assert service[0][4] >= 1 and service[0][5] is not None, service
    node = query("select mem_total, cpus, architecture, os_type, runtimes, disk_total, rp_uuid = uuid from compute_node "
                 "where hostname = %s", HOST)
    assert len(node) == 1, node
    memory, cpus, architecture, system, runtimes, disk, same = node[0]
    assert memory > 0 and cpus == os.cpu_count() and system == "linux" and "runc" in json.loads(runtimes), node
    assert architecture == "x86_64" and disk >= 0 and same, node


def memory_of_all_processes(_):
    total = 0
    pids = [NODE.process.pid] + NODE.children()
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            total += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    assert total <= 30 * 1024, f"{total} KiB PSS in {len(pids)} processes"


def doctor_finds_nothing_wrong(_):
    done = subprocess.run([PREFIX + "/bin/keelson", "doctor", "--run-directory", NODE.base + "/run", "--policy", NODE.policy],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for role in ("launcher", "docker", "dispatcher", "publisher", "worker"):
        assert role in done.stdout, f"{role} is not in:\n{done.stdout}"


def audit_verifies_and_names_each_operation(_):
    log = NODE.base + "/audit/docker.log"
    done = subprocess.run([PREFIX + "/bin/keelson", "audit", "verify", log], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(log, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    operations = {record["op"] for record in records}
    for name in "create start stop restart kill pause unpause delete".split():
        assert "docker.container_" + name in operations, operations
    assert "docker.image_pull" in operations
    assert {record["decision"] for record in records} >= {"allow", "deny"}
    assert any(record["rid"].startswith("req-") for record in records)


def no_secret_is_written(_):
    secrets = ["gAAAAA-secret-token", "secret-catalog", "zunpass", "0123456789abcdef0123456789abcdef"]
    for folder, _, names in os.walk(NODE.base):
        for name in names:
            path = os.path.join(folder, name)
            if path == NODE.conf or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                text = file.read()
            for secret in secrets:
                assert secret.encode() not in text, f"{secret} stands in {path}"
    for pid in [NODE.process.pid] + NODE.children():
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            assert b"zunpass" not in file.read()


def intents_are_struck_off(_):
    left = os.listdir(os.path.join(NODE.base, "state/compute/intents"))
    assert not left, left


def no_descriptor_is_leaked(client):
    def count():
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in NODE.children())
    container = created(client)
    wait_row(container.uuid, settled("Running"))
    container.refresh()
    for _ in range(300):  # the last replies are kept, for messages that come twice
        client.call("container_show", container=container.primitive())
    before = count()
    for _ in range(300):
        client.call("container_show", container=container.primitive())
    assert count() <= before + 2, (before, count())


def terminates_cleanly(_):
    assert NODE.stop() == 0, NODE.text()[-2000:]


def main():
    os.makedirs(LAB, exist_ok=True)
    NODE.start()
    client = Client()
    report = Report()
    for test in [service_and_node_rows, create_and_run, create_without_run, every_field_reaches_docker,
                 empty_command_comes_from_the_image, lifecycle, kill_with_a_harmless_signal_leaves_it_running, show,
                 show_of_an_uncreated_container_changes_nothing, show_of_a_missing_row_is_not_found, delete,
                 forced_delete_of_a_running_container, delete_of_a_running_container_without_force_fails_definitely,
                 delete_when_docker_has_lost_it, action_on_a_lost_container_is_an_error, pull_by_tag_and_by_digest,
                 missing_image, bad_image_names_never_reach_the_engine, bad_command_is_an_error_with_a_reason,
                 claim_and_release, claim_over_the_limit, what_needs_other_services_is_refused_plainly,
                 a_foreign_container_is_not_touched, name_taken_by_a_foreign_container,
                 actions_of_one_container_keep_their_order, no_descriptor_is_leaked, memory_of_all_processes,
                 doctor_finds_nothing_wrong, audit_verifies_and_names_each_operation, no_secret_is_written,
                 intents_are_struck_off, terminates_cleanly]:
        report.run(test.__name__, test, client)
    if report.failed and os.environ.get("KEELSON_SHOW_LOG"):
        print(NODE.text())
    report.end()


main()
