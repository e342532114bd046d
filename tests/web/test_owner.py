"""What an owner does with the forms of one page: sessions, decisions, refusals at their field, leaving, returning."""

import html
import re
from typing import Any

import httpx2
import pytest
from markupsafe import escape

from registry.core.webhooks import Attempt
from registry.web import claims, owner
from tests.api.sites import PIGEON
from tests.support.api import Api
from tests.web.sending import ASKING, send
from tests.web.test_claims import INVENTED, proven
from tests.web.test_html import faults

pytestmark = pytest.mark.slow  # a database and an index for each

OWNER = f"/owner/{PIGEON}"
HOSTILE = "<b>Closed</b> \"'> on Sundays\u202e"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "CHECK_SECONDS", 0)  # the test is the worker
    monkeypatch.setattr(owner, "TEST_SECONDS", 0)


def cookie(token: str) -> dict[str, str]:
    return {"Cookie": f"__Secure-waypost-owner={token}"}


async def shown(api: Api, token: str, path: str = OWNER) -> str:
    page = await api.get(path, headers={**ASKING, **cookie(token)})
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store, no-transform"), page.text
    assert token not in page.text or "done=rotate" in path
    assert faults(page.content) is None
    ids = re.findall(r'\bid="([^"]*)"', page.text)
    assert len(ids) == len(set(ids))
    return html.unescape(page.text)


async def decided(api: Api, token: str, action: str, path: str = OWNER, **fields: Any) -> tuple[str, httpx2.Response]:
    """Return the page after a decision, and the answer that led to it."""
    answer = await send(api, path, {"action": action, **fields}, **cookie(token))
    assert answer.status_code == 303, html.unescape(answer.text)
    assert "no-store" in answer.headers["cache-control"]
    return await shown(api, token, answer.headers["location"]), answer


async def refused(
    api: Api, token: str, action: str, status: int = 400, path: str = OWNER, **fields: Any
) -> tuple[str, str]:
    """Return the words of a refusal, which stand where the focus is, and the page."""
    answer = await send(api, OWNER, {"action": action, **fields}, **cookie(token))
    assert (answer.status_code, "no-store" in answer.headers["cache-control"]) == (status, True), answer.text
    assert "<title>Error: " in answer.text and faults(answer.content) is None
    [focused] = re.findall(r"<[^>]*\bautofocus\b[^>]*>", answer.text)
    [described] = re.findall(r'aria-describedby="([^"]*)"', focused)
    told = [re.search(rf'id="{name}">([^<]*)<', answer.text) for name in described.split() if name.endswith("-fault")]
    assert len(told) == 1 and told[0] is not None
    return html.unescape(told[0][1]), answer.text


async def test_the_life_of_an_entry_with_forms(own_api: Api) -> None:
    _, token = await proven(own_api)
    report = {"domain": PIGEON, "code": "wrong", "reason": "It is not what it says."}
    assert (await own_api.post("/api/reports", json=report)).status_code == 200
    verdict = {"domain": PIGEON, "capability": "create_parcel", "verdict": "call_failed", "status": 404, "note": "<b>"}
    assert (await own_api.post("/api/feedback", json=verdict)).status_code == 201
    page = await shown(own_api, token)
    assert "the page of your service" in page and "Sign out" in page
    assert "wrong, open" in page and "call failed (404), 1 client" in page and "<bdi><b></bdi>" in page
    assert "<dd>not checked</dd>" in (await decided(own_api, token, "no-calls"))[0]
    assert "<dd>checked</dd>" in (await decided(own_api, token, "calls"))[0]
    for path in (f"/s/{PIGEON}", "/search?q=parcel", "/search"):
        text = (await own_api.get(path, headers=ASKING)).text
        assert text.count('class="tag good" href="/rubric#owner-proven"') == 1, path
    assert f'href="{OWNER}"' in (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).text
    page, _ = await decided(own_api, token, "hide")
    assert "hidden by you" in page and "Show it again" in page
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 404
    assert "It is not hidden any more." in (await decided(own_api, token, "show"))[0]
    assert "The note is shown with the service." in (await decided(own_api, token, "note", note=HOSTILE))[0]
    assert escape("<b>Closed</b> \"'>") in (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).text
    assert "There is no note now." in (await decided(own_api, token, "note", note=""))[0]
    page, _ = await decided(own_api, token, "recheck")
    assert "A visit is queued." in page and "Load the page again" in page
    _, answer = await decided(own_api, token, "rotate")
    new = re.match(r"__Secure-waypost-owner=(wp_owner_[^;]+);", answer.headers["set-cookie"])
    assert new is not None and new[1] != token
    assert new[1] in await shown(own_api, new[1], answer.headers["location"])
    assert "This token is not valid" in await shown(own_api, token)
    gone = await send(own_api, OWNER, {"action": "give-up"}, **cookie(new[1]))
    assert gone.headers["set-cookie"].startswith('__Secure-waypost-owner=""; ')
    assert "You gave the ownership up" in html.unescape(
        (await own_api.get(gone.headers["location"], headers=ASKING)).text
    )


