"""The admin area: signing in, what each key sees and may do, refusals at their field, and who did what in the log."""

import html
import re
from typing import Any

import httpx2
import pytest
from markupsafe import escape

from registry.core.access.tokens import SCOPES, Scope
from registry.web import admin
from tests.api.sites import PIGEON
from tests.support.api import Api
from tests.web.sending import ASKING, send
from tests.web.test_html import faults

pytestmark = pytest.mark.slow  # a database and an index for each

HOSTILE = "<b>\"'>\u202e</b>"


async def key_for(api: Api, *scopes: Scope, name: str = "Ann") -> str:
    _, token = await api.waypost.access.make_key(name, scopes, days=None)
    return token.text


def cookie(token: str) -> dict[str, str]:
    return {"Cookie": f"__Secure-waypost-admin={token}"}


async def shown(api: Api, token: str, path: str, status: int = 200) -> str:
    page = await api.get(path, headers={**ASKING, **cookie(token)})
    assert (page.status_code, page.headers["cache-control"]) == (status, "no-store, no-transform"), page.text
    assert token not in page.text and 'content="noindex' in page.text
    assert faults(page.content) is None
    ids = re.findall(r'\bid="([^"]*)"', page.text)
    assert len(ids) == len(set(ids))
    return html.unescape(page.text)


async def decided(api: Api, token: str, path: str, action: str, **fields: Any) -> str:
    """Return the page after a decision."""
    answer = await send(api, path, {"action": action, **fields}, **cookie(token))
    assert answer.status_code == 303, html.unescape(answer.text)
    assert "no-store" in answer.headers["cache-control"]
    return await shown(api, token, answer.headers["location"])


async def refused(api: Api, token: str, path: str, action: str, status: int = 400, **fields: Any) -> tuple[str, str]:
    """Return the words of a refusal, which stand where the focus is, and the page."""
    answer = await send(api, path, {"action": action, **fields}, **cookie(token))
    assert (answer.status_code, answer.headers["cache-control"]) == (status, "no-store, no-transform"), answer.text
    assert "<title>Error: " in answer.text and faults(answer.content) is None
    [focused] = re.findall(r"<[^>]*\bautofocus\b[^>]*>", answer.text)
    [described] = re.findall(r'aria-describedby="([^"]*)"', focused)
    told = [re.search(rf'id="{name}">([^<]*)<', answer.text) for name in described.split() if name.endswith("-fault")]
    assert len(told) == 1 and told[0] is not None
    return html.unescape(told[0][1]), answer.text


async def test_the_area_is_off_without_a_valid_key(own_api: Api) -> None:
    for path in admin.PATHS:
        assert (await own_api.get(path, headers=ASKING)).status_code == 404
    key, token = await own_api.waypost.access.make_key("Ann", ["read"], days=None)
    page = await own_api.get("/admin/jobs", headers=ASKING)
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store, no-transform")
    assert 'name="next" value="/admin/jobs"' in page.text and 'name="token"' in page.text
    begun = await send(own_api, "/admin", {"action": "sign-in", "token": f" {token.text} ", "next": "/admin/jobs"})
    assert (begun.status_code, begun.headers["location"]) == (303, "/admin/jobs?done=sign-in")
    first, *rest = begun.headers["set-cookie"].split("; ")
    assert first == f"__Secure-waypost-admin={token.text}"
    assert {"HttpOnly", "Path=/admin", "SameSite=strict", "Secure"} <= set(rest)
    for elsewhere in ("https://elsewhere.example/", "//elsewhere.example", "/admin/none", ""):
        begun = await send(own_api, "/admin", {"action": "sign-in", "token": token.text, "next": elsewhere})
        assert begun.headers["location"] == "/admin?done=sign-in", elsewhere
    for wrong in ("", "x" * 5_000, "wp_owner_0123456789abcdef_" + "a" * 43, token.text[:-2] + "__", HOSTILE):
        answer = await send(own_api, "/admin", {"action": "sign-in", "token": wrong})
        assert (answer.status_code, "set-cookie" in answer.headers) == (400, False)
        assert "<title>Error: " in answer.text and "wp_owner" not in answer.text
    await own_api.waypost.access.make_key("Ben", ["read"], days=None)
    await own_api.waypost.access.revoke_key(key.id)
    ended = await own_api.get("/admin", headers={**ASKING, **cookie(token.text)})
    assert "it was revoked" in ended.text and ended.headers["set-cookie"].startswith('__Secure-waypost-admin=""; ')
    lost = await send(own_api, "/admin/holds", {"action": "block", "host": PIGEON, "reason": HOSTILE})
    assert "This was not saved." in lost.text and "&lt;b&gt;" in lost.text
    out = await send(own_api, "/admin", {"action": "sign-out"}, **cookie(token.text))
    assert out.headers["set-cookie"].startswith('__Secure-waypost-admin=""; ')


SEES: dict[str, Scope | None] = {
    admin.AREA: None, admin.QUEUE: "queue", admin.HOSTS: None, admin.REPORTS: "reports", admin.HOLDS: "blocks",
    admin.JOBS: "queue", admin.SEEDS: "queue", admin.KEYS: "keys", admin.AUDIT: "audit",
}  # fmt: skip


