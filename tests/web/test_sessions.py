"""Tokens that a browser keeps for one area of pages: where the cookie goes, what is read from it, and its end."""

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from registry.core.access.tokens import parse_token
from registry.settings import Settings
from registry.web.rendering import Pages, with_secrets
from registry.web.sessions import SECONDS, Session

SESSION = Session("waypost-test", "owner", "/area/{host}")
TOKEN = "wp_owner_0123456789abcdef_" + "a" * 43
OTHER_KIND = TOKEN.replace("owner", "claim")


async def _show(request: Request) -> Response:
    return PlainTextResponse(repr(SESSION.token(request)))


async def _begin(request: Request) -> Response:
    token = parse_token(request.path_params["token"], "owner")
    assert token is not None
    return SESSION.begin(request, token, "/area/a.example", host="a.example")


async def _end(request: Request) -> Response:
    return SESSION.end(request, with_secrets(PlainTextResponse("")), host="a.example")


def _client(public_url: str) -> httpx2.AsyncClient:
    routes = [Route("/begin/{token}", _begin), Route("/end", _end), Route("/{rest:path}", _show)]
    app = Starlette(routes=routes)
    app.state.pages = Pages(Settings(public_url=public_url), frozenset())
    base = public_url.partition("/below")[0]
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=base)


@pytest.mark.parametrize(
    ("public_url", "name", "path"),
    [
        ("https://registry.example", "__Secure-waypost-test", "/area/a.example"),
        ("https://registry.example/below", "__Secure-waypost-test", "/below/area/a.example"),
        ("http://127.0.0.1:8000", "waypost-test", "/area/a.example"),
    ],
)
async def test_a_cookie_goes_to_its_area_only_and_no_script_reads_it(public_url: str, name: str, path: str) -> None:
    async with _client(public_url) as client:
        begun = await client.get(f"/begin/{TOKEN}")
        assert (begun.status_code, begun.headers["location"]) == (303, "/area/a.example")
        assert begun.headers["cache-control"] == "no-store, no-transform"
        first, *rest = begun.headers["set-cookie"].split("; ")
        assert first == f"{name}={TOKEN}"
        secure = {"Secure"} if public_url.startswith("https:") else set()
        assert set(rest) == {"HttpOnly", "SameSite=strict", f"Max-Age={SECONDS}", f"Path={path}"} | secure
        ended = (await client.get("/end")).headers
        assert ended["set-cookie"].startswith(f'{name}=""; ')
        assert "Max-Age=0" in ended["set-cookie"] and f"Path={path}" in ended["set-cookie"]


@pytest.mark.parametrize(
    ("cookie", "shown"),
    [
        (f"__Secure-waypost-test={TOKEN}", "Token(kind='owner', id='0123456789abcdef')"),
        (f"waypost-test={TOKEN}", "None"),
        (f"__Secure-waypost-test={OTHER_KIND}", "None"),
        ("__Secure-waypost-test=", "None"),
        ("__Secure-waypost-test=" + "x" * 4_000 + "\u00ff; ;;=", "None"),
        ("", "None"),
    ],
)
async def test_only_a_token_of_the_kind_is_read(cookie: str, shown: str) -> None:
    async with _client("https://registry.example") as client:
        answer = await client.get("/area/a.example", headers=[(b"cookie", cookie.encode("latin-1"))])
        assert answer.text == shown
