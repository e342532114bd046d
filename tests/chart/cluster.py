"""An API server of Kubernetes with etcd on loopback: it stores and judges objects, and runs nothing."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.hang import HANG_SECONDS

TOKEN: Final = "of-the-test"
NAMESPACE: Final = "registry"

PATHS: Final = {"Namespace": "api/v1/namespaces", "PriorityClass": "apis/scheduling.k8s.io/v1/priorityclasses"}
RESTRICTED: Final = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
WORLD: Final[list[dict[str, Any]]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": RESTRICTED}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1_000},
]
"""What the values of tests/chart/values expect in the cluster."""


@dataclass(frozen=True)
class Cluster:
    configuration: Path

    @property
    def environment(self) -> dict[str, str]:
        home = self.configuration.parent
        return os.environ | {"KUBECONFIG": str(self.configuration), "HOME": str(home), "XDG_CACHE_HOME": str(home)}

    def run(self, program: str | Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a client in the namespace of the test, with `text` as its input."""
        return subprocess.run(
            [program, "--namespace", NAMESPACE, *arguments],
            input=text, capture_output=True, text=True, timeout=HANG_SECONDS, env=self.environment, check=False,
        )  # fmt: skip


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [int(one.getsockname()[1]) for one in sockets]


@contextmanager
def process(command: list[str | Path], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        started = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output, cwd=log.parent)
    try:
        yield started
    finally:
        started.kill()
        started.wait(HANG_SECONDS)


def ask(url: str, body: dict[str, Any] | None = None) -> None:
    """Get the URL, or post an object to it. Raise OSError."""
    context = ssl._create_unverified_context()  # the server makes its certificate when it starts
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    urllib.request.urlopen(request, timeout=30, context=context).close()


def until_answered(url: str, started: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the URL answers 200. Fail with the end of the log when it does not."""
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        try:
            return ask(url)
        except OSError:
            if started.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{url} does not answer: {log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)


@contextmanager
def running(api_server: Path, folder: Path) -> Iterator[Cluster]:
    """Yield a cluster with the namespace. Skip the test where etcd is not on PATH."""
    etcd = shutil.which("etcd")
    if etcd is None:
        pytest.skip("etcd is not on PATH (Debian: etcd-server)")
    key = folder / "account.key"
    key.write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (folder / "tokens.csv").write_text(f"{TOKEN},tester,1\n")
    client_url, peer_url, url = (
        f"{scheme}://127.0.0.1:{port}" for scheme, port in zip(("http", "http", "https"), free_ports(3), strict=True)
    )
    configuration = folder / "kubeconfig"
    named = {
        "contexts": {"context": {"cluster": "test", "user": "test"}},
        "clusters": {"cluster": {"server": url, "insecure-skip-tls-verify": True}},
        "users": {"user": {"token": TOKEN}},
    }
    entries = {part: [{"name": "test", **entry}] for part, entry in named.items()}
    configuration.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "test", **entries}))
    with ExitStack() as stack:
        command: list[str | Path] = [
            etcd, "--data-dir", folder / "etcd", "--listen-client-urls", client_url, "--advertise-client-urls",
            client_url, "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
            "--initial-cluster", f"default={peer_url}", "--unsafe-no-fsync",
        ]  # fmt: skip
        started = stack.enter_context(process(command, folder / "etcd.log"))
        until_answered(f"{client_url}/health", started, folder / "etcd.log")
        command = [
            api_server, f"--etcd-servers={client_url}", "--bind-address=127.0.0.1",
            f"--secure-port={urlsplit(url).port}", f"--cert-dir={folder / 'certificates'}",
            "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
            f"--token-auth-file={folder / 'tokens.csv'}", "--authorization-mode=AlwaysAllow",
            "--service-account-issuer=https://test", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",  # no controller makes the accounts
        ]  # fmt: skip
        started = stack.enter_context(process(command, folder / "apiserver.log"))
        until_answered(f"{url}/readyz", started, folder / "apiserver.log")
        for one in WORLD:
            ask(f"{url}/{PATHS[one['kind']]}", one)
        yield Cluster(configuration)
