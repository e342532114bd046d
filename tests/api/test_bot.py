"""The page that the crawler's User-Agent names says how to be left alone."""

from crawler.settings import user_agent
from registry.core.robots import PRODUCT
from registry.settings import Settings
from tests.api.conftest import Api


async def test_the_page_behind_the_user_agent(api: Api) -> None:
    response = await api.get("/bot")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    assert f"User-agent: {PRODUCT}\n  Disallow: /" in response.text
    agent = user_agent(Settings(public_url="https://registry.example"))
    assert agent in response.text  # word for word what a log shows
    assert agent.endswith("(+https://registry.example/bot)")


async def test_the_front_door_names_the_others(api: Api) -> None:
    response = await api.get("/")
    assert response.status_code == 200
    for path in ("/api/discover", "/api/services", "/api/rubric", "/openapi.json", "/.well-known/agent", "/bot"):
        assert path in response.text
        wanted = {"q": "x"} if path == "/api/discover" else {}
        assert (await api.get(path, params=wanted)).status_code == 200, path