async def test_each_key_sees_its_pages_and_reading_ones_have_no_form(own_api: Api) -> None:
    assert set(SEES) == set(admin.PATHS)
    reading = await key_for(own_api, "read")
    for path in (*SEES, f"/admin/hosts?host={PIGEON}", "/admin/queue?list=failing", "/admin/queue?list=leased"):
        page = await shown(own_api, reading, path)
        assert re.findall('<button[^>]* name="action" value="([^"]*)"', page) == ["sign-out"], path
    for scope in SCOPES:
        if scope == "read":
            continue
        token = await key_for(own_api, scope)
        for path, needed in SEES.items():
            page = await shown(own_api, token, path, 200 if needed in (None, scope) else 403)
            assert (f'<a href="{path}"' in page) == (needed in (None, scope)) or path == admin.KEYS
    for path, action in (
        (admin.HOLDS, "block"), (admin.HOSTS, "visit"), (admin.HOLDS, "release"), (admin.REPORTS, "resolve"),
        (admin.KEYS, "make-key"), (admin.KEYS, "revoke-key"),
    ):  # fmt: skip
        told, _ = await refused(own_api, reading, path, action, 403, host=PIGEON, reason="x", row="x")
        assert "lacks the scope" in told
        foreign = {**cookie(reading), "Sec_Fetch_Site": "cross-site"}
        answer = await send(own_api, path, {"action": action, "host": PIGEON, "reason": "x"}, **foreign)
        assert answer.status_code == 403 and "Set-Cookie" not in answer.headers
    assert (await own_api.waypost.access.holds(("", "", ""), limit=1)) == []


