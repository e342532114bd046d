"""A form that comes back names its wrong field: in the title, by the focus, and beside the field; nothing is lost."""

import re

import pytest

from tests.api.sites import PIGEON
from tests.support.api import Api
from tests.web.test_html import ASKING, faults

pytestmark = pytest.mark.asyncio(loop_scope="module")

FORM = {**ASKING, "Content-Type": "application/x-www-form-urlencoded"}
HOSTILE = "%22%3E%3Cb%3E+%27"
KEPT = "&#34;&gt;&lt;b&gt;"


@pytest.mark.parametrize(
    ("path", "body", "field", "is_kept"),
    [
        ("/check", "document=&at=" + HOSTILE, "document", True),
        ("/check", "document=%7B%7D&at=" + HOSTILE, "at", True),
        ("/check", "download=site&target=" + HOSTILE, "target", True),
        ("/submit", "hosts=" + HOSTILE, "hosts", True),
        ("/opt-out", "host=" + HOSTILE, "host", True),
        ("/opt-out", f"host={PIGEON}&confirm=other.example", "confirm", False),
        (f"/s/{PIGEON}/report", "code=dead&reason=x", "reason", False),
        ("/claims", "host=" + HOSTILE, "host", True),
        ("/claims", "token=" + HOSTILE, "token", False),
        (f"/owner/{PIGEON}", "action=sign-in&token=" + HOSTILE, "token", False),
        ("/compare?host=" + HOSTILE, None, "host1", True),
    ],
)
async def test_the_wrong_field_is_named(api: Api, path: str, body: str | None, field: str, is_kept: bool) -> None:
    if body is None:
        answer = await api.get(path, headers=ASKING)
    else:
        answer = await api.client.post(path, headers=FORM, content=body)
        assert answer.status_code in (400, 401), answer.text[:2_000]
    assert faults(answer.content) is None
    assert "<title>Error: " in answer.text
    (focused,) = re.findall(r"<[a-z]+ [^>]*\bautofocus\b[^>]*>", answer.text)
    assert f' id="{field}"' in focused and ' aria-invalid="true"' in focused
    described = re.search(r'aria-describedby="([^"]*)"', focused)
    assert described is not None
    for name in described[1].split():
        assert answer.text.count(f' id="{name}"') == 1
    assert (KEPT in answer.text) is is_kept
    assert "<b>" not in answer.text.partition("<main")[2]