async def test_a_webhook_is_set_tested_and_deleted(own_api: Api) -> None:
    _, token = await proven(own_api)
    url = f"https://{PIGEON}/hook?<b>"
    answer = await send(own_api, OWNER, {"action": "webhook", "url": url, "types": "service.*"}, **cookie(token))
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store, no-transform")
    assert "whsec_" in answer.text and "<b>" not in answer.text
    page = await shown(own_api, token)
    assert "waits for the answer to its challenge" in page and "whsec_" not in page and "Nothing was sent yet." in page
    page, _ = await decided(own_api, token, "test")
    assert "The message is on its way." in page, "a challenge"

    async def attempt(made: Attempt) -> str:
        [outgoing] = await own_api.waypost.webhooks.due(10, ())
        await own_api.waypost.webhooks.record(outgoing, made)
        return outgoing.message.purpose

    assert await attempt(Attempt(200, duration_ms=12)) == "challenge"
    await decided(own_api, token, "test")
    assert await attempt(Attempt(500, "http_500", duration_ms=7)) == "test", "although nothing else is due"
    page = await shown(own_api, token, f"{OWNER}?done=test")
    assert "Not delivered: status 500." in page and 'class="note bad"' in page
    assert re.search(r"not delivered</span> test, status 500, 7 ms", page)
    assert re.search(r">delivered</span> challenge, status 200, 12 ms", page)
    assert await own_api.waypost.webhooks.due(10, ()) == [], "a test is sent once"
    for _ in range(22):
        await decided(own_api, token, "test")
        await attempt(Attempt(None, "connection_refused"))
    page = await shown(own_api, token)
    assert page.count("not delivered</span> test, connection refused") == 20 and "15 earlier attempts" in page
    assert "The webhook is deleted." in (await decided(own_api, token, "no-webhook"))[0]
    assert "there is no webhook" in (await refused(own_api, token, "test"))[0]


REFUSED: tuple[tuple[str, dict[str, str], str], ...] = (
    ("note", {"note": "x" * 501}, "at most 500 characters; this one has 501"),
    ("canonical", {"canonical": "doves.com"}, "one of the same registrable domain"),
    ("canonical", {"canonical": "no host \u202e"}, "Not a public host"),
    ("canonical", {"canonical": PIGEON, "consent": "nonsense"}, "This is no owner’s token."),
    ("webhook", {"url": ""}, "Write the address of the receiver."),
    ("webhook", {"url": "http://a.com/"}, "a receiver is an https URL"),
    ("webhook", {"url": "https://elsewhere.com/hook"}, "neither on this host nor below it"),
    ("webhook", {"url": f"https://{PIGEON}/", "types": "service.*,<b>"}, "Choose one of the kinds of events."),
    ("webhook", {"url": f"https://{PIGEON}/", "receiver_token": HOSTILE}, "This is no owner’s token."),
    ("opt-out", {"confirm": ""}, f"Type the name of the host, {PIGEON}"),
    ("opt-out", {"confirm": HOSTILE}, f"Type the name of the host, {PIGEON}"),
    ("list-again", {}, "no owner has opted out exactly this host"),
    ("test", {}, "there is no webhook"),
)


async def test_a_refusal_stands_at_its_field_and_loses_nothing(own_api: Api) -> None:
    _, token = await proven(own_api)
    for action, fields, words in REFUSED:
        told, page = await refused(own_api, token, action, **fields)
        assert words in told, (action, fields)
        assert all(escape(value) in page for name, value in fields.items() if name != "types"), (action, fields)
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 200


