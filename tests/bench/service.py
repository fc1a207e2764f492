#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The service beside its peers: a cast against Docker's API itself, a call against an oslo.messaging server in
Python that does the same work (one row read, one inspect).  Prints medians and ratios; asserts nothing."""
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../real"))
from zunlab import LAB, Client, Container, Node, row  # noqa: E402

CREATES, CALLS, CALLERS = 15, 300, 4

PEER = r"""
import http.client, json, os, socket, sys
import eventlet, eventlet.queue
eventlet.monkey_patch()
import oslo_messaging, psycopg2
from oslo_config import cfg
class Engine(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["LAB_DOCKER"])
class Manager:
    def __init__(self):
        self.idle = eventlet.queue.Queue()
        for _ in range(8):
            database = psycopg2.connect(os.environ["LAB_DB_URL"])
            database.autocommit = True
            self.idle.put(database)
    def container_show(self, context, container):
        database = self.idle.get()
        with database.cursor() as cursor:
            cursor.execute("select * from container where uuid = %s", (container["zun_object.data"]["uuid"],))
            cursor.fetchall()
        self.idle.put(database)
        engine = Engine("docker")
        engine.request("GET", "/v1.41/containers/zun-" + container["zun_object.data"]["uuid"] + "/json")
        state = json.loads(engine.getresponse().read())["State"]
        container["zun_object.data"]["status"] = state["Status"]
        return container
cfg.CONF(args=[], project="zun", default_config_files=[], default_config_dirs=[])
oslo_messaging.set_transport_defaults("zun")
transport = oslo_messaging.get_rpc_transport(cfg.CONF, url=os.environ["LAB_AMQP_URL"])
server = oslo_messaging.get_rpc_server(transport, oslo_messaging.Target(topic="zun-compute", server="peer"), [Manager()],
                                       executor="eventlet")
server.start()
print("ready", flush=True)
server.wait()
"""


class Engine(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["LAB_DOCKER"])


def ask(method, path, body=None):
    engine = Engine("docker")
    engine.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
    answer = engine.getresponse()
    answer.read()
    assert answer.status < 300, (path, answer.status)


def directly(index):
    body = {"Image": "busybox:latest", "Cmd": ["sleep", "600"], "HostConfig": {"NetworkMode": "none"}}
    started = time.monotonic()
    ask("POST", f"/v1.41/containers/create?name=direct-{index}", body)
    ask("POST", f"/v1.41/containers/direct-{index}/start")
    return time.monotonic() - started


def through_keelson(client):
    container = Container().insert()
    started = time.monotonic()
    client.create(container)
    while row(container.uuid, "status")["status"] != "Running":
        time.sleep(0.002)
    return time.monotonic() - started, container


def call_times(server, container):
    client = Client()
    primitive = container.refresh().primitive()
    times = []
    for _ in range(CALLS):
        started = time.monotonic()
        client.call("container_show", server=server, container=primitive)
        times.append(time.monotonic() - started)
    return statistics.median(times)


def rate(server, container):
    primitive = container.primitive()

    def caller():
        client = Client()
        for _ in range(CALLS):
            client.call("container_show", server=server, container=primitive)
    threads = [threading.Thread(target=caller) for _ in range(CALLERS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return CALLS * CALLERS / (time.monotonic() - started)


def cpu_of(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def main():
    print(subprocess.run([os.environ["KEELSON_BUILD"] + "/tests/bench/channel", os.environ["LAB_DOCKER"]], check=True,
                         capture_output=True, text=True).stdout, end="")
    node = Node("bench").start()
    client = Client()
    through, direct = [], []
    for index in range(CREATES):
        took, container = through_keelson(client)
        through.append(took)
        direct.append(directly(index))
    a, b = statistics.median(direct) * 1000, statistics.median(through) * 1000
    print(f"create and start:     Docker's API  {a:6.0f} ms   cast to Running {b:6.0f} ms   ratio {b / a:.2f}")
    with open(os.path.join(LAB, "peer.py"), "w", encoding="utf-8") as file:
        file.write(PEER)
    with open(os.path.join(LAB, "peer.log"), "w", encoding="utf-8") as log:
        peer = subprocess.Popen([sys.executable, file.name], stdout=subprocess.PIPE, stderr=log, text=True)
        peer.stdout.readline()
        results = {}
        for name, server, pids in [("peer", "peer", [peer.pid]), ("ours", "keelson-lab", [node.process.pid] + node.children())]:
            before = cpu_of(pids)
            median = call_times(server, container)
            cpu = (cpu_of(pids) - before) / CALLS
            results[name] = (median * 1000, rate(server, container), cpu * 1e6)
        peer.kill()
    for index, what in [(0, "container_show p50:   Python {:6.2f} ms   Keelson {:6.2f} ms"),
                        (1, "calls a second:       Python {:6.0f}      Keelson {:6.0f}   (a Python client drives both)"),
                        (2, "CPU a call:           Python {:6.0f} us   Keelson {:6.0f} us")]:
        print(what.format(results["peer"][index], results["ours"][index])
              + f"   ratio {results['ours'][index] / results['peer'][index]:.2f}")
    node.stop()


main()
