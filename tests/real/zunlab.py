# SPDX-License-Identifier: Apache-2.0
"""What the real tests share: a node under test, the rows that zun-api would write, and an unmodified
oslo.messaging client.  Runs inside `lab/lab` with Debian's python3."""
import datetime
import json
import os
import signal
import subprocess
import sys
import time
import uuid as uuids

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "peer"))

import oslo_messaging  # noqa: E402
import psycopg2  # noqa: E402
from oslo_config import cfg  # noqa: E402

LAB = os.environ.get("LAB", "")
HOST = "keelson-lab"
PREFIX = os.environ.get("KEELSON_PREFIX", "/usr/local")
PROJECT = "p1" * 16
USER = "u1" * 16
# Numeric ids: no account has to exist.
BROKER_UID, DOCKER_UID = 61801, 61802

NULLS = """annotations cni_metadata container_id entrypoint host hostname image_pull_policy ports registry_id runtime
started_at status_detail status_reason task_state updated_at websocket_token websocket_url workdir addresses""".split()


def now():
    return datetime.datetime.utcnow().isoformat(timespec="microseconds")


def database():
    connection = psycopg2.connect(os.environ["LAB_DB_URL"])
    connection.autocommit = True
    return connection


def query(sql, *parameters):
    connection = database()
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def row(uuid, columns="status, status_reason, task_state, container_id, host"):
    """The container's row as a dict, or None."""
    found = query(f"select {columns} from container where uuid = %s", uuid)
    names = [name.strip() for name in columns.split(",")]
    return dict(zip(names, found[0])) if found else None


def wait_row(uuid, condition, seconds=30, columns="status, status_reason, task_state, container_id, host"):
    """Polls the row until condition(row) holds; returns the row, or raises with the last one seen."""
    deadline = time.monotonic() + seconds
    while True:
        current = row(uuid, columns)
        if condition(current):
            return current
        if time.monotonic() > deadline:
            raise AssertionError(f"row {uuid} did not get there in {seconds} s: {current}")
        time.sleep(0.02)


def settled(status):
    return lambda current: current and current["status"] == status and current["task_state"] is None


class Container:
    """A row as zun-api writes it before it casts, and the object it then sends."""

    def __init__(self, **fields):
        self.uuid = fields.pop("uuid", str(uuids.uuid4()))
        self.request_id = None
        self.data = {
            "uuid": self.uuid, "name": fields.pop("name", "c-" + self.uuid[:8]), "project_id": PROJECT, "user_id": USER,
            "image": "busybox:latest", "image_driver": "docker", "image_pull_policy": "ifnotpresent",
            "command": ["sleep", "600"], "status": "Creating", "cpu": 0.0, "memory": "0", "disk": 0,
            "cpu_policy": "shared", "environment": {}, "labels": {}, "security_groups": [], "restart_policy": {},
            "healthcheck": None, "exposed_ports": None, "interactive": False, "tty": False, "auto_heal": False,
            "auto_remove": False, "privileged": False}
        self.data.update(fields)
        for name in NULLS:
            self.data.setdefault(name, None)
        self.capsule = False

    def insert(self):
        columns = {key: value for key, value in self.data.items() if key != "id"}
        for key in ("command", "ports", "security_groups", "entrypoint"):
            columns[key] = json.dumps(columns[key] or [])
        for key in ("environment", "labels", "addresses", "restart_policy", "healthcheck", "exposed_ports"):
            columns[key] = json.dumps(columns[key] or {})
        columns["cpuset"] = "{}"
        columns["container_type"] = 0
        columns["created_at"] = now()
        names = ", ".join(columns)
        marks = ", ".join(["%s"] * len(columns))
        found = query(f"insert into container ({names}) values ({marks}) returning id", *columns.values())
        self.data["id"] = found[0][0]
        return self

    def action(self, action):
        """Opens the action row that the API opens, under a new request id."""
        self.request_id = "req-" + str(uuids.uuid4())
        query("""insert into container_actions (action, container_uuid, request_id, user_id, project_id, start_time,
                 created_at) values (%s, %s, %s, %s, %s, %s, %s)""",
              action, self.uuid, self.request_id, USER, PROJECT, now(), now())
        return self

    def primitive(self, changes=None):
        data = dict(self.data)
        data["created_at"] = now()[:19] + "Z"
        for key in ("healthcheck", "exposed_ports", "addresses"):
            if isinstance(data[key], dict):
                data[key] = json.dumps(data[key])
        data["cpuset"] = {"zun_object.name": "Cpuset", "zun_object.namespace": "zun", "zun_object.version": "1.0",
                          "zun_object.data": {"cpuset_cpus": None, "cpuset_mems": None}}
        primitive = {"zun_object.name": "Container", "zun_object.namespace": "zun", "zun_object.version": "1.44",
                     "zun_object.data": data}
        if changes:
            primitive["zun_object.changes"] = changes
        return primitive

    def refresh(self):
        """Takes over what the agent wrote, as the API does when it reads the row before the next request."""
        current = row(self.uuid, "status, status_reason, task_state, container_id, host")
        if current:
            self.data.update(current)
        return self


