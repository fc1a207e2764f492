#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the agent's replies to the real oslo.messaging and looks at what it makes of them.  No broker is needed.
    envelope_peer.py PRINT_REPLIES"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../peer"))
import oslo_messaging  # noqa: E402
from oslo_messaging._drivers import amqp, common  # noqa: E402
from zun.common import exception  # noqa: E402

ALLOWED = ["zun.common.exception"]
bad = 0


def test(name, good, seen):
    global bad
    bad += not good
    print(f"PASS {name}" if good else f"FAIL {name}: {seen!r}", flush=True)


bodies = dict(line.split(" ", 1) for line in
              subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines())
inner = {}
for case, body in bodies.items():
    inner[case] = common.deserialize_msg(json.loads(body))
    test(f"{case}: the envelope is oslo.messaging's", set(inner[case]) == {"result", "failure", "ending", "_msg_id", "_unique_id"}
         and inner[case]["_msg_id"] == "0" * 31 + "1" and inner[case]["ending"] is (case != "heartbeat"), inner[case])
    test(f"{case}: the body is ASCII", body.isascii(), body)

ours = common.serialize_msg(dict(inner["object"]))
test("serialising again gives the same text", json.loads(ours["oslo.message"]) == inner["object"] and
     ours["oslo.version"] == json.loads(bodies["object"])["oslo.version"], ours)
test("null", inner["null"]["result"] is None, inner["null"])
test("object", inner["object"]["result"] == {"a": [1, 2.5, None, True, 'x"\\/\n'], "b": {}}, inner["object"])
test("unicode", inner["unicode"]["result"] == "grüß 😀 \0 \x7f", inner["unicode"])
test("bytes that are no UTF-8", inner["bytes"]["result"] == "a \ufffd b", inner["bytes"])


def rebuilt(case):
    return common.deserialize_remote_exception(inner[case]["failure"], ALLOWED)


def raises(case, kind, text, code=None):
    """The class and the text that zun-api goes on with; the class stands for the HTTP status."""
    error = rebuilt(case)
    good = isinstance(error, kind) and type(error).__name__ == kind.__name__ + "_Remote" and str(error) == text + "\n" and \
        type(error).code == code and error.args == (text,)
    test(f"{case} is raised as {kind.__name__}", good, (type(error), str(error), error.args))


raises("conflict", exception.Conflict, "Timeout on executing command: ls", 409)
raises("percent", exception.DockerError, "Docker internal error: no such path /a%2Fb%3A 100% %(x)s %s %.", 500)
raises("quotes", exception.Invalid, "\"a\" \\ 'b'\n\tä € 😀", 400)
raises("not-found", exception.ContainerNotFound, "Container x could not be found.", 404)
raises("broken", exception.ZunException, "Unexpected error: \ufffd\ufffd", 500)
error = rebuilt("too-large")
test("too-large names the limit", isinstance(error, exception.Invalid) and "max_reply_bytes allows 4000" in str(error), str(error))
for case, kind, text in [("value-error", ValueError, "Field `cpu' of Container: 100%"),
                         ("key-error", KeyError, "'zun_object.data'"),
                         ("type-error", TypeError, "attribute name must be string")]:
    error = rebuilt(case)
    test(f"{case} is raised as {kind.__name__}", type(error) is kind and error.args == (text + "\n",), (type(error), error.args))
for case, kind, text in [("no-such-method", "NoSuchMethod", "Endpoint does not support RPC method x%"),
                         ("object-version", "IncompatibleObjectVersion",
                          "Version 9.9 of Container is not supported, supported version is 1.44")]:
    error = rebuilt(case)
    test(f"{case} is raised as RemoteError", type(error) is oslo_messaging.RemoteError and error.exc_type == kind and
         error.value == text, (type(error), str(error)))

cache = amqp._MsgIdCache() if hasattr(amqp, "_MsgIdCache") else None
if cache:
    cache.check_duplicate_message(dict(inner["object"]))
    print("PASS the unique id is one that oslo.messaging remembers", flush=True)
sys.exit(1 if bad else 0)
