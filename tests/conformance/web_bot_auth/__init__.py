"""Web Bot Auth: the key directory that a registry serves, and the crawler's signatures, as Cloudflare verifies them.

The package verifies the form of Signature-Agent that most networks accept; `tests/core/test_web_bot_auth.py` has all
forms, verified by another package.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from crawler.signing import RequestSigner
from registry.core.web_bot_auth import DIRECTORY_PATH, DIRECTORY_TYPE
from registry.settings import Settings
from registry.wiring.signing_keys import REREAD_SECONDS, KeyFiles
from tests.conformance.check import Check, Failed, Site, output_of
from tests.conformance.tools import Tools

HERE: Final = Path(__file__).parent
PACKAGE: Final = {"web-bot-auth": "0.1.3"}
URLS: Final = ("https://shop.example/agent.json", "https://www.shop.example/.well-known/agent?a=1")


def checks() -> Sequence[Check]:
    name = "signed requests and the key directory"
    return (Check("web-bot-auth", name, f"web-bot-auth {PACKAGE['web-bot-auth']}", _verified),)


def _verified(site: Site, tools: Tools) -> str:
    settings = Settings(data=Path(site.environment["WAYPOST_DATA"]), public_url="https://registry.example")
    key_files = KeyFiles(settings)
    key = key_files.add(int(time.time()) - 5)
    try:
        keys = _listed(site)
        signer = RequestSigner.of(settings)
        signed = [{"url": url, "headers": dict(signer.fields(url)) if signer else {}} for url in URLS]
        moved = {**signed[0], "url": URLS[1]}  # a signature for another host
        said = _judged(site, tools, {"keys": keys, "requests": [*signed, moved]})
    finally:
        key_files.remove(key.id)
    if said[:2] != ["accepted", "accepted"] or said[2] == "accepted":
        raise Failed(json.dumps(said))
    return f"{len(keys)} key listed; requests to {len(URLS)} hosts accepted, a signature for another host refused"


def _listed(site: Site) -> list[dict[str, Any]]:
    """Return the keys of the directory once the registry serves it. Raise Failed."""
    deadline = time.monotonic() + 2 * REREAD_SECONDS
    while True:
        try:
            with urllib.request.urlopen(site.url + DIRECTORY_PATH, timeout=20) as answer:
                body, kind = answer.read(), answer.headers.get("Content-Type")
        except urllib.error.HTTPError as error:
            if error.code != 404 or time.monotonic() > deadline:
                raise Failed(f"the directory is answered with {error.code}") from None
            time.sleep(0.5)
            continue
        if kind != DIRECTORY_TYPE:
            raise Failed(f"the directory has the type {kind}")
        keys: list[dict[str, Any]] = json.loads(body)["keys"]
        return keys


def _judged(site: Site, tools: Tools, task: dict[str, Any]) -> list[str]:
    program = tools.npm(PACKAGE).parent / "verify.mjs"  # a module finds its packages beside itself
    program.write_text((HERE / "verify.mjs").read_text())
    requests = site.folder / "signed-requests.json"
    requests.write_text(json.dumps(task))
    said: list[str] = json.loads(
        output_of([tools.node / "node", program, requests], environment=tools.node_environment)
    )
    return said
