"""Asking for another visit, and reporting an entry, with forms."""

import re

import pytest

from registry.actions.frontier.recheck import AGAIN_AFTER, MOST_OF_CLIENT, MOST_OF_CLIENT_AND_DOMAIN, MOST_OF_DOMAIN
from tests.api.sites import PIGEON
from tests.support.api import Api
from tests.support.shared import ROOT
from tests.web.test_html import ASKING

FORM = {**ASKING, "Content-Type": "application/x-www-form-urlencoded"}
FOREIGN = {**FORM, "Sec-Fetch-Site": "cross-site"}


async def test_a_visit_is_asked_for_and_the_page_says_so(own_api: Api) -> None:
    path = f"/s/{PIGEON}/recheck"
    answer = await own_api.client.post(path, headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    page = (await own_api.get(path, headers=ASKING)).text
    assert "A visit was asked for" in page
    state = (await own_api.json(f"/api/services/{PIGEON}/status"))["data"]
    assert state["submitted_at"] is not None


async def test_the_bounds_of_visits_are_stated_as_they_are(own_api: Api) -> None:
    page = (await own_api.get(f"/s/{PIGEON}/recheck", headers=ASKING)).text
    assert f"one client gets {MOST_OF_CLIENT_AND_DOMAIN} visits to a domain within a day" in page
    assert f"all clients together get {MOST_OF_DOMAIN}, and no visit" in page
    assert f"less than {AGAIN_AFTER.seconds} seconds after the last one" in page
    assert f"{MOST_OF_DOMAIN} times a day in\nall for a domain" in (await own_api.get("/bot")).text
    assert (
        f"within a minute, one client may ask for {MOST_OF_CLIENT_AND_DOMAIN} visits to a domain in 24 hours and for "
        f"{MOST_OF_CLIENT} in all, and all clients together for {MOST_OF_DOMAIN} to a domain"
    ) in (ROOT / "docs/operators.md").read_text(encoding="utf-8")


async def test_a_visit_of_an_unknown_host_is_an_error(own_api: Api) -> None:
    answer = await own_api.client.post("/s/unknown.example.com/recheck", headers=FORM)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("page", ["recheck", "report"])
async def test_forms_of_other_sites_are_refused(own_api: Api, page: str) -> None:
    answer = await own_api.client.post(f"/s/{PIGEON}/{page}", headers=FOREIGN, content="code=dead&reason=It+is+gone")
    assert answer.status_code == 403
    assert (await own_api.json(f"/api/services/{PIGEON}/status"))["data"]["submitted_at"] is None


async def test_a_report_shows_its_secret_address_once(own_api: Api) -> None:
    path = f"/s/{PIGEON}/report"
    reason = "It+%3Cb%3Eis%3C%2Fb%3E+gone+since+Monday"
    filed = await own_api.client.post(path, headers=FORM, content=f"code=dead&reason={reason}")
    assert (filed.status_code, filed.headers["cache-control"]) == (200, "no-store, no-transform")
    found = re.search(r'href="(/reports/wp_report_[^"]+)"', filed.text)
    assert found is not None
    page = await own_api.get(found[1], headers=ASKING)
    assert page.status_code == 200
    assert "Nobody has looked at it yet." in page.text
    assert "It is not offered any more." in page.text
    assert "<b>is</b>" not in page.text
    assert "no-store" in page.headers["cache-control"]
    again = await own_api.client.post(path, headers=FORM, content=f"code=dead&reason={reason}")
    assert "/reports/wp_report_" not in again.text


async def test_a_report_without_words_is_asked_for_again(own_api: Api) -> None:
    path = f"/s/{PIGEON}/report"
    answer = await own_api.client.post(path, headers=FORM, content="code=spam&reason=no")
    assert answer.status_code == 400
    assert 'aria-invalid="true"' in answer.text
    assert '<option value="spam" selected>' in answer.text
    assert (await own_api.client.post(path, headers=FORM, content="code=none&reason=something")).status_code == 400
    assert (await own_api.client.post(path, headers=FORM, content="other=1&reason=something")).status_code == 400
