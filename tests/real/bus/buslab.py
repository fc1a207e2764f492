# SPDX-License-Identifier: Apache-2.0
"""What the tests of the bus share: the dispatcher under test, raw AMQP, and an unmodified oslo.messaging client."""
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
import uuid as uuids

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peer"))

import amqp  # noqa: E402
import oslo_messaging  # noqa: E402
from oslo_messaging._metrics import client as metrics  # noqa: E402
from oslo_config import cfg  # noqa: E402

logging.disable(logging.CRITICAL)  # of the client's library: brokers that go away are part of the tests
LAB = os.environ.get("LAB", "/tmp")
URL = os.environ.get("LAB_AMQP_URL", "rabbit://guest:guest@127.0.0.1:5672/")
HOST = "bus-lab"
STUB = os.path.join(os.environ.get("KEELSON_BUILD", "build"), "tests/real/bus/bus_stub")

CONF = """[DEFAULT]
host = {host}
transport_url = {url}
state_path = {state}
auth_encryption_key = 0123456789abcdef0123456789abcdef
debug = {debug}
periodic_interval_max = 5
{default}
[compute]
{compute}
[database]
connection = postgresql://zun:zun@127.0.0.1:1/zun
[oslo_messaging_rabbit]
{rabbit}
"""


class Dispatcher:
    """bus_stub with a folder of its own."""

    def __init__(self, name, url=None, rabbit="heartbeat_timeout_threshold = 4", default="", compute="", host=HOST):
        self.base = os.path.join(LAB, "bus-" + name)
        self.state = os.path.join(self.base, "state")
        os.makedirs(self.state, exist_ok=True)
        self.log = os.path.join(self.base, "log")
        self.conf = os.path.join(self.base, "zun.conf")
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(CONF.format(host=host, url=url or URL, state=self.state, rabbit=rabbit, default=default,
                                   compute=compute, debug=os.environ.get("BUS_DEBUG", "false")))
        os.chmod(self.conf, 0o600)
        self.process = None
        self.offset = 0

    def start(self, wait="ready: consuming", seconds=20):
        with open(self.log, "ab") as log:
            self.offset = log.tell()
            self.process = subprocess.Popen([STUB, self.conf, self.state], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        if wait:
            self.wait_log(wait, seconds=seconds)
        return self

    def mark(self):
        """From now on only later lines count."""
        self.offset = os.path.getsize(self.log)

    def text(self):
        with open(self.log, "rb") as log:
            log.seek(self.offset)
            return log.read().decode("utf-8", "replace")

    def wait_log(self, words, seconds=20):
        wait(lambda: words in self.text(), seconds, lambda: f"{words!r} in the log:\n{self.text()[-4000:]}")

    def trace(self):
        try:
            with open(os.path.join(self.state, "trace"), encoding="ascii") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def wait_trace(self, line, seconds=20):
        wait(lambda: any(entry.startswith(line) for entry in self.trace()), seconds,
             lambda: f"{line!r} in the trace: {self.trace()[-20:]}\n{self.text()[-2000:]}")

    def intents(self):
        """Those that are whole: a name that begins with a dot or the like is still being written."""
        return sorted(name for name in os.listdir(os.path.join(self.state, "intents"))
                      if re.fullmatch("[0-9a-f]{16}-[0-9a-f]+", name))

    def stop(self, seconds=45):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def children(self):
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                        if int(stat.read().rpartition(")")[2].split()[1]) == self.process.pid:
                            found.append(int(entry))
                except (FileNotFoundError, ProcessLookupError):
                    pass
        return sorted(found)


def wait(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)


def container(name="plain", uuid=None):
    data = {"uuid": uuid or str(uuids.uuid4()), "name": name, "status": "Running", "image": "busybox", "host": HOST}
    return {"zun_object.name": "Container", "zun_object.namespace": "zun", "zun_object.version": "1.44",
            "zun_object.data": data}


class Serializer(oslo_messaging.NoOpSerializer):
    def serialize_context(self, context):
        return dict(context)


def configuration(**options):
    """oslo.config of its own, with what oslo.messaging registers only in the global one."""
    conf = cfg.ConfigOpts()
    conf(args=[], project="zun", default_config_files=[], default_config_dirs=[])
    conf.register_opts(metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")
    conf.set_override("metrics_thread_stop_timeout", 0, group="oslo_messaging_metrics")
    oslo_messaging.set_transport_defaults("zun")
    if options:
        # They are registered when a driver is made.
        oslo_messaging.get_rpc_transport(conf, url=URL)
        for name, value in options.items():
            conf.set_override(name, value, group="oslo_messaging_rabbit")
    return conf


class Client:
    """An unmodified oslo.messaging client."""

    def __init__(self, url=None, timeout=20):
        self.transport = oslo_messaging.get_rpc_transport(configuration(), url=url or URL,
                                                          allowed_remote_exmods=["zun.common.exception"])
        self.client = oslo_messaging.get_rpc_client(self.transport, oslo_messaging.Target(topic="zun-compute"),
                                               serializer=Serializer(), timeout=timeout)

    def call(self, method, server=HOST, timeout=None, monitor=None, **arguments):
        more = {}
        if timeout:
            more["timeout"] = timeout
        if monitor:
            more["call_monitor_timeout"] = monitor
        prepared = self.client.prepare(server=server, **more)
        return prepared.call({"request_id": "req-" + str(uuids.uuid4())}, method, **arguments)

    def cast(self, method, server=HOST, **arguments):
        self.client.prepare(server=server).cast({"request_id": "req-" + str(uuids.uuid4())}, method, **arguments)

    def show(self, name, uuid=None, **more):
        return self.call("container_show", container=container(name, uuid), **more)


class Raw:
    """Plain AMQP."""

    def __init__(self, port=5672):
        self.connection = amqp.Connection(f"127.0.0.1:{port}", userid="guest", password="guest", confirm_publish=True)
        self.connection.connect()
        self.channel = self.connection.channel()

    def close(self):
        self.connection.close()

    def publish(self, body, key="zun-compute." + HOST, content_type="application/json", exchange="zun", **properties):
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if content_type:
            properties["content_type"] = content_type
        self.channel.basic_publish(amqp.Message(body, **properties), exchange, key)

    def depth(self, queue="zun-compute." + HOST):
        """(messages ready, consumers)"""
        _, messages, consumers = self.channel.queue_declare(queue, passive=True)
        return messages, consumers

    def reply_queue(self):
        name = "reply_" + uuids.uuid4().hex
        self.channel.queue_declare(name, auto_delete=False, arguments={"x-expires": 1800000})
        return name

    def get(self, queue, seconds=10):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self.channel.basic_get(queue, no_ack=True)
            if message:
                return message
            time.sleep(0.02)
        return None


def envelope(inner):
    return {"oslo.version": "2.0", "oslo.message": json.dumps(inner)}


def request(method="container_show", name="plain", unique_id=None, uuid=None, reply=None, msg_id=None, **more):
    inner = {"method": method, "args": {"container": container(name, uuid)}, "_unique_id": unique_id or uuids.uuid4().hex,
             "_context_request_id": "req-" + str(uuids.uuid4())}
    if reply:
        inner.update({"_msg_id": msg_id or uuids.uuid4().hex, "_reply_q": reply, "_timeout": None})
    inner.update(more)
    return inner


def inner_of(message):
    return json.loads(json.loads(message.body)["oslo.message"])


def shell(command):
    """In the lab's shell: rabbitmqctl_lab and its like."""
    subprocess.run(["bash", "-c", f". {HERE}/../lab/services.sh; {command}"], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ)


class Report:
    def __init__(self, wanted):
        self.failed = 0
        self.wanted = wanted

    def run(self, name, function):
        if self.wanted and not any(word in name for word in self.wanted):
            return
        started = time.monotonic()
        try:
            function()
        except Exception as error:  # a test may fail in any way; the next ones still run
            self.failed += 1
            text = str(error).replace("\n", "\n    ")
            print(f"FAIL {name}: {type(error).__name__}: {text}", flush=True)
        else:
            print(f"PASS {name} ({time.monotonic() - started:.1f} s)", flush=True)
