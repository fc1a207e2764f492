#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes zun.conf files, sane and odd ones, and compares what the agent reads with what the real oslo.config and
oslo.messaging read.  Random files come from a seed that is printed.
    config_peer.py PRINT_CONFIG [COUNT [SEED]]"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings

warnings.simplefilter("ignore")
from oslo_config import cfg  # noqa: E402
from oslo_messaging import transport  # noqa: E402
from oslo_messaging._drivers import impl_rabbit  # noqa: E402

OPTIONS = [
    (None, cfg.StrOpt("state_path", default="/var/lib/zun")),
    (None, cfg.StrOpt("floating_cpu_set", default="")),
    (None, cfg.ListOpt("image_driver_list", default=["glance", "docker"])),
    (None, cfg.BoolOpt("debug", default=False)),
    (None, cfg.IntOpt("sync_container_state_interval", default=60, max=86400)),
    (None, cfg.StrOpt("sandbox_image", default="kubernetes/pause")),
    (None, cfg.StrOpt("log_dir")),
    (None, cfg.IntOpt("executor_thread_pool_size", default=64, min=1, deprecated_name="rpc_thread_pool_size")),
    ("docker", cfg.StrOpt("default_registry")),
    ("docker", cfg.IntOpt("default_timeout", default=60)),
    ("compute", cfg.FloatOpt("reserve_disk_for_image", default=0.2, min=0, max=1)),
    ("network", cfg.StrOpt("driver", default="kuryr")),
]
FIXED = [
    "", "[DEFAULT]\n", "[DEFAULT]\nstate_path=/a\n", "[DEFAULT]\nstate_path : /a = b\n", "[DEFAULT]\nstate_path = a:b\n",
    "[DEFAULT]\r\nstate_path=/a\r\n\r\n", "[DEFAULT]\nstate_path=/a # b\n", "[DEFAULT]\nstate_path=\"/a b\"\n",
    "[DEFAULT]\nstate_path=\"/a'\n", "[DEFAULT]\nstate_path=\"\n", "[DEFAULT]\nstate_path=/a\n  /b\n\t/c  \n",
    "[DEFAULT]\nstate_path=\n  /b\n", "[DEFAULT]\nstate_path=/a\n # c\n", "[DEFAULT]\nstate_path=/a\n\n /b\n",
    "[DEFAULT]\nstate_path=/a\n#\n /b\n", "[DEFAULT]\nstate_path=/a\nstate_path=/b\n", "[default]\nstate_path=/a\n",
    "[Docker]\ndefault_registry=a\n[DOCKER]\ndefault_registry=b\n", "[ docker ]\ndefault_registry=a\n", "state_path=a\n",
    "[DEFAULT\n", "[]\n", "[DEFAULT] #\n", "[DEFAULT]\n=a\n", "[DEFAULT]\nstate_path\n", " [DEFAULT]\n",
    "[DEFAULT]\nstate_path=$sandbox_image-${sandbox_image}.x\n", "[DEFAULT]\nstate_path=$network.driver\n[network]\ndriver=t-$sandbox_image\n",
    "[DEFAULT]\nstate_path=$$sandbox_image\\$sandbox_image$\n", "[DEFAULT]\nstate_path=$nosuch\n", "[DEFAULT]\nstate_path=$nogroup.x\n",
    "[DEFAULT]\nstate_path=$log_dir.\n", "[DEFAULT]\nstate_path=a$log_dir|\n", "[DEFAULT]\nstate_path=$state_path\n",
    "[docker]\ndefault_registry=$default_timeout\ndefault_timeout=7\n", "[docker]\ndefault_registry=$sandbox_image\n",
    "[DEFAULT]\nstate_path=$1 ${ ${sandbox_image $ {host}\n", "[DEFAULT]\nstate_path=$SANDBOX_IMAGE\n",
    "[DEFAULT]\nimage_driver_list = a ,\n b,, c,\n", "[DEFAULT]\nimage_driver_list=\n", "[DEFAULT]\nimage_driver_list=\"a,b\",c\n",
    "[DEFAULT]\ndebug=maybe\n", "[DEFAULT]\ndebug=\n", "[DEFAULT]\ndebug=\" on\"\n", "[DEFAULT]\ndebug=TRUE\n", "[DEFAULT]\ndebug=0\n",
    "[DEFAULT]\nsync_container_state_interval= +5 \n", "[DEFAULT]\nsync_container_state_interval=-7\n",
    "[DEFAULT]\nsync_container_state_interval=86401\n", "[DEFAULT]\nsync_container_state_interval=1.5\n",
    "[DEFAULT]\nsync_container_state_interval=x\n", "[DEFAULT]\nsync_container_state_interval=99999999999999999999\n",
    "[compute]\nreserve_disk_for_image=.5\n", "[compute]\nreserve_disk_for_image=1e-1\n", "[compute]\nreserve_disk_for_image=2\n",
    "[compute]\nreserve_disk_for_image=-0\n", "[compute]\nreserve_disk_for_image=a\n",
    "[DEFAULT]\nrpc_thread_pool_size=9\n", "[DEFAULT]\nrpc_thread_pool_size=9\nexecutor_thread_pool_size=8\n",
    "[DEFAULT]\nexecutor_thread_pool_size=8\nrpc_thread_pool_size=9\n",
]
URLS = [
    "rabbit://", "rabbit://h", "rabbit://h:1/", "rabbit://u:p@h/", "rabbit://u%40:p%2F%25@h:5671/v%2Fw", "rabbit://u:p:q@h/",
    "rabbit://a@b:c@h/", "rabbit://u@h/", "rabbit://:p@h/", "rabbit://u:@h/", "rabbit://u:p@[::1]:5/", "rabbit://u:p@[::1]/",
    "rabbit://u:p@a,u2:p2@b:6,c/v", "rabbit://a,,b/", "rabbit://h//", "rabbit://h/a/b?heartbeat_rate=3", "rabbit://h?heartbeat_rate=4",
    "rabbit://h/?heartbeat_rate=%35", "rabbit://h/#x", "rabbit://u:p%zz@h/", "rabbit://h:/", "kombu://u:p@h/", "rabbit://u+v:p+q@h/x+y",
    "rabbit://u:p@h1:5672,\n  u:p@h2:5672/v", "rabbit://%C3%A4:%E2%82%AC@h/", "nothing", "rabbit://h:x/", "rabbit://[::1/",
]


