"""The page that the crawler's User-Agent links to explains how to opt out."""

import pytest
from pydantic import ValidationError

from crawler.session import user_agent
from registry.core.visiting.robots import PRODUCT
from registry.settings import Settings
from tests.support.api import PUBLIC_URL, Api, make_client

in_its_loop = pytest.mark.asyncio(loop_scope="module")


@in_its_loop
async def test_the_bot_page_names_product_and_user_agent(api: Api) -> None:
    response = await api.get("/bot")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    assert f"User-agent: {PRODUCT}\n  Disallow: /" in response.text
    agent = user_agent(Settings(public_url="https://registry.example"))
    assert agent in response.text  # exactly as it appears in access logs
    assert agent.endswith("(+https://registry.example/bot)")


@in_its_loop
async def test_the_bot_page_explains_opt_outs_and_names_the_contact(api: Api) -> None:
    text = (await api.get("/bot")).text
    assert "https://your.host/.well-known/waypost-optout.txt" in text and "_waypost.your.host" in text
    assert f"POST {PUBLIC_URL}/api/opt-outs" in text
    assert "has not configured an address" in text
    settings = Settings(public_url=PUBLIC_URL, contact_email="crawler@registry.example")
    async with make_client(api.waypost, settings) as client:
        page = (await client.get("/bot")).text
    assert "Write to crawler@registry.example" in page
    assert user_agent(settings).endswith(f"(+{PUBLIC_URL}/bot; crawler@registry.example)")
    assert user_agent(settings) in page


@pytest.mark.parametrize("address", ["nobody", "a b@c.dev", "a@b", "a@b.dev\nX: y", "x)@b.dev", "ä@b.dev"])
def test_a_contact_email_unfit_for_a_header_is_refused(address: str) -> None:
    with pytest.raises(ValidationError):
        Settings(contact_email=address)


@in_its_loop
async def test_the_root_page_lists_the_endpoints(api: Api) -> None:
    response = await api.get("/")
    assert response.status_code == 200
    for path in ("/api/discover", "/api/services", "/api/rubric", "/openapi.json", "/.well-known/agent", "/bot"):
        assert path in response.text
        params = {"q": "x"} if path == "/api/discover" else {}
        assert (await api.get(path, params=params)).status_code == 200, path