class Serializer(oslo_messaging.NoOpSerializer):
    def serialize_context(self, context):
        return dict(context)


class Client:
    """An unmodified oslo.messaging RPC client, as zun-api's."""

    def __init__(self, url=None, timeout=30):
        conf = cfg.CONF  # oslo.messaging registers its metrics options there only
        conf(args=[], project="zun", default_config_files=[], default_config_dirs=[])
        oslo_messaging.set_transport_defaults("zun")
        transport = oslo_messaging.get_rpc_transport(
            conf, url=url or os.environ["LAB_AMQP_URL"], allowed_remote_exmods=["zun.common.exception"])
        target = oslo_messaging.Target(topic="zun-compute")
        self.client = oslo_messaging.get_rpc_client(transport, target, serializer=Serializer(), timeout=timeout)

    @staticmethod
    def context(request_id=None):
        return {"user_id": USER, "project_id": PROJECT, "user": USER, "project": PROJECT, "is_admin": False,
                "all_projects": False, "request_id": request_id or "req-" + str(uuids.uuid4()), "roles": ["member"],
                "auth_token": "gAAAAA-secret-token", "timestamp": now(), "read_only": False, "show_deleted": False,
                "auth_token_info": {"token": {"methods": ["password"], "catalog": [], "marker": "secret-catalog"}}}

    def cast(self, method, request_id=None, server=HOST, **arguments):
        self.client.prepare(server=server).cast(self.context(request_id), method, **arguments)

    def call(self, method, request_id=None, server=HOST, timeout=None, **arguments):
        prepared = self.client.prepare(server=server, timeout=timeout) if timeout else self.client.prepare(server=server)
        return prepared.call(self.context(request_id), method, **arguments)

    def create(self, container, run=True, **more):
        container.action("create")
        arguments = {"limits": {}, "requested_networks": [], "requested_volumes": {container.uuid: []},
                     "container": container.primitive(), "run": run, "pci_requests": None}
        arguments.update(more)
        self.cast("container_create", container.request_id, **arguments)

    def act(self, method, container, **arguments):
        """Casts container_<method> as the API does: action row first, then the object as last read."""
        container.refresh().action(method)
        changes = None
        if method == "delete":
            container.data["status"] = "Deleting"
            changes = ["status"]
        self.cast("container_" + method, container.request_id, container=container.primitive(changes), **arguments)


ZUN_CONF = """[DEFAULT]
host = {host}
transport_url = {amqp}
state_path = {state}
auth_encryption_key = 0123456789abcdef0123456789abcdef
{default}
[compute]
{compute}
[docker]
api_url = unix://{docker}
[database]
connection = {db}
[oslo_messaging_rabbit]
{rabbit}
"""

