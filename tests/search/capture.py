"""A server that records requests and responds from a script, to observe the engine's calls without an engine.

Its responses are recorded from a real server (tests/search/test_meilisearch_calls.py), not invented for the test,
except for the few fields in which a call must find what it sent before.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any  # None, JSON, or a list with the value of each line of NDJSON

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


Script = Callable[[Call], Answer]


class Capture:
    """`calls` are in order of arrival; `most_at_once` is the highest number of concurrent calls."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._concurrent = 0
        self._lock = threading.Lock()
        self.url = ""

    def answer(self, call: Call) -> Answer:
        with self._lock:
            self.calls.append(call)
            self._concurrent += 1
            self.most_at_once = max(self.most_at_once, self._concurrent)
        try:
            return self.script(call)
        finally:
            with self._lock:
                self._concurrent -= 1


@contextmanager
def captured(script: Script) -> Iterator[Capture]:
    capture = Capture(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            target = urlsplit(self.path)
            is_ndjson = "ndjson" in self.headers.get("content-type", "")
            body = [json.loads(line) for line in raw.splitlines()] if is_ndjson else json.loads(raw) if raw else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = capture.answer(Call(self.command, target.path, dict(parse_qsl(target.query)), headers, body))
            content = b"" if answer.body is None else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    capture.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield capture
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
