"""`as=` gives a capability as a tool definition that a model can be handed, with the call that its arguments fill."""

from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest

from registry.core.calling.tools import ToolDefinition
from tests.api.sites import BIKES, CARD, PIGEON
from tests.api.test_contract import LISTED
from tests.api.test_openapi import DOCUMENT, resolved
from tests.core.calling.test_tools import FORMS, check
from tests.support.api import PUBLIC_URL, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def tool(api: Api, host: str, name: str, form: str = "openai-tool") -> Any:
    answer = await api.json(f"/api/services/{host}/capabilities/{quote(name, safe='')}", **{"as": form})
    schema = resolved({"$ref": "#/components/schemas/CapabilityAsTool", **DOCUMENT})
    jsonschema_rs.validate(schema, answer)
    return answer["data"]


async def test_every_listed_capability_is_a_tool_and_no_two_share_a_name(api: Api) -> None:
    names = []
    for host in LISTED:
        for entry in (await api.json(f"/api/services/{host}"))["data"]["manifest"]["capabilities"]:
            record = await api.json(f"/api/services/{host}/capabilities/{quote(entry['name'], safe='')}")
            for form in FORMS:
                data = await tool(api, host, entry["name"], form)
                made = ToolDefinition(data["tool"], data["renamed"], data["fills"], data["left_out"])
                check(form, made)
                assert data["as"] == form
                assert (data["call"], data.get("missing")) == (record["call"], record.get("missing"))
                assert data["record_url"].startswith(f"{PUBLIC_URL}/api/services/{host}/capabilities/")
            names.append(data["tool"]["name"])
    assert len(set(names)) == len(names) >= 10


async def test_a_definition_takes_what_the_call_takes(api: Api) -> None:
    data = await tool(api, PIGEON, "create_parcel")
    parameters = data["tool"]["function"]["parameters"]
    assert list(parameters["properties"]) == [row["name"] for row in data["call"]["request"]["parameters"]]
    assert jsonschema_rs.is_valid(parameters, data["call"]["arguments"])
    agent = await tool(api, CARD, "Book a table", "anthropic-tool")
    assert (list(agent["tool"]["input_schema"]["properties"]), agent["fills"]) == (
        ["text"], "/example/body/params/message/parts/0/text",
    )  # fmt: skip
    bike = await tool(api, BIKES, "rent_bike", "mcp-tool")
    assert "ask a person before calling" in bike["tool"]["description"]


async def test_a_capability_without_a_call_is_a_tool_that_says_what_is_missing(api: Api) -> None:
    data = await tool(api, PIGEON, "price_parcel")
    assert (data["call"], data["fills"], data["missing"]["reason"]) == (None, None, "detail_missing_at_site")
    assert data["tool"]["function"]["name"]


@pytest.mark.parametrize("form", ["openai", "", "<b>"])
async def test_another_form_is_refused_with_what_is_allowed(api: Api, form: str) -> None:
    response = await api.get(f"/api/services/{PIGEON}/capabilities/create_parcel", params={"as": form})
    assert (response.status_code, response.json()["type"]) == (400, "/api/problems/invalid-parameter")
    assert response.json()["detail"] == "as: must be one of openai-tool, anthropic-tool, mcp-tool"
