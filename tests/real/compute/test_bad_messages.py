#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a management client can send that it should not: every message ends in a definite way, nothing is delivered
for ever, and the service lives.  Speaks plain AMQP (py-amqp), so that anything can be sent."""
import json
import os
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import amqp  # noqa: E402
from zunlab import HOST, Client, Container, Node, Report, query, row, settled, wait_row  # noqa: E402

NODE = Node("bad", compute="max_message_bytes = 1048576")
CAPTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../captures")


class Raw:
    """A client of the bus without any manners."""

    def __init__(self):
        self.connection = amqp.Connection("127.0.0.1:5672", userid="guest", password="guest")
        self.connection.connect()
        self.channel = self.connection.channel()
        self.reply_queue = "reply_" + uuid.uuid4().hex
        self.channel.queue_declare(self.reply_queue, durable=False, exclusive=False, auto_delete=False,
                                   arguments={"x-expires": 1800000})

    def publish(self, body, key="zun-compute." + HOST, content_type="application/json", **properties):
        if content_type is not None:
            properties.update(content_type=content_type, content_encoding="utf-8")
        self.channel.basic_publish(amqp.Message(body, **properties), exchange="zun", routing_key=key)

    def inner(self, method, arguments, call=True, **more):
        message = {"method": method, "args": arguments, "_unique_id": uuid.uuid4().hex,
                   "_context_request_id": "req-" + str(uuid.uuid4()), "_context_project_id": "p1" * 16}
        if call:
            message.update(_msg_id=uuid.uuid4().hex, _reply_q=self.reply_queue, _timeout=None)
        message.update(more)
        return message

    @staticmethod
    def wrap(inner, version="2.0"):
        text = inner if isinstance(inner, str) else json.dumps(inner)
        return json.dumps({"oslo.version": version, "oslo.message": text})

    def replies(self, seconds=5, enough=1):
        """Inner objects of the replies that came."""
        found, deadline = [], time.monotonic() + seconds
        while time.monotonic() < deadline and len(found) < enough:
            message = self.channel.basic_get(self.reply_queue, no_ack=True)
            if message:
                found.append(json.loads(json.loads(message.body)["oslo.message"]))
            else:
                time.sleep(0.02)
        return found

    def call(self, inner, seconds=10):
        self.publish(self.wrap(inner))
        found = self.replies(seconds)
        assert found, f"no reply to {inner.get('method')}"
        assert found[0]["_msg_id"] == inner["_msg_id"] and found[0]["ending"] is True, found[0]
        return found[0]

    def failure(self, inner):
        reply = self.call(inner)
        assert reply["result"] is None and reply["failure"], reply
        failure = json.loads(reply["failure"])
        assert failure["tb"] == [], "no traceback goes to tenants (K20)"
        return failure["class"], failure["module"], failure["message"]


def alive(raw):
    container = Container().insert()
    reply = raw.call(raw.inner("container_show", {"container": container.primitive()}))
    assert reply["failure"] is None and reply["result"]["zun_object.data"]["uuid"] == container.uuid, reply


def queue_is_empty():
    """Nothing waits in our queue and nothing is unacknowledged: read from the broker by a passive declare."""
    raw = Raw()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        state = raw.channel.queue_declare("zun-compute." + HOST, passive=True)
        if state.message_count == 0:
            raw.connection.close()
            return
        time.sleep(0.1)
    raise AssertionError(f"{state.message_count} messages left")


def unreadable_bodies_get_no_reply_and_do_not_come_back(raw):
    good = raw.inner("container_show", {"container": Container().primitive()})
    for body in [b"", b"{", b"not json", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"{}" * 1000,
                 raw.wrap(good, "3.0"), raw.wrap(good, "2.1"), raw.wrap("not json"), raw.wrap("[]"),
                 b'{"oslo.version": "2.0", "oslo.message": 7}', b"[" * 200000, b'{"a":' * 100000,
                 json.dumps({"oslo.version": "2.0", "oslo.message": "\x00"})]:
        raw.publish(body)
    raw.publish(raw.wrap(good), content_type=None)
    assert not raw.replies(1), "a reply to what cannot be read"
    queue_is_empty()
    alive(raw)


def truncated_at_many_places(raw):
    whole = raw.wrap(raw.inner("container_show", {"container": Container().insert().primitive()}))
    for length in range(0, len(whole) - 1, 37):
        raw.publish(whole[:length])
    assert not raw.replies(1)
    queue_is_empty()
    alive(raw)


def too_large(raw):
    inner = raw.inner("container_show", {"container": Container().insert().primitive(), "pad": "x" * 1100000})
    raw.publish(raw.wrap(inner))
    assert not raw.replies(1)
    queue_is_empty()
    alive(raw)


def methods_outside_the_allow_list(raw):
    for method in ["no_such_method", "inventory_host", "init_containers", "_get_driver", "__init__", "delete_unused_containers",
                   "sync_container_state", "capsule_create", "restore_running_container", "run_periodic_tasks"]:
        assert raw.failure(raw.inner(method, {})) == (
            "NoSuchMethod", "oslo_messaging.rpc.dispatcher", "Endpoint does not support RPC method " + method)


def versions_and_namespaces(raw):
    argument = {"container": Container().insert().primitive()}
    assert raw.call(raw.inner("container_show", argument, version="1.0"))["failure"] is None
    for more in [{"version": "1.1"}, {"version": "2.0"}, {"namespace": "x"}, {"version": "abc"}]:
        kind, module, text = raw.failure(raw.inner("container_show", argument, **more))
        assert (kind, module) == ("UnsupportedVersion", "oslo_messaging.rpc.dispatcher"), (kind, module, more)
        assert text.endswith("Attempted method: container_show"), text


def no_method(raw):
    inner = raw.inner("x", {})
    del inner["method"]
    assert raw.failure(inner)[:2] == ("TypeError", "builtins")


def wrong_arguments(raw):
    good = Container().insert().primitive()
    assert raw.failure(raw.inner("container_show", {}))[0] == "ZunException"
    assert raw.failure(raw.inner("container_show", {"container": good, "extra": 1}))[0] == "ZunException"
    assert raw.failure(raw.inner("container_show", {"container": "nope"}))[0] == "ZunException"
    assert raw.failure(raw.inner("container_show", {"container": None}))[0] == "ZunException"


def wrong_objects(raw):
    def changed(**changes):
        primitive = Container().insert().primitive()
        primitive["zun_object.data"]["container_id"] = "1" * 64
        for key, value in changes.items():
            if key in ("name", "namespace", "version"):
                primitive["zun_object." + key] = value
            elif value is KeyError:
                del primitive["zun_object.data"][key]
            else:
                primitive["zun_object.data"][key] = value
        return {"container": primitive}
    for changes, wanted in [
            ({"version": "9.9"}, ("IncompatibleObjectVersion", "oslo_versionedobjects.exception")),
            ({"name": "Nothing"}, ("UnsupportedObjectError", "oslo_versionedobjects.exception")),
            ({"uuid": KeyError}, ("ObjectActionError", "zun.common.exception")),
            ({"status": "Dancing"}, ("ValueError", "builtins")),
            ({"cpu": "much"}, ("ValueError", "builtins")),
            ({"command": 7}, ("ValueError", "builtins")),
            ({"uuid": "../../etc"}, ("ValueError", "builtins"))]:
        got = raw.failure(raw.inner("container_show", changed(**changes)))
        assert got[:2] == wanted, (changes, got)


def every_wrong_type_ends_definitely(raw):
    values = [None, True, -1, 0, 1.5, 10**40, "", "x" * 5000, "\u0000", "ü\u202e", [], [[[]]], {}, {"a": {"b": []}}]
    fields = ["uuid", "name", "image", "cpu", "memory", "command", "status", "environment", "labels", "restart_policy",
              "interactive", "disk", "healthcheck", "exposed_ports", "container_id", "ports", "created_at"]
    number = 0
    for field in fields:
        for value in values:
            primitive = Container().primitive()
            primitive["zun_object.data"]["id"] = 1
            primitive["zun_object.data"][field] = value
            raw.publish(raw.wrap(raw.inner("container_show", {"container": primitive})))
            number += 1
    found = raw.replies(60, number)
    assert len(found) == number, f"{len(found)} replies to {number} calls"
    alive(raw)


def duplicate_keys_are_refused(raw):
    text = json.dumps(raw.inner("container_show", {"container": Container().insert().primitive()}))
    raw.publish(raw.wrap(text[:-1] + ', "method": "container_delete"}'))
    found = raw.replies(5)
    assert found and json.loads(found[0]["failure"])["class"] == "ValueError", found
    queue_is_empty()


def duplicate_message_runs_once(raw):
    container = Container().insert()
    inner = raw.inner("container_show", {"container": container.primitive()})
    raw.publish(raw.wrap(inner))
    assert len(raw.replies(5)) == 1
    for _ in range(50):
        raw.call(raw.inner("container_show", {"container": container.primitive()}))
    raw.publish(raw.wrap(inner))
    again = raw.replies(2)
    assert len(again) <= 1, again  # the same answer again, or none
    container.action("create")
    cast = raw.inner("container_create", {
        "limits": {}, "requested_networks": [], "requested_volumes": {container.uuid: []}, "container": container.primitive(),
        "run": True, "pci_requests": None}, call=False)
    raw.publish(raw.wrap(cast))
    wait_row(container.uuid, settled("Running"))
    first = row(container.uuid)["container_id"]
    raw.publish(raw.wrap(cast))
    queue_is_empty()
    time.sleep(1)
    assert row(container.uuid)["container_id"] == first and row(container.uuid)["status"] == "Running"


def call_without_reply_queue_is_dropped(raw):
    inner = raw.inner("container_show", {"container": Container().insert().primitive()})
    del inner["_reply_q"]
    raw.publish(raw.wrap(inner))
    queue_is_empty()
    alive(raw)


def reply_queue_gone_delays_nobody(raw):
    container = Container().insert()
    for index in range(200):
        inner = raw.inner("container_show", {"container": container.primitive()}, _reply_q="reply_gone_%d" % index)
        raw.publish(raw.wrap(inner))
    for _ in range(20):
        started = time.monotonic()
        raw.call(raw.inner("container_show", {"container": container.primitive()}))
        took = time.monotonic() - started
    assert took < 5, took  # a bound against a hang, not a measure
    alive(raw)


def old_form_without_envelope(raw):
    inner = raw.inner("container_show", {"container": Container().insert().primitive()})
    raw.publish(json.dumps(inner))
    assert raw.replies(5)[0]["failure"] is None


def cast_of_a_call_is_not_answered(raw):
    raw.publish(raw.wrap(raw.inner("container_show", {"container": Container().insert().primitive()}, call=False)))
    assert not raw.replies(1)
    queue_is_empty()


def context_may_be_absent(raw):
    inner = raw.inner("container_show", {"container": Container().insert().primitive()})
    inner = {key: value for key, value in inner.items() if not key.startswith("_context_")}
    assert raw.call(inner)["failure"] is None


def a_cast_with_a_bad_object_leaves_a_definite_row(raw):
    container = Container().insert().action("create")
    primitive = container.primitive()
    primitive["zun_object.data"]["command"] = 7
    raw.publish(raw.wrap(raw.inner("container_create", {
        "limits": {}, "requested_networks": [], "requested_volumes": {}, "container": primitive, "run": True,
        "pci_requests": None}, call=False, _context_request_id=container.request_id)))
    seen = wait_row(container.uuid, settled("Error"))
    assert seen["status_reason"], seen
    assert query("select message from container_actions where container_uuid = %s", container.uuid) == [("Error",)]


def percent_signs_survive_the_trip(_):
    container = Container().insert()
    container.data["container_id"] = "1" * 64
    container.data["uuid"] = str(uuid.uuid4())
    primitive = container.primitive()
    primitive["zun_object.data"]["name"] = "100%s %2F %"
    try:
        Client(timeout=10).call("container_show", container=primitive)
    except Exception as error:
        assert type(error).__name__.startswith("ContainerNotFound"), repr(error)


def call_monitoring_beats_until_the_result(raw):
    inner = raw.inner("container_show", {"container": Container().insert().primitive()}, _timeout=2)
    raw.publish(raw.wrap(inner))
    found = raw.replies(5)
    assert found and found[-1]["ending"] is True


def captured_requests(raw):
    """Every recorded request for the methods of this release is understood: it gets the reply's class, or runs."""
    seen = 0
    for name in sorted(os.listdir(CAPTURES)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(CAPTURES, name), encoding="utf-8") as file:
            capture = json.load(file)
        for message in capture["messages"]:
            if message["direction"] != "request" or message.get("exchange") == "zun-compute_fanout":
                continue
            body = message["body"]
            try:
                inner = json.loads(json.loads(body)["oslo.message"])
            except (ValueError, KeyError, TypeError):
                continue
            if "_reply_q" not in inner:
                continue
            properties = message.get("properties", {"content_type": "application/json"})
            inner["_reply_q"] = raw.reply_queue
            inner["_unique_id"] = uuid.uuid4().hex
            raw.publish(raw.wrap(inner, json.loads(body)["oslo.version"]),
                        content_type=properties.get("content_type"))
            understood = json.loads(body)["oslo.version"] == "2.0" and "content_type" in properties
            found = raw.replies(10 if understood else 1)
            assert len(found) == (1 if understood else 0), (name, found)
            seen += 1
    assert seen >= 10, f"only {seen} captured calls"
    alive(raw)


def the_service_is_the_same_process(raw):
    assert NODE.process.poll() is None
    alive(raw)
    log = NODE.text()
    assert "gAAAAA" not in log
    deaths = [line for line in log.splitlines() if "worker" in line and "died" in line]
    assert not deaths, deaths[:3]


def main():
    NODE.start()
    raw = Raw()
    report = Report()
    for test in [alive, unreadable_bodies_get_no_reply_and_do_not_come_back, truncated_at_many_places, too_large,
                 methods_outside_the_allow_list, versions_and_namespaces, no_method, wrong_arguments, wrong_objects,
                 every_wrong_type_ends_definitely, duplicate_keys_are_refused, duplicate_message_runs_once,
                 call_without_reply_queue_is_dropped, reply_queue_gone_delays_nobody, old_form_without_envelope,
                 cast_of_a_call_is_not_answered, context_may_be_absent, a_cast_with_a_bad_object_leaves_a_definite_row,
                 percent_signs_survive_the_trip, call_monitoring_beats_until_the_result, captured_requests,
                 the_service_is_the_same_process]:
        report.run(test.__name__, test, raw)
    NODE.stop()
    if report.failed and os.environ.get("KEELSON_SHOW_LOG"):
        print(NODE.text())
    report.end()


main()
