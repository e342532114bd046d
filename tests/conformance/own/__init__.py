"""The registry's documents about itself, as strangers read them."""

import contextlib
import json
import shutil
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.conformance.ard_spec import conformance_test
from tests.conformance.check import Check, Failed, Site, Skipped, output_of
from tests.conformance.tools import Tools

LIGHTHOUSE: Final = {"lighthouse": "13.5.0"}
AUDITS: Final = ("ard-schema", "llms-txt")
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


_PAGE: Final = b"""<!doctype html><html lang="en"><head><title>waypost</title>
<link rel="ai-catalog" href="/.well-known/ai-catalog.json"></head><body><h1>waypost</h1></body></html>"""


def checks() -> Sequence[Check]:
    return (
        Check("own manifests", "catalogue of ARD", "conformance-test of ard-spec (manifest)", _ard_manifest),
        Check("own manifests", "catalogue and llms.txt", "lighthouse " + LIGHTHOUSE["lighthouse"], _audited),
    )


def _ard_manifest(site: Site, tools: Tools) -> str:
    tool = conformance_test()
    for path in ("/.well-known/ard.json", "/.well-known/ai-catalog.json"):
        output_of([sys.executable, tool, "manifest", site.url + path])
    return "both addresses pass without errors"


def _audited(site: Site, tools: Tools) -> str:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise Skipped("no Chromium is installed")
    modules = tools.npm(LIGHTHOUSE)
    result = site.folder / "lighthouse.json"
    with _page_of(site) as page:
        command = [
            tools.node / "node", modules / "lighthouse/cli/index.js", page, "--quiet", "--output=json",
            f"--output-path={result}", f"--only-audits={','.join(AUDITS)}",
            "--chrome-flags=--headless=new --no-sandbox",
        ]  # fmt: skip
        output_of(command, environment={**tools.node_environment, "CHROME_PATH": browser}, seconds=180)
    audits: dict[str, Any] = json.loads(result.read_text())["audits"]
    noted = 0
    for name in AUDITS:
        items = audits[name].get("details", {}).get("items", ())
        # a note of the lowest severity: the type of an OpenAPI document is registered, and no type of an agent
        notes = [item for item in items if item.get("severity") == "Low" and "not one of standard" in item["issue"]]
        if audits[name]["score"] != 1 and not (items and len(notes) == len(items)):
            raise Failed(json.dumps(audits[name])[:4_000])
        noted += len(notes)
    return f"audits {' and '.join(AUDITS)} without errors; unusual media types noted: {noted}"


@contextlib.contextmanager
def _page_of(site: Site) -> Iterator[str]:
    """Yield the address of a page whose host has the registry's documents.

    Lighthouse audits the host of a page that is HTML and may fetch. The registry's start page is text, and its pages
    forbid to fetch anything.
    """

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body = 200, "text/html; charset=utf-8", _PAGE
            if self.path != "/":
                try:
                    with urllib.request.urlopen(site.url + self.path, timeout=20) as answer:
                        kind, body = answer.headers["Content-Type"], answer.read()
                except urllib.error.HTTPError as error:
                    status, kind, body = error.code, "text/plain", b""
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the output is that of the checks."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
