"""The access log: a line for each request, without addresses, queries or tokens."""

import json

import httpx2
from structlog.testing import capture_logs

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose
from tests.support.api import Api

SECRET = "zqsecretqz"


async def test_a_request_is_a_line_without_what_a_client_sent(own_api: Api) -> None:
    settings = own_api.waypost.settings.model_copy(update={"access_log": True})
    app = compose(interfaces_of(own_api.waypost, settings), settings)
    lines = []
    for peer in ("203.0.113.77", "2001:db8:1:2::7"):
        transport = httpx2.ASGITransport(app=app, client=(peer, 50_000))
        async with httpx2.AsyncClient(transport=transport, base_url="http://registry.example") as client:
            for method, path in (
                ("GET", f"/api/services?q={SECRET}"), ("GET", f"/api/services/{SECRET}.example"),
                ("GET", f"/{SECRET}"), (SECRET.upper(), "/api/rubric"), ("GET", "/healthz"),
                ("GET", "/api/discover?q=letters"), ("GET", "/api/discover?q=letters"),
            ):  # fmt: skip
                headers = {"Authorization": f"Bearer {SECRET}", "Referer": SECRET, "User-Agent": SECRET}
                with capture_logs() as logs:
                    response = await client.request(method, path, headers=headers)
                found = [one for one in logs if one["event"] == "request"]
                assert len(found) == (path != "/healthz"), (path, logs)
                lines += found
                for line in found:
                    assert line["status"] == response.status_code
                    assert line["request_id"] == response.headers["x-request-id"]
                    assert line["bytes"] == int(response.headers.get("content-length", line["bytes"]))
    assert [line["route"] for line in lines[:6]] == [
        "/api/services", "/api/services/{domain}", "unmatched", "/api/rubric", "/api/discover", "/api/discover"
    ]  # fmt: skip
    assert {line["client"] for line in lines} == {"203.0.113.0/24", "2001:db8:1::/48"}
    said = json.dumps(lines)
    assert SECRET not in said and SECRET.upper() not in said
