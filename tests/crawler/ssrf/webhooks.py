"""Webhooks to names of refused addresses: run in a namespace by `tests/crawler/test_webhooks.py`.

Prints as JSON which addresses were dialled besides that of the public control, and why each message was not delivered.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from crawler.webhooks import WebhookSender
from registry.actions.webhooks import Outgoing
from registry.core.webhooks import Message, secret_of
from registry.settings import Settings
from tests.crawler.namespace import NameServer, Records, Wire, enclose
from tests.crawler.ssrf.spellings import REFUSED
from tests.support.sites import Reply, Sites

CONTROL, ADDRESS = "public.receiver-control.com", "8.8.8.8"


def find(name: str) -> Records | None:
    """Return the record of a name: its first label is the class of its address."""
    label = name.partition(".")[0]
    if name == CONTROL:
        return [("A", ADDRESS)]
    if (address := REFUSED.get(label.removeprefix("x-"))) is None:
        return None
    return [("AAAA" if ":" in address else "A", address)]


async def run(folder: Path) -> dict[str, Any]:
    wire = Wire()
    NameServer.start(find)
    names = {f"x-{label}.receiver-refused.com": label for label in REFUSED} | {CONTROL: "public"}
    reasons = {}
    async with Sites({CONTROL: Reply()}, places=("0.0.0.0", "::"), port=443) as sites:
        os.environ["SSL_CERT_FILE"] = str(sites.write_authority(folder))
        os.environ.pop("SSL_CERT_DIR", None)
        async with WebhookSender(Settings(data=folder, request_timeout=60, connect_timeout=60)) as sender:
            for name, label in names.items():
                message = Message("msg_1", "test", "{}")
                attempt = await sender.send(Outgoing("wh_1", f"https://{name}/hook", message, (secret_of(b"s" * 32),)))
                reasons[label] = attempt.reason
    await asyncio.sleep(0.1)
    lost = wire.lost()
    allowed = {("tcp", ADDRESS, 443), ("udp", "127.0.0.1", 53)}
    return {"dialled": sorted(map(str, wire.dialled.keys() - allowed)), "lost": lost, "reasons": reasons}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        enclose(Path(scratch))
        sys.stdout.write(json.dumps(asyncio.run(run(Path(scratch)))) + "\n")
