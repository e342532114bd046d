"""A private network for the benchmark: every address is local in it, and there is no route out.

`enter` starts this program again inside new network and mount namespaces; `enclose` prepares the network in there and
exits if it runs anywhere else. So the crawler's address guard stays enabled and dials real public addresses, but no
packet can reach their real hosts.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.crawl.web import BLACK_HOLE


class Missing(Exception):
    """The machine lacks something that the benchmark needs; the message says what."""


def check_tools(*tools: str) -> None:
    """Raise Missing when a tool, Linux or the permission for namespaces is missing."""
    if sys.platform != "linux":
        raise Missing("network namespaces are a thing of Linux")
    search = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    for tool in ("unshare", "ip", "mount", *tools):
        if shutil.which(tool, path=search) is None:
            raise Missing(f"{tool} is not on PATH (Debian: apt-get install {_PACKAGES.get(tool, tool)})")
    if subprocess.run([*_unshare(), "true"], check=False, capture_output=True).returncode:
        raise Missing("this machine does not allow network namespaces (unshare --net)")


_PACKAGES = {"ip": "iproute2", "unshare": "util-linux", "mount": "mount", "nginx": "nginx-light"}


def enter(arguments: Sequence[str], environment: Mapping[str, str], program: str = "benchmarks.crawl") -> int:
    """Run `python -m program` with these arguments inside the namespaces; return its exit code."""
    command = [*_unshare(), sys.executable, "-m", program, *arguments]
    with subprocess.Popen(command, env={**os.environ, **environment}) as inside:
        try:
            return inside.wait()
        except (KeyboardInterrupt, SystemExit):
            inside.terminate()  # it stops web server, name server and contestant
            return 130


def enclose(folder: Path) -> None:
    """Make every address local and use the benchmark's name server. Exit if there is any route out."""
    if (interfaces := _interfaces()) != ["lo"]:
        sys.exit(f"there is more than loopback here ({', '.join(interfaces)}): not a namespace of our own")
    _ip("link set lo up", "route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo")
    _make_black_hole()
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:2 attempts:2\n")
    subprocess.run(["mount", "--bind", str(folder / "resolv.conf"), "/etc/resolv.conf"], check=True)
    Path("/proc/sys/net/core/somaxconn").write_text("8192")
    routes = subprocess.run(["ip", "route", "show", "default"], check=True, capture_output=True, text=True).stdout
    if routes.strip():
        sys.exit("there is a default route here: not a namespace of our own")


def _make_black_hole() -> None:
    """Add an interface whose other end drops all packets, so that a SYN is never answered."""
    _ip("link add hole type veth peer name bottom", "link set hole arp off", "link set bottom arp off")
    _ip("link set hole up", "link set bottom up", f"route add {BLACK_HOLE} dev hole table local src 192.0.2.1")


def _ip(*commands: str) -> None:
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True)


def _unshare() -> list[str]:
    return ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


def _interfaces() -> list[str]:
    output = subprocess.run(["ip", "-o", "link"], check=True, capture_output=True, text=True).stdout
    return [line.split(": ")[1].split("@")[0] for line in output.splitlines()]
