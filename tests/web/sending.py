"""Forms, sent as a browser sends them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import httpx2

from registry.web.asking import FORM
from tests.support.api import Api, make_client

ASKING = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def send(api: Api, path: str, fields: Mapping[str, Any], **headers: str) -> httpx2.Response:
    """Return the answer to a form. Redirects are not followed. `_` in a name of a header stands for `-`."""
    return await send_raw(api, path, urlencode(fields).encode(), **headers)


async def send_raw(api: Api, path: str, body: bytes, **headers: str) -> httpx2.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await api.post(
        path,
        content=body,
        headers={**ASKING, "Content-Type": FORM, "Sec-Fetch-Site": "same-origin", **given},
        follow_redirects=False,
    )


@asynccontextmanager
async def limited(api: Api, submissions: int) -> AsyncIterator[Api]:
    """Yield the same registry with this many submissions an hour for its client."""
    settings = api.waypost.settings.model_copy(update={"submit_rate": submissions})
    async with make_client(api.waypost, settings) as client:
        yield replace(api, client=client)
