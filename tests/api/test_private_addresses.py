"""No answer about a hostile site holds an address of a private network, except as evidence of a finding."""

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.core.format_support.common_rules import ADDRESS_NOT_PUBLIC
from registry.core.model.documents import Purpose
from registry.core.translating import TARGETS
from registry.core.visiting.pointers import Stop, redirect
from tests.support.api import Api
from tests.support.builders import ADP, Page, Site, adp_detail, adp_manifest, crawl

HOST = "hostile.example"
GOOGLE = "https://metadata.google.internal/computeMetadata/v1/"
DOCKER = "http://host.docker.internal:11434/"
CLOUD = "http://169.254.169.254/latest/meta-data/"
LOCAL = "http://localhost:3000/"
NAMES = ("metadata.google", "docker.internal", "169.254", "localhost:3000")


def _redirected(location: str) -> Page:
    """Return the answer that the crawler records of a redirect."""
    stop = redirect(f"https://{HOST}/x", location, (), Purpose.MANIFEST)
    assert isinstance(stop, Stop)
    return Page(failure=stop.outcome, reason=stop.reason)


def _hostile() -> Site:
    auth = {"type": "oauth2", "authorization_url": GOOGLE, "token_url": GOOGLE, "setup_url": GOOGLE}
    manifest = adp_manifest(HOST, "launder_socks", auth=auth, homepage=DOCKER, endpoints={"hook": CLOUD, "h": [LOCAL]})
    manifest["capabilities"].append(
        {"name": "iron_shirts", "description": "Irons one shirt.", "detail_url": GOOGLE, "try": LOCAL}
    )
    parameter = {"name": "to", "type": "string", "description": "Where.", "required": True, "example": LOCAL}
    detail = adp_detail("launder_socks")
    detail |= {"request_example": {"method": "POST", "url": CLOUD, "body": {"to": DOCKER}}, "docs": GOOGLE}
    detail["parameters"].append(parameter)
    card = {
        "protocolVersion": "0.3.0", "name": "Laundry", "description": "Launders socks.", "version": "1.0.0",
        "url": f"https://{HOST}/a2a", "provider": {"organization": "Laundry", "url": GOOGLE}, "iconUrl": GOOGLE,
        "documentationUrl": GOOGLE, "capabilities": {}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "homepage": DOCKER, "privacyPolicyUrl": CLOUD,
        "skills": [{"id": "wash", "name": "Wash", "description": "Washes.", "tags": ["x", LOCAL], "examples": [CLOUD]}],
    }  # fmt: skip
    catalogue = {"linkset": [{"anchor": GOOGLE, "service-desc": [{"href": GOOGLE}], "service-doc": [{"href": DOCKER}]}]}
    return {
        ADP: Page(manifest),
        "/caps/launder_socks": Page(detail),
        "/.well-known/agent-card.json": Page(card),
        "/.well-known/api-catalog": Page(catalogue),
        "/agent.json": _redirected(GOOGLE),
        "/.well-known/agent.json": _redirected(CLOUD),
        "/llms.txt": Page(f"# Laundry\n\n- [agent]({GOOGLE}agent.json)\n", media_type="text/plain"),
    }


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield "", name
            yield from _texts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, key)


def _shown(answer: Any) -> list[str]:
    """Return the texts that name one of the hosts, other than evidence."""
    return [text for key, text in _texts(answer) if key != "evidence" and any(name in text for name in NAMES)]


@pytest.fixture
async def hostile(own_api: Api) -> Api:
    await crawl(own_api.store, {HOST: _hostile()}, datetime.now(UTC).replace(microsecond=0))
    await own_api.waypost.search.reindex()
    return own_api


async def test_no_answer_leads_into_the_network_of_a_client(hostile: Api) -> None:
    service = f"/api/services/{HOST}"
    paths = (
        "/api/discover?q=launder+socks&highlights=true", "/api/discover?q=iron+shirts", "/api/services", service,
        f"{service}?include_details=true", f"{service}/capabilities/launder_socks",
        f"{service}/capabilities/iron_shirts", f"{service}/status", f"{service}/crawl", f"/api/health/{HOST}",
        *(f"{service}/manifest/{target}?version=1.0.0" for target in TARGETS),
    )  # fmt: skip
    answers = {path: (await hostile.get(path)).json() for path in paths}
    assert {path: shown for path, answer in answers.items() if (shown := _shown(answer))} == {}
    refused = [path for path, answer in answers.items() if answer.get("success") is False]
    assert refused == [f"{service}/manifest/woa?version=1.0.0"]
    assert answers[f"{service}/capabilities/iron_shirts"]["call"] is None
    call = answers[paths[5]]["call"]
    assert shlex.split(call["curl"])[5] == f"https://{HOST}/v1/launder_socks"
    assert answers[paths[0]]["data"][0]["service"]["domain"] == HOST


async def test_what_was_left_out_is_in_the_findings(hostile: Api) -> None:
    lines = (await hostile.json(f"/api/services/{HOST}"))["data"]["score"]["lines"]
    found = {
        line["document"]: (line["pointer"], line["evidence"], line["count"]) for line in lines if _is_left_out(line)
    }
    assert found == {
        f"https://{HOST}/.well-known/agent": ("/auth/authorization_url", GOOGLE, 7),
        f"https://{HOST}/.well-known/agent-card.json": ("/provider/url", GOOGLE, 7),
        f"https://{HOST}/.well-known/api-catalog": ("/linkset/0/anchor", GOOGLE, 3),
        f"https://{HOST}/caps/launder_socks": ("/parameters/1/example", LOCAL, 4),
        f"https://{HOST}/llms.txt": ("", f"{GOOGLE}agent.json", 1),
    }


def _is_left_out(line: Any) -> bool:
    return bool(line["reason"] == ADDRESS_NOT_PUBLIC.code)


async def test_redirects_into_a_private_network_are_named_without_their_target(hostile: Api) -> None:
    (visit,) = (await hostile.json(f"/api/services/{HOST}/crawl"))["data"]["visits"]
    reasons = {answer["url"]: answer.get("reason") for answer in visit["answers"]}
    assert reasons[f"https://{HOST}/agent.json"] == "to no public host"
    assert reasons[f"https://{HOST}/.well-known/agent.json"] == "redirect_http"
    assert all(answer["url"].startswith(f"https://{HOST}/") for answer in visit["answers"])


async def test_an_address_in_an_answer_is_noticed() -> None:
    assert _shown({"a": [{"url": CLOUD}], "evidence": CLOUD, LOCAL: 1}) == [CLOUD, LOCAL]
