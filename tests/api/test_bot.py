"""The page that the crawler's User-Agent names says how to be left alone."""

import pytest
from pydantic import ValidationError

from crawler.settings import user_agent
from registry.core.robots import PRODUCT
from registry.settings import Settings
from tests.api.conftest import PUBLIC_URL, Api, make_client

in_its_loop = pytest.mark.asyncio(loop_scope="module")


@in_its_loop
async def test_the_page_behind_the_user_agent(api: Api) -> None:
    response = await api.get("/bot")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    assert f"User-agent: {PRODUCT}\n  Disallow: /" in response.text
    agent = user_agent(Settings(public_url="https://registry.example"))
    assert agent in response.text  # word for word what a log shows
    assert agent.endswith("(+https://registry.example/bot)")


@in_its_loop
async def test_the_page_says_how_to_opt_out_and_whom_to_write_to(api: Api) -> None:
    text = (await api.get("/bot")).text
    assert "https://your.host/.well-known/waypost-optout.txt" in text and "_waypost.your.host" in text
    assert f"POST {PUBLIC_URL}/api/opt-outs" in text
    assert "has left no address" in text
    named = Settings(public_url=PUBLIC_URL, contact_email="crawler@registry.example")
    async with make_client(api.waypost, named) as client:
        told = (await client.get("/bot")).text
    assert "Write to crawler@registry.example" in told
    assert user_agent(named).endswith(f"(+{PUBLIC_URL}/bot; crawler@registry.example)")
    assert user_agent(named) in told


@pytest.mark.parametrize("address", ["nobody", "a b@c.dev", "a@b", "a@b.dev\nX: y", "x)@b.dev", "ä@b.dev"])
def test_an_address_that_no_header_may_hold_is_refused(address: str) -> None:
    with pytest.raises(ValidationError):
        Settings(contact_email=address)


@in_its_loop
async def test_the_front_door_names_the_others(api: Api) -> None:
    response = await api.get("/")
    assert response.status_code == 200
    for path in ("/api/discover", "/api/services", "/api/rubric", "/openapi.json", "/.well-known/agent", "/bot"):
        assert path in response.text
        wanted = {"q": "x"} if path == "/api/discover" else {}
        assert (await api.get(path, params=wanted)).status_code == 200, path
