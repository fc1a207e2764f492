#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A message broker that lies: at every point of the protocol, to consumer and publisher.  The processes live, leak
nothing, and work as soon as the broker does.
    KEELSON_BUILD=build-folder tests/real/lab/lab --with "" -- tests/real/bus/test_hostile_broker.py [SECONDS]"""
import os
import random
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from buslab import Dispatcher, Report, envelope, json, request, wait  # noqa: E402

PROTOCOL = b"AMQP\0\0\x09\x01"


def frame(kind, channel, payload, size=None, end=b"\xce"):
    return struct.pack(">BHI", kind, channel, len(payload) if size is None else size) + payload + end


def method(channel, class_id, method_id, arguments=b""):
    return frame(1, channel, struct.pack(">HH", class_id, method_id) + arguments)


def short(text):
    return bytes([len(text)]) + text


def start(properties=b"", mechanisms=b"AMQPLAIN PLAIN"):
    return method(0, 10, 10, b"\0\x09" + struct.pack(">I", len(properties)) + properties +
                  struct.pack(">I", len(mechanisms)) + mechanisms + b"\0\0\0\x05en_US")


def tune(channels=2047, size=131072, heartbeat=60):
    return method(0, 10, 30, struct.pack(">HIH", channels, size, heartbeat))


def deliver(channel, tag, body, announced=None, content_type=b"application/json", pieces=1):
    out = method(channel, 60, 60, short(b"x") + struct.pack(">QB", tag, 0) + short(b"zun") + short(b"key"))
    out += frame(2, channel, struct.pack(">HHQH", 60, 0, len(body) if announced is None else announced, 0x8000) +
                 short(content_type))
    step = max(1, -(-len(body) // pieces))
    for at in range(0, len(body), step):
        out += frame(3, channel, body[at:at + step])
    return out


class Peer:
    """One connection, answered as a broker would; mutate(n, bytes) may change what is sent n-th."""

    def __init__(self, connection, mutate=lambda n, data: data, established=None):
        self.connection = connection
        self.mutate = mutate
        self.established = established
        self.sent = 0
        self.data = b""
        self.published = []
        self.consumers = 0
        self.confirms = False
        self.acks = 0

    def send(self, data):
        self.connection.sendall(self.mutate(self.sent, data))
        self.sent += 1

    def read(self, size):
        while len(self.data) < size:
            more = self.connection.recv(65536)
            if not more:
                raise EOFError
            self.data += more
        out, self.data = self.data[:size], self.data[size:]
        return out

    def serve(self):
        if self.read(8) != PROTOCOL:
            raise AssertionError("no protocol header")
        self.send(start())
        while True:
            kind, channel, size = struct.unpack(">BHI", self.read(7))
            payload = self.read(size)
            if self.read(1) != b"\xce" or size > 131072:
                raise AssertionError("the client's frame is malformed")
            if kind == 1:
                self.answer(channel, struct.unpack(">HH", payload[:4]), payload[4:])
            elif kind == 3:
                self.published.append(payload)
                self.send(method(channel, 60, 80, struct.pack(">QB", len(self.published), 0)))

    def answer(self, channel, called, arguments):
        simple = {(20, 10): (20, 11, b"\0\0\0\0"), (40, 10): (40, 11, b""), (50, 20): (50, 21, b""), (60, 10): (60, 11, b""),
                  (85, 10): (85, 11, b""), (20, 40): (20, 41, b""), (10, 40): (10, 41, b"\0"), (10, 50): (10, 51, b""),
                  (50, 40): (50, 41, b"\0\0\0\0"), (60, 30): (60, 31, b"\1x"),
                  (50, 10): (50, 11, short(b"q") + struct.pack(">II", 0, 1))}
        if called == (10, 11):
            self.send(tune())
        elif called == (60, 20):
            self.send(method(channel, 60, 21, short(b"x")))
            self.consumers += 1
            if self.consumers == 3 and self.established:
                self.established(self)
        elif called in ((60, 80), (60, 90)):
            self.acks += 1
        elif called in simple:
            self.confirms = self.confirms or called == (85, 10)
            self.send(method(channel, *simple[called]))


class Broker:
    """Gives each connection the next case, then behaves."""

    def __init__(self, cases):
        self.cases = list(cases)
        self.seen = 0
        self.problems = []
        self.good = []
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            case = self.cases.pop(0) if self.cases else None
            threading.Thread(target=self.serve, args=(connection, case), daemon=True).start()

    def serve(self, connection, case):
        connection.settimeout(20)
        try:
            if case:
                case(connection)
            else:
                connection.settimeout(None)
                peer = Peer(connection)
                self.good.append(peer)
                peer.serve()
        except (OSError, EOFError):
            pass
        except AssertionError as error:
            self.problems.append(str(error))
        finally:
            self.seen += 1
            try:
                connection.close()
            except OSError:
                pass


def raw(data, keep=0.0):
    """Sends just that."""
    def case(connection):
        connection.sendall(data)
        time.sleep(keep)
    return case


def lies_at_login():
    deep = b"A\0\0\xff\xff" * 24000
    yield raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    yield raw(b"SSH-2.0-OpenSSH_9.2\r\n")
    yield raw(b"AMQP\0\0\x08\0")
    yield raw(os.urandom(4096))
    yield raw(b"")
    yield raw(start(properties=deep) + tune())
    yield raw(start(mechanisms=b"") + tune())
    yield raw(start(mechanisms=b"SCRAM " * 1000) + tune())
    yield raw(frame(1, 0, b"\0\x0a\0\x0a", size=0x7fffffff))
    yield raw(frame(1, 0, b"", size=0))
    yield raw(frame(1, 0, b"\0"))
    yield raw(start()[:-1])
    yield raw(start()[:-1] + b"\0")
    for arguments in ({"size": 1}, {"size": 8}, {"size": 4095}, {"size": 0xffffffff}, {"channels": 1}, {"channels": 0},
                      {"heartbeat": 1}, {"heartbeat": 0}):
        yield raw(start() + tune(**arguments))
    yield raw(start() + method(0, 10, 50, struct.pack(">H", 403) + short(b"ACCESS_REFUSED") + b"\0\0\0\0"))
    yield raw(start() + start())
    yield raw(start() + tune() + method(0, 10, 41, b"\0") + method(0, 10, 41, b"\0"))
    yield raw(start() + method(7, 60, 60, b""))
    yield raw(start() + tune() + method(0, 10, 41, b"\0") + frame(8, 0, b"") * 100000)


def lies_when_established():
    body = json.dumps(envelope(request())).encode()
    tests = [deliver(1, 1, body, announced=len(body) - 1), deliver(1, 1, body, announced=1 << 63),
             deliver(1, 1, b"", announced=1), deliver(1, 1, body, pieces=len(body)), deliver(9, 1, body),
             deliver(1, 1, body) * 400, frame(2, 1, bytes(14)), frame(3, 1, b"x"), frame(2, 1, bytes(13)),
             deliver(1, 1, body, content_type=b"x" * 255), deliver(1, 1, body, announced=(16 << 20) + 1)[:200],
             method(1, 60, 30, short(b"x") + b"\1") * 50, method(1, 20, 40, struct.pack(">H", 406) + short(b"no") + b"\0\0\0\0"),
             method(1, 20, 20, b"\0"), method(1, 60, 50, b""), method(1, 50, 10, b"\0" * 20), method(0, 10, 60, short(b"mem")),
             method(0, 10, 61), method(0, 10, 50, b""), method(1, 60, 60, b"\xff"), method(65535, 20, 11, b"\0\0\0\0"),
             frame(8, 3, b"xyz"), frame(4, 0, b""), deliver(2, 1, os.urandom(70000), pieces=3),
             deliver(1, 1, body)[:-3] + deliver(2, 2, body), method(1, 60, 60, short(b"x") + bytes(8)) * 3]
    def lie(data):
        def case(connection):
            connection.settimeout(1.5)  # some of them harm nothing: then it is for us to go on
            Peer(connection, established=lambda peer: peer.send(data)).serve()
        return case
    for data in tests:
        # The publisher takes a turn now and then, and never gets that far.
        yield lie(data)
        yield lie(data)


def random_lies(seed):
    """A whole session with one thing wrong, anywhere."""
    def case(connection):
        chance = random.Random(seed)
        at = chance.randrange(24)

        def mutate(n, data):
            if n != at:
                return data
            data = bytearray(data)
            how = chance.randrange(7)
            if how == 0:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            elif how == 1:
                del data[chance.randrange(len(data)):]
            elif how == 2:
                data[3:7] = struct.pack(">I", chance.choice([0, 1, 3, 4, 131064, 131065, 1 << 31, 0xffffffff]))
            elif how == 3:
                data += os.urandom(chance.randrange(1, 400))
            elif how == 4:
                data[1:3] = struct.pack(">H", chance.choice([0, 1, 2, 3, 4, 2047, 65535]))
            elif how == 5:
                data[7:11] = struct.pack(">HH", chance.choice([0, 10, 20, 40, 50, 60, 85, 90]), chance.randrange(0, 121))
            else:
                data *= 2
            return bytes(data)

        def messages(peer):
            for tag in range(1, 5):
                peer.send(deliver(chance.randrange(1, 4), tag, json.dumps(envelope(request())).encode(), pieces=2))
        connection.settimeout(2)
        Peer(connection, mutate, messages).serve()
    return case


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def run_cases(name, cases, seconds):
    broker = Broker(cases)
    total = len(broker.cases)
    url = "rabbit://" + ",".join([f"guest:guest@127.0.0.1:{broker.port}"] * 8) + "/"
    node = Dispatcher("hostile-" + name, url=url,
                      rabbit="rabbit_interval_max = 1\nrabbit_retry_backoff = 0\nheartbeat_timeout_threshold = 60")
    node.start(wait=None)
    wait(lambda: not broker.cases or node.process.poll() is not None, seconds,
         lambda: f"{len(broker.cases)} of {total} cases are left\n{node.text()[-1500:]}")
    assert node.process.poll() is None, node.text()[-3000:]
    wait(lambda: any(peer.consumers == 3 for peer in broker.good) and any(peer.confirms for peer in broker.good), 40,
         lambda: node.text()[-1500:])
    node.wait_log("ready: consuming", 5)
    peer = next(peer for peer in broker.good if peer.consumers == 3)
    peer.connection.sendall(deliver(2, 1, json.dumps(envelope(request(name="works", reply="reply_x"))).encode()))
    wait(lambda: any(b"works" in body for other in broker.good for body in other.published), 40,
         lambda: "a reply: " + node.text()[-1500:])
    assert not broker.problems, broker.problems[:3]
    log = node.text()
    for pid in [node.process.pid] + node.children():
        assert descriptors(pid) < 80, (pid, descriptors(pid))  # a burst makes up to 32 workers, for a minute
        limit = 150 if "san" in os.environ.get("KEELSON_BUILD", "") else 20
        assert resident(pid) < limit * 1024, (pid, resident(pid))
    assert "ended by signal" not in log and "Sanitizer" not in log, log[-3000:]
    assert node.stop() == 0, node.text()[-2000:]


def silence_is_given_up():
    """Known-faults F04: accepted, and then nothing, at each of the first steps."""
    def quiet_after(data):
        def case(connection):
            connection.sendall(data)
            time.sleep(15)
        return case
    broker = Broker([quiet_after(b"")] * 2)
    node = Dispatcher("silence", url=f"rabbit://guest:guest@127.0.0.1:{broker.port}/")
    started = time.monotonic()
    node.start(wait="no login within 10 s", seconds=14)
    assert time.monotonic() - started >= 9
    node.wait_log("ready: consuming", 10)
    assert node.stop() == 0


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    report = Report([])
    report.run("lies at login", lambda: run_cases("login", lies_at_login(), 60))
    report.run("lies when established", lambda: run_cases("established", lies_when_established(), 120))
    first = int(time.time()) if len(sys.argv) > 2 else 1
    report.run("random lies", lambda: run_cases("random", [random_lies(first + n) for n in range(seconds * 6)], seconds * 6))
    report.run("silence is given up", silence_is_given_up)
    sys.exit(1 if report.failed else 0)


main()
