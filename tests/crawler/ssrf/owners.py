"""Claims by file and webhooks of owners, at names of refused addresses: run in a namespace by `test_ssrf.py`.

A registry on a database does what a worker does: it checks the claims, and sends the challenges of the webhooks.
Prints as JSON which addresses were dialled besides those of the public controls, and what each attempt came to.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final
from unittest import mock

from crawler.checks import running_checks
from crawler.webhooks import delivering_webhooks
from registry.core.access.claims import FILE_PATH
from registry.core.access.tokens import Token
from registry.core.changes.kinds import ALL
from registry.settings import Settings
from registry.wiring import Waypost, open_waypost
from tests.crawler.namespace import NameServer, Records, Wire, enclose
from tests.crawler.ssrf.spellings import REFUSED
from tests.support.database import until_true
from tests.support.receivers import Receiver
from tests.support.sites import Answer, Reply, Sites

CLAIMED, RECEIVER = "claimed-control.com", "receiver-control.com"
PUBLIC: Final = {CLAIMED: "8.8.4.4", RECEIVER: "8.8.8.8"}


def find(name: str) -> Records | None:
    """Return the record of a control, or of `claimed-<class>.com` and `receiver-<class>.com`."""
    label = name.removesuffix(".com").partition("-")[2]
    address = PUBLIC.get(name) or REFUSED.get(label)
    return None if address is None else [("AAAA" if ":" in address else "A", address)]


async def run(folder: Path, database: str) -> dict[str, Any]:
    wire = Wire()
    NameServer.start(find)
    site: dict[str, Answer] = {}
    limits = {"connect_timeout": 60, "request_timeout": 60}
    settings = Settings(data=folder, database_url=database, **limits)  # type: ignore[arg-type]  # as from the environment
    async with Sites({CLAIMED: site, RECEIVER: Receiver()}, places=("0.0.0.0", "::"), port=443) as sites:
        os.environ["SSL_CERT_FILE"] = str(sites.write_authority(folder))
        os.environ.pop("SSL_CERT_DIR", None)
        async with open_waypost(settings) as waypost:
            webhooks = {label: await webhook(waypost, label) for label in (*REFUSED, "control")}
            tokens = {}
            for number, label in enumerate((*REFUSED, "control")):
                name, client = f"claimed-{label}.com", f"198.51.100.{number}"
                claimed, tokens[label] = await waypost.claims.claim(name, "file", "host", client=client)
                if name == CLAIMED:
                    site[FILE_PATH] = Reply(claimed.publish, type="text/plain")
                await waypost.claims.check_claim(tokens[label], seconds=0)

            async def is_over() -> bool:
                checked = [await answer(waypost, token) for token in tokens.values()]
                return None not in [*checked, *[await reason(waypost, webhook) for webhook in webhooks.values()]]

            with mock.patch("crawler.checks.CHECK_SECONDS", 60.0):
                async with running_checks(waypost, settings), delivering_webhooks(waypost, settings):
                    await until_true(is_over)
            answers = {label: await answer(waypost, token) for label, token in tokens.items()}
            reasons = {label: await reason(waypost, webhook) for label, webhook in webhooks.items()}
    await asyncio.sleep(0.1)
    lost = wire.lost()
    allowed = {*(("tcp", address, 443) for address in PUBLIC.values()), ("udp", "127.0.0.1", 53)}
    dialled = sorted(map(str, wire.dialled.keys() - allowed))
    return {"dialled": dialled, "lost": lost, "answers": answers, "reasons": reasons}


async def webhook(waypost: Waypost, label: str) -> str:
    """Have the receiver's host proven by DNS; return the id of the webhook that its owner sets."""
    host = f"receiver-{label}.com"
    _, token = await waypost.claims.claim(host, "dns", "host", client="203.0.113.7")
    await waypost.claims.check_claim(token, seconds=0)
    await waypost.claims.settle(token.id, "published")
    _, owner = await waypost.claims.check_claim(token, seconds=0)
    assert owner is not None
    return (await waypost.ownership.set_webhook(owner, host, f"https://{host}/hook", ALL)).id


async def answer(waypost: Waypost, token: Token) -> str | None:
    """Return the answer of the last check of a claim."""
    return (await waypost.claims.claim_status(token)).record.answer


async def reason(waypost: Waypost, webhook: str) -> str | None:
    """Return why the last message to a webhook was not delivered, empty if it was; None before the first one."""
    tried = await waypost.webhooks.deliveries(webhook, limit=1)
    return tried[0].reason if tried else None


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        enclose(Path(scratch))
        sys.stdout.write(json.dumps(asyncio.run(run(Path(scratch), sys.argv[1]))) + "\n")
