"""The stylesheet, the script and the icon, at addresses that hold a hash of their content."""

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import NOT_FOUND, Problem

ROOT: Final = "/static"
_TYPES: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOREVER: Final = "public, max-age=31536000, immutable"
_HASH_BYTES: Final = 8


def _loaded() -> Mapping[str, bytes]:
    folder = files("registry.web") / "static"
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.rpartition(".")[2] in _TYPES}


def _address(name: str, content: bytes) -> str:
    stem, _, extension = name.rpartition(".")
    return f"{ROOT}/{stem}.{hashlib.blake2b(content, digest_size=_HASH_BYTES).hexdigest()}.{extension}"


_CONTENTS: Final = _loaded()
ADDRESSES: Final[Mapping[str, str]] = {name: _address(name, content) for name, content in _CONTENTS.items()}
"""Name of a file -> its path. A changed file has another one, so browsers may keep each forever."""

_BY_ADDRESS: Final = {address: name for name, address in ADDRESSES.items()}


async def asset(request: Request) -> Response:
    """Return a file. Raise Problem when this version has no file at the address."""
    name = _BY_ADDRESS.get(request.scope["path"])
    if name is None:
        raise Problem(NOT_FOUND, "There is no such file.")
    headers = {"Cache-Control": _FOREVER}
    return Response(_CONTENTS[name], 200, headers, _TYPES[name.rpartition(".")[2]])


ROUTES: Final = (Route(f"{ROOT}/{{name}}", asset),)