POLICY_CONF = """docker_socket = {docker}
broker_user = {broker}
docker_user = {helper}
audit_directory = {base}/audit
state_directory = {base}/state
run_directory = {base}/run
{policy}
"""


class Node:
    """keelson-launch compute with a configuration of its own under $LAB/node."""

    def __init__(self, name="node", default="", compute="", rabbit="", policy="", amqp=None, environment=None):
        self.base = os.path.join(LAB, name)
        os.makedirs(self.base, mode=0o755, exist_ok=True)
        self.policy = os.path.join(self.base, "policy.conf")
        self.conf = os.path.join(self.base, "zun.conf")
        self.log = os.path.join(self.base, "log")
        values = {"host": HOST, "amqp": amqp or os.environ.get("LAB_AMQP_URL", ""), "db": os.environ["LAB_DB_URL"],
                  "docker": os.environ["LAB_DOCKER"], "state": os.path.join(self.base, "state"), "base": self.base,
                  "default": default, "compute": compute, "rabbit": rabbit, "policy": policy,
                  "broker": BROKER_UID, "helper": DOCKER_UID}
        self.write(self.policy, POLICY_CONF.format(**values), 0o644)
        self.write(self.conf, ZUN_CONF.format(**values), 0o640)
        os.chown(self.conf, 0, BROKER_UID)
        self.environment = environment or {}
        self.process = None

    @staticmethod
    def write(path, text, mode):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def start(self, wait=True):
        with open(self.log, "ab") as log:
            offset = log.tell()
            self.process = subprocess.Popen(
                [PREFIX + "/sbin/keelson-launch", "compute", "--policy", self.policy, "--",
                 "--config-file", self.conf], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **self.environment}, start_new_session=True)
        if wait:
            self.wait_log("ready: consuming", offset)
        return self

    def text(self, offset=0):
        with open(self.log, "rb") as log:
            log.seek(offset)
            return log.read().decode("utf-8", "replace")

    def wait_log(self, words, offset=0, seconds=30):
        deadline = time.monotonic() + seconds
        while words not in self.text(offset):
            if self.process.poll() is not None:
                raise AssertionError(f"keelson-launch ended with {self.process.returncode}:\n{self.text(offset)[-3000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"no {words!r} in the log in {seconds} s:\n{self.text(offset)[-3000:]}")
            time.sleep(0.05)

    def stop(self, seconds=45):
        """SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        """SIGKILL to the whole tree, launcher last."""
        for pid in self.children() + [self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def children(self):
        """Pids of every process below the launcher."""
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                        parents[int(entry)] = int(stat.read().rpartition(")")[2].split()[1])
                except (FileNotFoundError, ProcessLookupError):
                    pass
        found, frontier = [], [self.process.pid]
        while frontier:
            parent = frontier.pop()
            below = [pid for pid, its in parents.items() if its == parent]
            found += below
            frontier += below
        return found


def docker(*arguments):
    """The docker command line; returns its output."""
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def inspect(uuid):
    """docker inspect of the container of that uuid, or None."""
    done = subprocess.run(["docker", "inspect", "zun-" + uuid], capture_output=True, text=True)
    return json.loads(done.stdout)[0] if done.returncode == 0 else None


class Report:
    """One line a test, and an exit status."""

    def __init__(self):
        self.failed = 0

    def run(self, name, function, *arguments):
        started = time.monotonic()
        try:
            function(*arguments)
        except Exception as error:  # a test may fail in any way; the next ones still run
            self.failed += 1
            text = str(error).replace("\n", "\n    ")
            print(f"FAIL {name}: {type(error).__name__}: {text}", flush=True)
        else:
            print(f"PASS {name} ({time.monotonic() - started:.1f} s)", flush=True)

    def end(self):
        sys.exit(1 if self.failed else 0)
