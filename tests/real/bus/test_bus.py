#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Dispatcher, publisher and an unmodified oslo.messaging over a private RabbitMQ:
    KEELSON_BUILD=build-folder tests/real/lab/lab --with rabbitmq -- tests/real/bus/test_bus.py [WORD…]"""
import os
import signal
import sys
import threading
import time
import uuid as uuids

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from buslab import (HOST, LAB, URL, Client, Dispatcher, Raw, Report, configuration, container, envelope, inner_of, request,  # noqa: E402
                    shell, wait)

import oslo_messaging  # noqa: E402


class Node:
    """The dispatcher most tests share."""
    now = None

    @classmethod
    def get(cls):
        if cls.now is None or cls.now.process.poll() is not None:
            cls.now = Dispatcher("main").start()
        return cls.now


def call_is_answered():
    node = Node.get()
    client = Client()
    assert client.show("hello") == "hello"
    assert client.show("topic", server=None) == "topic"
    assert node.process.poll() is None


def cast_runs_and_leaves_no_intent():
    node = Node.get()
    uuid = str(uuids.uuid4())
    Client().cast("container_start", container=container("plain", uuid))
    node.wait_trace(f"end container_start {uuid}")
    wait(lambda: not node.intents(), 5, lambda: node.intents())
    raw = Raw()
    assert raw.depth()[0] == 0
    raw.close()


def failure_has_its_class():
    Node.get()
    try:
        Client().call("no_such_method", container=container())
    except oslo_messaging.RemoteError as error:
        assert error.exc_type == "NoSuchMethod", error.exc_type
    else:
        raise AssertionError("no failure")


def beside_an_oslo_server():
    """The same declarations, in both orders: nobody gets a 406, and each of the two takes messages."""
    class Endpoint:
        target = oslo_messaging.Target(version="1.0")

        def container_show(self, context, container):
            return "from oslo"

    def serve(host):
        transport = oslo_messaging.get_rpc_transport(configuration(), url=URL)
        server = oslo_messaging.get_rpc_server(transport, oslo_messaging.Target(topic="zun-compute", server=host),
                                               [Endpoint()], executor="threading")
        server.start()
        return server

    node = Node.get()
    second = serve("oslo-host")
    client = Client()
    assert client.show("x", server="oslo-host") == "from oslo"
    assert client.show("x") == "x"
    node.mark()
    third = serve(HOST + "-2")
    other = Dispatcher("beside", host=HOST + "-3").start()
    answers = {client.show("any", server=None) for _ in range(12)}
    assert "from oslo" in answers and "any" in answers, answers
    assert "refuses" not in other.text() and "406" not in other.text(), other.text()
    assert other.stop() == 0
    for server in (second, third):
        server.stop()
        server.wait()


def options_change_the_declarations():
    """wire document section 9: an oslo client and server with the same options find our queues right."""
    cases = [("durable", "amqp_durable_queues = true", {"amqp_durable_queues": True}),
             ("auto-delete", "amqp_auto_delete = true", {"amqp_auto_delete": True}),
             ("quorum", "rabbit_quorum_queue = true\nrabbit_quorum_delivery_limit = 3",
              {"rabbit_quorum_queue": True, "rabbit_quorum_delivery_limit": 3}),
             ("ha", "rabbit_ha_queues = true\nrabbit_transient_queues_ttl = 600",
              {"rabbit_ha_queues": True, "rabbit_transient_queues_ttl": 600})]

    class Endpoint:
        def container_show(self, context, container):
            return "from oslo"

    for name, lines, options in cases:
        topic = "topic-" + name
        default = f"control_exchange = exchange-{name}"
        ours = Dispatcher("options-" + name, host="ours", rabbit="heartbeat_timeout_threshold = 5\n" + lines,
                          compute=f"topic = {topic}", default=default).start()
        conf = configuration(**options)
        conf.set_override("control_exchange", "exchange-" + name)
        transport = oslo_messaging.get_rpc_transport(conf, url=URL)
        server = oslo_messaging.get_rpc_server(transport, oslo_messaging.Target(topic=topic, server="theirs"),
                                               [Endpoint()], executor="threading")
        server.start()
        client = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic=topic), timeout=10)
        assert client.prepare(server="theirs").call({}, "container_show", container=container()) == "from oslo", name
        assert client.prepare(server="ours").call({}, "container_show", container=container("me")) == "me", name
        assert "refuses" not in ours.text() and "as it is" not in ours.text(), ours.text()
        server.stop()
        server.wait()
        assert ours.stop() == 0, ours.text()


def duplicate_is_answered_again_and_not_run():
    node = Node.get()
    raw = Raw()
    queue = raw.reply_queue()
    message = request(name="twice", reply=queue)
    uuid = message["args"]["container"]["zun_object.data"]["uuid"]
    raw.publish(envelope(message))
    first = inner_of(raw.get(queue))
    for _ in range(100):
        raw.publish(envelope(request("container_start")))
    raw.publish(envelope(message))
    second = inner_of(raw.get(queue))
    assert first["result"] == second["result"] == "twice", (first, second)
    assert first["_msg_id"] == second["_msg_id"] and first["_unique_id"] != second["_unique_id"]
    assert len([line for line in node.trace() if line == f"end container_show {uuid}"]) == 1
    cast = request("container_start", name="cast-twice")
    uuid = cast["args"]["container"]["zun_object.data"]["uuid"]
    raw.publish(envelope(cast))
    node.wait_trace(f"end container_start {uuid}")
    assert node.stop() == 0
    node.start()
    raw.publish(envelope(cast))
    assert Client().show("later") == "later"
    assert len([line for line in node.trace() if line.startswith(f"begin container_start {uuid}")]) == 1
    wait(lambda: not node.intents(), 5, lambda: node.intents())
    raw.close()


def what_is_no_message_is_rejected():
    node = Node.get()
    raw = Raw()
    for body, content_type in [("no json at all", "application/json"), ("[1, 2]", "application/json"),
                               (envelope(request()), None), (envelope(request()), "text/plain"),
                               ({"oslo.version": "3.0", "oslo.message": "{}"}, "application/json"),
                               (b"\xff\xfe\x00", "application/json"), ("", "application/json")]:
        raw.publish(body, content_type=content_type)
    assert Client().show("alive") == "alive"
    assert raw.depth()[0] == 0
    assert node.process.poll() is None
    raw.close()


def oversized_is_refused():
    node = Dispatcher("oversized", host="small", compute="max_message_bytes = 65536").start()
    raw = Raw()
    for size in (65537, 200000, 3 << 20):
        raw.publish("x" * size, key="zun-compute.small")
    raw.publish(envelope(request(name="fits")), key="zun-compute.small")
    node.wait_log("max_message_bytes is 65536")
    wait(lambda: node.text().count("is refused, max_message_bytes") == 3, 5, lambda: node.text())
    assert Client().show("alive", server="small") == "alive"
    assert raw.depth("zun-compute.small")[0] == 0
    assert node.stop() == 0
    raw.close()


def large_messages_and_replies_pass():
    Node.get()
    assert len(Client().show("big=4000000 ")) == 4000000
    name = "n" * 3000000
    assert Client().show(name) == name[:255]


def order_on_a_strand():
    """Twenty actions on one container, in order and never two at once; others run beside."""
    node = Node.get()
    raw = Raw()
    uuid, methods = str(uuids.uuid4()), []
    for i in range(20):
        method = ["container_start", "container_stop", "container_pause", "container_unpause"][i % 4]
        methods.append(method)
        message = request(method, name="ms=20 ", uuid=uuid)
        if method == "container_stop":
            message["args"]["timeout"] = 1
        raw.publish(envelope(message))
    raw.publish(envelope(request("container_start", name="other")))
    wait(lambda: len([line for line in node.trace() if line.startswith("end") and uuid in line]) == 20, 20,
         lambda: node.trace()[-40:])
    lines = [line.split()[:2] for line in node.trace() if uuid in line]
    expected = [[word, method] for method in methods for word in ("begin", "end")]
    assert lines == expected, lines
    raw.close()


def calls_go_first():
    """With every place for casts taken, a call is answered at once."""
    node = Dispatcher("first", host="first", default="executor_thread_pool_size = 5").start()
    raw = Raw()
    for _ in range(12):
        raw.publish(envelope(request("container_start", name="sleep=2 ")), key="zun-compute.first")
    wait(lambda: len([line for line in node.trace() if line.startswith("begin")]) >= 2, 10, "casts run")
    started = time.monotonic()
    assert Client().show("quick", server="first") == "quick"
    took = time.monotonic() - started
    assert took < 1, took
    running = len([line for line in node.trace() if line.startswith("begin container_start")])
    assert running == 2, running
    assert raw.depth("zun-compute.first")[0] == 0, "all are acknowledged"
    assert node.stop() == 0
    assert len(node.intents()) >= 8
    node.start()
    wait(lambda: not node.intents(), 30, lambda: node.intents())
    assert len([line for line in node.trace() if line.startswith("end container_start")]) == 12
    node.stop()
    raw.close()


def queue_deleted_under_us():
    node = Node.get()
    raw = Raw()
    for queue in ("zun-compute." + HOST, "zun-compute"):
        node.mark()
        raw.channel.queue_delete(queue)
        started = time.monotonic()
        node.wait_log("cancelled its consumer", 5)
        wait(lambda: consumers(raw, queue) > 0, 10, "consumed again")
        assert time.monotonic() - started < 10
    assert Client().show("again") == "again"
    raw.close()


def consumers(raw, queue):
    try:
        return raw.depth(queue)[1]
    except Exception:  # closed by the passive declare of what is not there
        raw.channel = raw.connection.channel()
        return 0


def binding_lost_is_bound_again():
    """Nobody tells us of a lost binding: the check each minute finds it."""
    node = Node.get()
    raw = Raw()
    raw.channel.queue_unbind("zun-compute." + HOST, "zun", "zun-compute." + HOST)
    wait(lambda: answers("bound"), 75, "bound again")
    assert node.process.poll() is None
    raw.close()


def answers(name, host=HOST):
    try:
        return Client(timeout=1).show(name, server=host) == name
    except oslo_messaging.MessagingTimeout:
        return False


def other_properties_are_a_state_of_their_own():
    """Known-faults F09: 406 is said once, the other queues live, it heals, nothing is deleted."""
    raw = Raw()
    raw.channel.queue_declare("zun-compute.other", durable=True, auto_delete=False)
    raw.publish("keep me", exchange="", key="zun-compute.other")
    node = Dispatcher("fault", host="other").start(wait="the broker refuses it")
    assert "durable" in node.text()
    time.sleep(6)
    assert node.text().count("refuses it") == 1, node.text()
    assert raw.depth("zun-compute.other")[0] == 1
    raw.channel.queue_delete("zun-compute.other")
    node.wait_log("ready: consuming", 30)
    assert Client().show("healed", server="other") == "healed"
    assert node.stop() == 0
    raw.channel.exchange_declare("odd-exchange", "topic", durable=True, auto_delete=False)
    node = Dispatcher("odd", host="odd", default="control_exchange = odd-exchange").start()
    assert "used as it is" in node.text()
    raw.publish(envelope(request("container_start", uuid=str(uuids.uuid4()))), exchange="odd-exchange",
                key="zun-compute.odd")
    node.wait_trace("end container_start")
    assert node.stop() == 0
    raw.close()


def broker_restarted():
    node = Node.get()
    node.mark()
    shell("rabbitmqctl_lab stop_app")
    node.wait_log("not consumed for now", 20)
    heartbeats = len([line for line in node.trace() if line == "heartbeat"])
    shell("sleep 12; rabbitmqctl_lab start_app; rabbitmqctl_lab await_startup")
    # Known-faults F02: whoever cannot hear the bus is not there.
    assert len([line for line in node.trace() if line == "heartbeat"]) - heartbeats <= 1
    node.wait_log("consuming again", 40)
    wait(lambda: answers("back"), 40, "answered")


def broker_frozen():
    """A broker that is stopped in its tracks is noticed by the heartbeat, and found again."""
    node = Node.get()
    node.mark()
    with open(os.path.join(LAB, "rabbitmq.pid"), encoding="ascii") as file:
        session = int(file.read())
    os.killpg(session, signal.SIGSTOP)
    try:
        started = time.monotonic()
        node.wait_log("not heard for two heartbeats", 14)
        assert time.monotonic() - started > 4
    finally:
        os.killpg(session, signal.SIGCONT)
    node.wait_log("consuming again", 40)
    wait(lambda: answers("thawed"), 40, "answered")


def poison_ends_two_workers_and_no_more():
    node = Node.get()
    node.mark()
    raw = Raw()
    raw.publish(envelope(request(name="kill-the-classifier")))
    node.wait_log("it ended two workers: refused, kept in the poison folder")
    assert node.text().count("ended by signal 6") == 2, node.text()
    assert Client().show("alive") == "alive"
    folder = os.path.join(node.state, "poison")
    kept = os.listdir(folder)
    assert len(kept) == 1 and os.stat(os.path.join(folder, kept[0])).st_mode & 0o777 == 0o600
    assert not node.intents()
    # A call whose worker dies twice gets a failure, a cast is abandoned, one that dies once is run again.
    queue = raw.reply_queue()
    raw.publish(envelope(request(name="die-always", reply=queue)))
    assert "ended the process" in inner_of(raw.get(queue))["failure"]
    once = request("container_start", name="die-once")
    uuid = once["args"]["container"]["zun_object.data"]["uuid"]
    raw.publish(envelope(once))
    node.wait_trace(f"end container_start {uuid}")
    always = request("container_start", name="die-always")
    uuid = always["args"]["container"]["zun_object.data"]["uuid"]
    raw.publish(envelope(always))
    node.wait_trace(f"abandon {uuid}")
    wait(lambda: not node.intents(), 10, lambda: node.intents())
    silent = request(name="silent", reply=queue)
    raw.publish(envelope(silent))
    assert "no result" in inner_of(raw.get(queue))["failure"]
    unstored = request("container_start", name="unstored-once")
    uuid = unstored["args"]["container"]["zun_object.data"]["uuid"]
    raw.publish(envelope(unstored))
    wait(lambda: len([line for line in node.trace() if line.startswith(f"end container_start {uuid}")]) == 2, 10, "twice")
    raw.close()


def gone_callers_hold_up_nobody():
    """Known-faults F08: 200 replies to queues that do not exist, and a good one."""
    node = Node.get()
    node.mark()
    raw = Raw()
    for i in range(200):
        raw.publish(envelope(request(reply=f"reply_gone_{i:03d}")))
    started = time.monotonic()
    assert Client().show("good") == "good"
    assert time.monotonic() - started < 1.5
    late = "reply_" + uuids.uuid4().hex
    raw.publish(envelope(request(name="late", reply=late)))
    time.sleep(3)
    raw.channel.queue_declare(late, auto_delete=False)
    assert inner_of(raw.get(late, 3))["result"] == "late"
    for _ in range(5):
        started = time.monotonic()
        assert Client().show("good") == "good"
        assert time.monotonic() - started < 1.5
    node.wait_log("reply queue reply_gone_000: does not exist", 70)
    wait(lambda: node.text().count("does not exist") >= 200, 10, lambda: node.text().count("does not exist"))
    node.mark()
    raw.publish(envelope(request(reply="reply_gone_000")))
    assert Client().show("good") == "good"
    raw.close()


def blocked_broker_stalls_nothing():
    """Known-faults F03: replies wait, consuming and work go on, all arrive when the alarm is over."""
    node = Node.get()
    raw = Raw()
    queue = raw.reply_queue()
    messages = [request(name=f"ms=1500 blocked{i}", reply=queue) for i in range(8)]
    casts = [request("container_start", name="ms=1500 ") for _ in range(4)]
    for message in messages + casts:
        raw.publish(envelope(message))
    wait(lambda: raw.depth()[0] == 0, 5, "taken")
    node.mark()
    shell("rabbitmqctl_lab set_vm_memory_high_watermark 0.0001")
    try:
        for cast in casts:
            node.wait_trace("end container_start " + cast["args"]["container"]["zun_object.data"]["uuid"])
        node.wait_log("takes no messages for now")
        wait(lambda: len([line for line in node.trace() if line == "heartbeat"]) > 0, 10, "the heartbeat goes on")
        time.sleep(9)
        assert "not heard" not in node.text() and "closed" not in node.text(), node.text()
    finally:
        shell("rabbitmqctl_lab set_vm_memory_high_watermark 0.4")
    seen = set()
    while len(seen) < len(messages):
        message = raw.get(queue, 15)
        assert message, f"only {len(seen)} of {len(messages)}"
        seen.add(inner_of(message)["result"])
    raw.close()


def too_large_a_reply_is_a_failure():
    """Known-faults F10: the broker's own limit closes the channel; the caller learns of it, the others get theirs."""
    shell("rabbitmqctl_lab eval 'application:set_env(rabbit, max_message_size, 1000000).'")
    try:
        node = Dispatcher("large", host="large").start()
        client = Client()
        client.show("warm", server="large")  # the library makes some parts at the first call, not for two threads at once
        results = {}

        def ask(name):
            try:
                results[name] = client.show(name, server="large")
            except Exception as error:  # ZunException of the peer, as the client's library makes it anew
                results[name] = type(error).__name__ + " " + str(error)

        threads = [threading.Thread(target=ask, args=(name,)) for name in ["a", "big=2000000 ", "b", "c", "big=20000000 "]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results["a"] == "a" and results["b"] == "b" and results["c"] == "c", results
        for name in ["big=2000000 ", "big=20000000 "]:  # the broker's limit, and ours
            assert "ZunException" in results[name] and "larger than max_reply_bytes" in results[name], results[name][:300]
        assert node.stop() == 0
    finally:
        shell("rabbitmqctl_lab eval 'application:set_env(rabbit, max_message_size, 134217728).'")


def signs_of_life():
    Node.get()
    raw = Raw()
    queue = raw.reply_queue()
    raw.publish(envelope(request(name="sleep=4 ", reply=queue, _timeout=2)))
    seen = []
    while not seen or not seen[-1]["ending"]:
        seen.append(inner_of(raw.get(queue)))
    assert 3 <= len(seen) - 1 <= 4 and all(m["result"] is None and m["failure"] is None for m in seen[:-1]), seen
    assert len({m["_unique_id"] for m in seen}) == len(seen)
    assert Client(timeout=8).show("sleep=5 ", monitor=4) == "sleep=5 "
    raw.close()


def killed_publisher_loses_nothing():
    node = Node.get()
    raw = Raw()
    queue = raw.reply_queue()
    names = [f"r{i}" for i in range(60)]
    for i, name in enumerate(names):
        raw.publish(envelope(request(name="ms=5 " + name, reply=queue)))
        if i % 20 == 10:
            os.kill(publisher_of(node), signal.SIGKILL)
    seen = set()
    while len(seen) < len(names):
        message = raw.get(queue, 15)
        assert message, f"only {len(seen)} of {len(names)}"
        seen.add(inner_of(message)["result"])
    raw.close()


def publisher_of(node):
    """The child with a connection to the broker."""
    for pid in node.children():
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                if "eventpoll" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                    return pid
            except FileNotFoundError:
                pass
    time.sleep(0.3)
    return publisher_of(node)


def recovery_comes_before_messages():
    node = Dispatcher("recover", host="recover")
    rows = sorted(str(uuids.uuid4()) for _ in range(5))
    node.start()
    raw = Raw()
    casts = [request("container_start", name="sleep=1 ", uuid=rows[0]) for _ in range(3)]
    for cast in casts:
        raw.publish(envelope(cast), key="zun-compute.recover")
    wait(lambda: len(node.intents()) == 3, 5, lambda: node.intents())
    node.kill()
    # A torn intent and a temporary file are no hindrance.
    with open(os.path.join(node.state, "intents", "0000000000000001-0"), "w", encoding="ascii") as file:
        file.write("{garbage\n")
    with open(os.path.join(node.state, "rows"), "w", encoding="ascii") as file:
        file.write("".join(uuid + "\n" for uuid in rows))
    raw.publish(envelope(request("container_stop", name="new", uuid=rows[0])), key="zun-compute.recover")
    os.unlink(os.path.join(node.state, "trace"))
    node.start()
    node.wait_trace(f"end container_stop {rows[0]}")
    lines = node.trace()
    assert lines.count("page 2") == 2 and lines.count("page 1") == 1, lines
    assert f"recover {rows[0]}" not in lines, "an intent is finished by itself"
    for uuid in rows[1:]:
        assert lines.count(f"recover {uuid}") == 1, lines
    mine = [line.split()[:2] for line in lines if rows[0] in line]
    assert mine == [["begin", "container_start"], ["end", "container_start"]] * 3 + \
        [["begin", "container_stop"], ["end", "container_stop"]], mine
    wait(lambda: not node.intents(), 10, lambda: node.intents())
    assert node.stop() == 0
    raw.close()


def kill_minus_nine_loses_no_cast():
    node = Dispatcher("nine", host="nine").start()
    raw = Raw()
    casts = []
    for i in range(40):
        cast = request("container_start", name="ms=10 ")
        casts.append(cast["args"]["container"]["zun_object.data"]["uuid"])
        raw.publish(envelope(cast), key="zun-compute.nine")
        if i % 10 == 9:
            time.sleep(0.02 * (i // 10))
            node.kill()
            node.start()
    for uuid in casts:
        node.wait_trace(f"end container_start {uuid}")
    wait(lambda: not node.intents(), 10, lambda: node.intents())
    assert node.stop() == 0
    raw.close()


def stop_lets_running_jobs_finish():
    node = Dispatcher("stop", host="stop").start()
    raw = Raw()
    queue = raw.reply_queue()
    raw.publish(envelope(request(name="sleep=3 ", reply=queue)), key="zun-compute.stop")
    uuids_ = []
    for _ in range(2):
        cast = request("container_start", name="sleep=3 ")
        uuids_.append(cast["args"]["container"]["zun_object.data"]["uuid"])
        raw.publish(envelope(cast), key="zun-compute.stop")
    behind = request("container_stop", uuid=uuids_[0])
    raw.publish(envelope(behind), key="zun-compute.stop")
    wait(lambda: len([line for line in node.trace() if line.startswith("begin")]) == 3, 10, lambda: node.trace())
    fanout = [name for name in queues() if name.startswith("zun-compute_fanout_")]
    started = time.monotonic()
    node.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    raw.publish(envelope(request("container_start", name="late")), key="zun-compute.stop")
    assert node.process.wait(20) == 0
    assert 2 < time.monotonic() - started < 8
    assert inner_of(raw.get(queue))["result"] == "sleep=3 "
    lines = node.trace()
    for uuid in uuids_:
        assert f"end container_start {uuid}" in lines
    assert not [line for line in lines if line.startswith("begin container_stop")], "no cast begins after the signal"
    assert len(node.intents()) == 1
    assert raw.depth("zun-compute.stop") == (1, 0), "what came later waits for the next start"
    left = [name for name in queues() if name.startswith("zun-compute_fanout_")]
    assert len(left) == len(fanout) - 1, (fanout, left)
    assert not node.children()
    node.start()
    node.wait_trace(f"end container_stop {uuids_[0]}")
    node.stop()
    raw.close()


def queues():
    import subprocess
    out = subprocess.run(["bash", "-c", f". {os.path.dirname(os.path.abspath(__file__))}/../lab/services.sh; "
                          "rabbitmqctl_lab list_queues name"], check=True, capture_output=True, text=True, env=os.environ)
    return out.stdout.split()


def hosts_in_turn():
    """A dead host, one that says nothing, one that speaks another protocol: the fourth is used."""
    import socket
    silent, http = socket.socket(), socket.socket()
    for server in (silent, http):
        server.bind(("127.0.0.1", 0))
        server.listen(8)

    def greet():
        while True:
            try:
                peer, _ = http.accept()
            except OSError:
                return
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            peer.close()

    threading.Thread(target=greet, daemon=True).start()
    parts = [f"guest:guest@127.0.0.1:{port}" for port in
             (1, silent.getsockname()[1], http.getsockname()[1], 5672)]
    node = Dispatcher("hosts", url="rabbit://" + ",".join(parts) + "/", host="hosts").start(seconds=40)
    wait(lambda: answers("found", "hosts"), 30, "answered: the publisher's turns are its own")
    assert node.stop() == 0
    silent.close()
    http.close()


def wrong_password_is_said():
    node = Dispatcher("password", url="rabbit://guest:wr0ng-secret@127.0.0.1:5672/", host="password").start(
        wait="ACCESS_REFUSED")
    assert "wr0ng" not in node.text()
    node.kill()


def idle_and_memory():
    """Workers beyond the least go; four and the publisher stay."""
    node = Dispatcher("idle", host="idle").start()
    time.sleep(1)
    assert len(node.children()) == 5, node.children()
    total = 0
    for pid in [node.process.pid] + node.children():
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    print(f"     dispatcher, publisher and 4 workers of straw: PSS {total / 1024:.1f} MiB")
    assert total < 15 * 1024
    assert node.stop() == 0


TESTS = [call_is_answered, cast_runs_and_leaves_no_intent, failure_has_its_class, beside_an_oslo_server,
         options_change_the_declarations, duplicate_is_answered_again_and_not_run, what_is_no_message_is_rejected,
         oversized_is_refused, large_messages_and_replies_pass, order_on_a_strand, calls_go_first, queue_deleted_under_us,
         other_properties_are_a_state_of_their_own, poison_ends_two_workers_and_no_more, signs_of_life,
         killed_publisher_loses_nothing, recovery_comes_before_messages, kill_minus_nine_loses_no_cast,
         stop_lets_running_jobs_finish, hosts_in_turn, wrong_password_is_said, idle_and_memory,
         too_large_a_reply_is_a_failure, blocked_broker_stalls_nothing, gone_callers_hold_up_nobody,
         binding_lost_is_bound_again, broker_frozen, broker_restarted]


def main():
    report = Report(sys.argv[1:])
    for test in TESTS:
        report.run(test.__name__.replace("_", " "), test)
    if Node.now and Node.now.process.poll() is None:
        report.run("ends in good order", lambda: Node.now.stop() == 0 or 1 / 0)
    sys.exit(1 if report.failed else 0)


main()