async def test_a_host_is_looked_up_visited_held_and_released(own_api: Api) -> None:
    token = await key_for(own_api, "blocks", "visits", "audit")
    here = f"/admin/hosts?host={PIGEON}"
    assert "is not known here" in await shown(own_api, token, "/admin/hosts?host=never-seen.com")
    for wrong in ("no host", "x" * 500, HOSTILE, "%00", "https://"):
        page = await own_api.get("/admin/hosts", headers={**ASKING, **cookie(token)}, params={"host": wrong})
        assert (page.status_code, "This is no host name" in page.text) == (400, True)
    page = await shown(own_api, token, f"/admin/hosts?host=https://{PIGEON.upper()}/agent.json")
    assert "Visit it next" in page and "Holds that cover it" not in page
    assert "A visit is queued" in await decided(own_api, token, here, "visit", host=PIGEON, reason="It was mended.")
    page = await decided(own_api, token, here, "block", host=PIGEON, reason="It lies.", row="hold")
    assert "The block is in effect." in page and "Holds that cover it" in page and "by <bdi>Ann</bdi>" in page
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 404
    again = await decided(own_api, token, admin.HOLDS, "block", host=PIGEON, reason="Again.")
    assert "nothing changed" in again and "It lies." in again and "Again." not in again
    told, _ = await refused(own_api, token, here, "visit", 403, host=PIGEON, reason="x", row="visit")
    assert "blocked" in told
    row = f"block-{PIGEON}"
    told, page = await refused(own_api, token, admin.HOLDS, "unblock", host=PIGEON, reason=" ", row=row)
    assert "Write why" in told and "<details open>" in page
    page = await decided(own_api, token, admin.HOLDS, "unblock", host=PIGEON, reason="It was wrong.", row=row)
    assert "The block has ended." in page and "No host is blocked" in page
    page = await decided(own_api, token, admin.HOLDS, "quarantine", host=PIGEON.upper() + ".", reason=HOSTILE)
    assert "<b>" in page
    page = await decided(own_api, token, admin.HOLDS, "release", host=PIGEON, reason="x", row=f"quarantine-{PIGEON}")
    assert (await own_api.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 200
    log = await shown(own_api, token, f"/admin/audit?host={PIGEON}&subject=host&actor=key")
    for action in ("recheck_asked", "blocked", "unblocked", "quarantined", "released"):
        assert f"<code>host.{action}</code>" in log
    for reason in ("It was mended.", "It lies.", "It was wrong."):
        assert reason in log
    assert "There is no such entry" in await shown(own_api, token, "/admin/audit?subject=ownership")
    assert "This is no host name" in await shown(own_api, token, "/admin/audit?host=no+host", 400)
    for path in ("/admin/audit?cursor=x", "/admin/audit?subject=x", "/admin/queue?list=x", "/admin/holds?cursor=%00"):
        answer = await own_api.get(path, headers={**ASKING, **cookie(await key_for(own_api, "read"))})
        assert answer.status_code == 400, path


REFUSED: tuple[tuple[str, str, dict[str, str], str], ...] = (
    (admin.HOLDS, "block", {"host": "", "reason": "x"}, "Write a host."),
    (admin.HOLDS, "block", {"host": HOSTILE, "reason": HOSTILE}, "This is no host name"),
    (admin.HOLDS, "block", {"host": "com", "reason": "x"}, "Not a host"),
    (admin.HOLDS, "quarantine", {"host": PIGEON, "reason": ""}, "Write why"),
    (admin.HOLDS, "quarantine", {"host": PIGEON, "reason": "x" * 501}, "At most 500 characters; these are 501."),
    (admin.HOLDS, "unblock", {"host": PIGEON, "reason": "x", "row": f"block-{HOSTILE}"}, "nothing"),
    (admin.REPORTS, "resolve", {"row": HOSTILE, "state": "accepted", "answer": "x"}, "There is no report"),
    (admin.REPORTS, "resolve", {"row": "x", "state": HOSTILE, "answer": "x"}, "Choose what becomes of the report."),
    (admin.KEYS, "make-key", {"name": "", "scope-read": "yes", "reason": "x"}, "Write whose key it is"),
    (admin.KEYS, "make-key", {"name": HOSTILE, "scope-read": "yes", "reason": "x"}, "printable"),
    (admin.KEYS, "make-key", {"name": "Ben", "reason": "x"}, "Choose what the key may do."),
    (admin.KEYS, "make-key", {"name": "Ben", "scope-read": "yes", "days": "-1", "reason": "x"}, "1 to 3650"),
    (admin.KEYS, "make-key", {"name": "Ben", "scope-read": "yes", "days": "9" * 9, "reason": "x"}, "1 to 3650"),
    (admin.KEYS, "make-key", {"name": "Ben", "scope-read": "yes", "days": "1"}, "Write why"),
    (admin.KEYS, "revoke-key", {"row": "0123456789abcdef", "reason": "x"}, "There is no such key"),
    (admin.KEYS, "revoke-key", {"row": "../keys?\0", "reason": "x"}, "There is no such key"),
)


async def test_a_refusal_stands_at_its_field_and_loses_nothing(own_api: Api) -> None:
    token = await key_for(own_api, "blocks", "reports", "keys", "read")
    for path, action, fields, words in REFUSED:
        if words == "nothing":
            assert "nothing changed" in await decided(own_api, token, path, action, **fields)
            continue
        status = 404 if words.startswith("There is no") else 400
        told, page = await refused(own_api, token, path, action, status, **fields)
        assert words in told, (action, fields)
        assert "row" in fields or all(escape(fields[name]) in page for name in fields if not name.startswith("scope"))
    for path, action in ((admin.HOLDS, "make-key"), (admin.KEYS, "block"), (admin.AREA, "none"), (admin.AREA, "")):
        assert (await send(own_api, path, {"action": action}, **cookie(token))).status_code == 400
    assert len(await own_api.waypost.access.keys()) == 1


async def test_a_report_is_answered_and_keys_are_made_and_revoked(own_api: Api) -> None:
    token = await key_for(own_api, "reports", "keys", "queue")
    filed = await own_api.post("/api/reports", json={"domain": PIGEON, "reason": HOSTILE * 3, "code": "dead"})
    status_url = filed.json()["data"]["status_url"]
    page = await shown(own_api, token, "/admin")
    assert "1 open report" in page
    page = await shown(own_api, token, admin.REPORTS)
    found = re.search(r'name="row" value="([^"]*)"', page)
    assert found is not None and "It is not offered any more." in page
    told, _ = await refused(own_api, token, admin.REPORTS, "resolve", row=found[1], state="accepted", answer="")
    assert told == "Write an answer."
    page = await decided(own_api, token, admin.REPORTS, "resolve", row=found[1], state="accepted", answer="It is gone.")
    assert "The report is in its new state." in page and "No report is open." in page
    assert "It is gone." in await shown(own_api, token, f"{admin.REPORTS}?state=decided")
    assert (await own_api.get(status_url)).json()["data"]["answer"] == "It is gone."

    made = await send(
        own_api, admin.KEYS, {"action": "make-key", "name": "Ben", "scope-queue": "on", "reason": "Help."},
        **cookie(token)
    )  # fmt: skip
    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store, no-transform")
    new = re.search("wp_key_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", made.text)
    assert new is not None and new[0] not in await shown(own_api, token, admin.KEYS)
    assert "signed in: <bdi>Ben</bdi>" in await shown(own_api, new[0], admin.QUEUE)
    page = await decided(own_api, token, admin.KEYS, "revoke-key", row=new[0].split("_")[2], reason="Done.")
    assert "The key is revoked." in page
    gone = await own_api.get(admin.QUEUE, headers={**ASKING, **cookie(new[0])})
    assert 'name="token"' in gone.text
    own = await send(own_api, admin.KEYS, {"action": "revoke-key", "row": token.split("_")[2], "reason": "Lost."},
        **cookie(token))  # fmt: skip
    assert own.headers["location"] == "/admin?done=own-key" and '=""; ' in own.headers["set-cookie"]
    reader: httpx2.Response = await own_api.get(
        "/admin/audit", headers={**ASKING, **cookie(await key_for(own_api, "audit"))}
    )
    assert "Done." in reader.text and "Lost." in reader.text and "Help." in reader.text