async def test_a_limit_is_told_at_its_form(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    _, token = await proven(own_api)
    monkeypatch.setattr("registry.actions.ownership.owning.MAX_CHANGES", 1)
    await decided(own_api, token, "show")
    told, _ = await refused(own_api, token, "recheck", 429)
    assert told == "Too many changes by this owner within an hour. Try again in 1 hour."


async def test_only_a_valid_token_signs_in(own_api: Api) -> None:
    no_token, not_valid = "This is no owner’s token.", "This token is not valid"
    wrong = {
        "": no_token,
        "x\0\u202e<b>": no_token,
        INVENTED.format("claim"): no_token,
        INVENTED.format("owner"): not_valid,
    }
    for token, words in wrong.items():
        answer = await send(own_api, OWNER, {"action": "sign-in", "token": token})
        assert (answer.status_code, "set-cookie" in answer.headers) == (400, False)
        assert words in answer.text and "<title>Error: " in answer.text and "autofocus" in answer.text
        assert "<b>" not in answer.text


async def test_a_session_is_of_its_host_and_ends(own_api: Api) -> None:
    _, token = await proven(own_api)
    other = await send(own_api, "/owner/api.other.example", {"action": "sign-in", "token": token})
    assert "This token belongs to another host." in other.text
    answer = await send(own_api, OWNER, {"action": "sign-in", "token": token})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{OWNER}?done=sign-in")
    unkept = await own_api.get(answer.headers["location"], headers=ASKING)
    assert "keeps no cookies of this registry" in unkept.text, "a browser without cookies"
    answer = await send(own_api, OWNER, {"action": "sign-out"}, **cookie(token))
    assert answer.headers["set-cookie"].startswith('__Secure-waypost-owner=""; ')
    assert "You are signed out" in (await own_api.get(answer.headers["location"], headers=ASKING)).text
    ended = await own_api.get(OWNER, headers={**ASKING, **cookie(INVENTED.format("owner"))})
    assert "This token is not valid" in ended.text and "Max-Age=0" in ended.headers["set-cookie"]


async def test_without_a_session_or_from_another_site_nothing_changes(own_api: Api) -> None:
    _, token = await proven(own_api)
    for action in ("hide", "give-up", "opt-out", "rotate"):
        fields = {"action": action, "confirm": PIGEON}
        answer = await send(own_api, OWNER, fields)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{OWNER}?done=sign-in")
        for site in ("cross-site", "same-site"):
            foreign = await send(own_api, OWNER, fields, Sec_Fetch_Site=site, **cookie(token))
            assert foreign.status_code == 403, "even with the cookie"
    for session in ({}, cookie(INVENTED.format("owner"))):
        late = await send(own_api, OWNER, {"action": "note", "note": HOSTILE}, **session)
        assert "This was not saved." in late.text and escape("<b>Closed</b> \"'>") in late.text
    by_api = await own_api.post(f"/api/owner/{PIGEON}/hide", headers=cookie(token))
    assert by_api.status_code == 401, "the API reads no cookie"
    assert (await send(own_api, OWNER, {"action": "explode"}, **cookie(token))).status_code == 400
    assert '<span class="tag good">yes</span>' in await shown(own_api, token)


async def test_who_opted_out_comes_back_in_the_browser(own_api: Api) -> None:
    _, token = await proven(own_api)
    left = await send(own_api, OWNER, {"action": "opt-out", "confirm": f" {PIGEON.upper()} "}, **cookie(token))
    assert left.status_code == 303
    told = html.unescape((await own_api.get(left.headers["location"], headers=ASKING)).text)
    assert "The host has opted out" in told and f'href="/claim/{PIGEON}"' in told
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 410
    form = (await own_api.get(f"/claim/{PIGEON}", headers=ASKING)).text
    assert "This host has opted out" in form and 'value="file"' not in form and 'value="dns" checked' in form
    _, token = await proven(own_api, "dns")
    page = await shown(own_api, token)
    assert "List it again" in page and "Visit it now" not in page and "opted out <time" in page
    page, _ = await decided(own_api, token, "list-again")
    assert "The opt-out has ended. A visit is queued" in page and "Visit it now" in page
    status = (await own_api.json(f"/api/services/{PIGEON}/status"))["data"]
    assert (status["state"], status["next_visit_at"] is not None) == ("queued", True)


@pytest.mark.parametrize(
    ("host", "how", "words"),
    [
        (PIGEON, "file", 'href="/opt-out/' + PIGEON),
        (PIGEON, "operator", "only an operator lists it again"),
        ("pigeonpost.example", "owner", 'href="/owner/pigeonpost.example"'),
    ],
)
async def test_an_opt_out_of_another_kind_is_explained(own_api: Api, host: str, how: Any, words: str) -> None:
    await own_api.waypost.opt_outs.forget(host, opt_out=how)
    _, token = await proven(own_api, "dns")
    page = await shown(own_api, token)
    assert words in page and "List it again" not in page
