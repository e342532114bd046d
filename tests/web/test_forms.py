"""What every form has in common: whose forms are taken, how large they may be, and what is not read at all."""

import httpx2
import pytest

from registry.web.check import PATH as CHECK
from registry.web.public_forms import OPT_OUT, SUBMIT
from tests.api.sites import PIGEON
from tests.support.api import PUBLIC_URL, Api
from tests.web.sending import ASKING, send, send_raw

pytestmark = pytest.mark.asyncio(loop_scope="module")

FORMS = [(CHECK, {"document": "{}"}), (SUBMIT, {"hosts": "no host"}), (OPT_OUT, {"host": "no host"})]


def assert_page(answer: httpx2.Response, status: int) -> None:
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(("path", "fields"), FORMS)
@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
async def test_forms_of_pages_of_other_sites_are_refused(
    api: Api, path: str, fields: dict[str, str], site: str
) -> None:
    answer = await send(api, path, fields, Sec_Fetch_Site=site, Origin=PUBLIC_URL)
    assert_page(answer, 403)
    assert "not sent from here" in answer.text


@pytest.mark.parametrize("origin", ["null", "https://evil.example", f"{PUBLIC_URL}.evil.example", "https://"])
async def test_forms_of_other_origins_are_refused_where_the_browser_does_not_name_the_site(
    api: Api, origin: str
) -> None:
    headers = {**ASKING, "Content-Type": "application/x-www-form-urlencoded", "Origin": origin}
    assert_page(await api.post(CHECK, content=b"document=1", headers=headers), 403)


@pytest.mark.parametrize("headers", [{}, {"Origin": PUBLIC_URL}, {"Origin": "http://10.1.1.1", "Host": "10.1.1.1"}])
async def test_forms_from_here_and_of_programs_are_taken(api: Api, headers: dict[str, str]) -> None:
    sent = {**ASKING, "Content-Type": "application/x-www-form-urlencoded", **headers}
    assert_page(await api.post(CHECK, content=b"document=1", headers=sent), 200)
    assert_page(await send(api, CHECK, {"document": "1"}, Sec_Fetch_Site="none"), 200)


@pytest.mark.parametrize(
    "body",
    [
        b"document=1&other=2",
        b"document=1&document=2",
        b"document=%ff",
        b"document=\xff",
        b"&".join(b"f%d=" % number for number in range(100)),
    ],
)
async def test_forms_that_no_page_sends_are_refused(api: Api, body: bytes) -> None:
    for path in (CHECK, SUBMIT, OPT_OUT):
        assert_page(await send_raw(api, path, body), 400)


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", "text/plain", ""])
async def test_only_forms_are_read(api: Api, kind: str) -> None:
    assert_page(await send_raw(api, CHECK, b"document=1", Content_Type=kind), 415)


async def test_small_forms_take_little(api: Api) -> None:
    for path, name, most in ((SUBMIT, "hosts", 262_144), (OPT_OUT, "host", 8_192)):
        assert_page(await send(api, path, {name: "x" * most}), 413)
    assert_page(await send(api, CHECK, {"document": "x" * 5_000_000}), 413)


async def test_other_methods_have_a_page(api: Api) -> None:
    answer = await api.client.put(CHECK, content=b"", headers=ASKING)
    assert_page(answer, 405)


async def test_pages_with_forms_tell_their_origin(api: Api) -> None:
    for path in (CHECK, SUBMIT, OPT_OUT, f"/opt-out/{PIGEON}"):
        assert '<meta name="referrer" content="same-origin">' in (await api.get(path, headers=ASKING)).text
