"""Calls a few tools with the official client for Python and prints what it found: `python client.py URL auto|legacy`.

Runs in an environment that has the package `mcp` and nothing of this repository.
"""

import asyncio
import json
import sys
from typing import Any

from mcp.client.client import Client


async def main(url: str, mode: str) -> None:
    async with Client(url, mode=mode) as client:
        found: Any = await client.call_tool("discover_services", {"q": "send an email"})
        wrong: Any = await client.call_tool("get_service", {"domain": "nothing.example"})
        domain = found.structured_content["services"][0]["domain"]
        read: Any = await client.read_resource(f"waypost://service/{domain}")
        answer = {
            "version": client.protocol_version,
            "tools": len((await client.list_tools()).tools),
            "first": domain,
            "error": bool(wrong.is_error),
            "resource": json.loads(read.contents[0].text)["domain"],
        }
        sys.stdout.write(json.dumps(answer) + "\n")


asyncio.run(main(*sys.argv[1:]))