def peer(path):
    """What the real libraries read: as print_config shows it, or {"error": …}."""
    conf = cfg.ConfigOpts()
    try:
        for group, option in OPTIONS:
            conf.register_opt(option, group=group)
        conf(["--config-file", path, "--config-dir", os.path.dirname(path) + "/none"], project="zun", prog="zun-compute")
        read = {
            "state_path": conf.state_path, "default_registry": conf.docker.default_registry,
            "floating_cpu_set": conf.floating_cpu_set, "image_driver_list": conf.image_driver_list, "debug": conf.debug,
            "sync_container_state_interval": conf.sync_container_state_interval,
            "reserve_disk_for_image": conf.compute.reserve_disk_for_image,
            "executor_thread_pool_size": min(max(conf.executor_thread_pool_size, 2), 32)}
        _ = conf.sandbox_image, conf.log_dir, conf.docker.default_timeout, conf.network.driver
        url = transport.TransportURL.parse(conf)
        if url.transport not in ("rabbit", "kombu"):
            raise ValueError("no driver for " + url.transport)
        conf.register_opts(impl_rabbit.rabbit_opts, group="oslo_messaging_rabbit")
        from oslo_messaging._drivers.common import ConfigOptsProxy
        proxy = ConfigOptsProxy(conf, url, "oslo_messaging_rabbit")
        read["rabbit_heartbeat_rate"] = int(proxy.oslo_messaging_rabbit.heartbeat_rate)
        # What impl_rabbit and kombu put in place of what is empty.
        read["hosts"] = [{"host": host.hostname or "localhost", "port": host.port or 5672, "user": host.username or "guest",
                          "password": host.password or "guest"}
                         for host in url.hosts or [transport.TransportHost()]]
        read["vhost"] = url.virtual_host or "/"
        return read
    except (Exception, RecursionError) as error:  # noqa: BLE001: any of them stops zun-compute
        return {"error": f"{type(error).__name__}: {error}"}


def some(rng):
    """A random file made of pieces that matter."""
    pieces = ["[DEFAULT]\n", "[docker]\n", "[network]\n", "\n", "# c\n", "; c\n", " more\n", "\tmore, x\n", "state_path = /a\n",
              "state_path=$sandbox_image\n", "floating_cpu_set : 1-4\n", "default_registry='q'\n", "driver=t\n", "state_path=\"\n", "sandbox_image=n\n",
              "image_driver_list = a,b\n", "image_driver_list=\n", "debug=yes\n", "log_dir=$network.driver\n", "state_path=$log_dir/$$\n",
              "   \n", "=\n", ":\n", "x\n", "[x]\n", "state_path=${default_registry}\n", "rpc_thread_pool_size=3\n", "a=b=c\n", "\r\n",
              "floating_cpu_set=\\$x\\\\\n", "state_path", "\"", "'", "$", "{", "}", " ", ":", "=", ",", "sandbox_image", "driver", "]", "["]
    return "[DEFAULT]\n" + "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 14)))


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    rng = random.Random(seed)
    cases = [("fixed", text) for text in FIXED] + [("transport_url", f"[DEFAULT]\ntransport_url={url}\n") for url in URLS]
    cases += [("random", some(rng)) for _ in range(count)]
    wrong = {}
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/none")
        paths = []
        for number, (_, text) in enumerate(cases):
            paths.append(f"{folder}/{number}.conf")
            with open(paths[-1], "w", encoding="utf-8", newline="") as file:
                file.write(text)
        lines = subprocess.run([sys.argv[1]], input="".join(path + "\n" for path in paths), check=True, capture_output=True,
                               text=True).stdout.splitlines()
        assert len(lines) == len(cases), f"{len(lines)} answers to {len(cases)} files"
        for (kind, text), path, line in zip(cases, paths, lines):
            ours, theirs = json.loads(line), peer(path)
            if ("error" in ours) != ("error" in theirs) or ("error" not in ours and ours != theirs):
                wrong.setdefault(kind, []).append(f"{text!r}\n  ours   {ours}\n  theirs {theirs}")
    print(f"seed {seed}")
    for kind in ("fixed", "transport_url", "random"):
        number = sum(1 for case in cases if case[0] == kind)
        for text in wrong.get(kind, [])[:5]:
            print(text)
        if kind in wrong:
            print(f"FAIL {kind} configurations are read as oslo.config reads them: {len(wrong[kind])} of {number} differ")
        else:
            print(f"PASS {kind} configurations are read as oslo.config reads them ({number} files)")
    sys.exit(1 if wrong else 0)


main()
