#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TLS to RabbitMQ and PostgreSQL: chain and name are verified, and nothing is sent to who cannot prove itself."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from zunlab import LAB, Client, Container, Node, Report, settled, wait_row  # noqa: E402

RABBIT = "ssl = true\nssl_ca_file = {ca}\n"


def node(name, host="localhost", ca="ca", db_ca="ca", more="", db_host="localhost"):
    rabbit = RABBIT.format(ca=f"{LAB}/tls/{ca}.pem") + more
    made = Node(name, rabbit=rabbit, amqp=f"rabbit://guest:guest@{host}:5671/")
    with open(made.conf, encoding="utf-8") as file:
        text = file.read()
    made.write(made.conf, text.replace("@127.0.0.1:5432/zun",
                                       f"@{db_host}:5432/zun?sslmode=verify-full&sslrootcert={LAB}/tls/{db_ca}.pem"), 0o640)
    os.chown(made.conf, 0, 61801)
    return made


def verified_peers_are_used():
    here = node("tls").start()
    container = Container().insert()
    Client().create(container)
    wait_row(container.uuid, settled("Running"))
    assert here.stop() == 0


def refused(here, words):
    here.start(wait=False)
    try:
        here.wait_log(words, seconds=30)
        assert "ready: consuming" not in here.text()
    finally:
        here.stop()


def unknown_authority_is_refused():
    refused(node("tls-ca", ca="other-ca"), "certificate")


def wrong_name_is_refused():
    refused(node("tls-name", host="wrong.test"), "ertificate")


def wrong_name_is_taken_only_when_the_file_says_so():
    here = node("tls-off", host="wrong.test", more="ssl_enforce_hostname_verification = false\n").start()
    assert "warning" in here.text() and "ssl_enforce_hostname_verification" in here.text()
    assert here.stop() == 0


def database_of_unknown_authority_is_refused():
    here = node("tls-db", db_ca="other-ca").start(wait=False)
    try:
        here.wait_log("certificate", seconds=40)
        assert "zunpass" not in here.text()
    finally:
        here.stop()


def main():
    report = Report()
    for test in [verified_peers_are_used, unknown_authority_is_refused, wrong_name_is_refused,
                 wrong_name_is_taken_only_when_the_file_says_so, database_of_unknown_authority_is_refused]:
        report.run(test.__name__, test)
    report.end()


main()
