"""The engine's published description of its API (OpenAPI 3.1), as a judge of requests.

Two things in it are mended on load, and the tests assert that both are still needed: `facets` of a search is described
as an object where the server takes a list, and nearly no schema refuses what it does not know.
"""

import copy
import json
import re
from typing import Any

import jsonschema_rs

from tests.search.capture import Call
from tests.support.shared import shared

Json = dict[str, Any]


class Judge:
    def __init__(self) -> None:
        self.published: Json = json.loads(shared("contracts", "meilisearch-openapi-1.53.0.json").read_text())
        self._mended = mended(self.published)
        self._paths = [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), path) for path in self._mended["paths"]]

    def route(self, call: Call) -> str:
        """The most literal path of the description that fits."""
        fitting = [path for pattern, path in self._paths if pattern.fullmatch(call.path)]
        assert fitting, f"the description has no {call.path}"
        return min(fitting, key=lambda path: path.count("{"))

    def faults(self, call: Call) -> list[str]:
        """What the description has against the call."""
        path = self.route(call)
        operation = self._mended["paths"][path].get(call.method.lower())
        if operation is None:
            return [f"{path} has no {call.method}"]
        return [*self._parameters(operation, call), *self._body(operation, call)]

    def _parameters(self, operation: Json, call: Call) -> list[str]:
        known = {one["name"]: one for one in operation.get("parameters", []) if one["in"] == "query"}
        unknown = [f"no parameter {name}" for name in call.query if name not in known]
        missing = [
            f"{name} is missing" for name, one in known.items() if one.get("required") and name not in call.query
        ]
        return unknown + missing

    def _body(self, operation: Json, call: Call) -> list[str]:
        described = operation.get("requestBody")
        if described is None:
            return [] if call.body is None else ["no body is expected"]
        if call.body is None:
            return ["a body is expected"] if described.get("required") else []
        media = call.headers["content-type"].partition(";")[0]
        if media == "application/x-ndjson":
            return [] if all(isinstance(one, dict) and one.get("id") for one in call.body) else ["not lines of objects"]
        schema = described["content"][media]["schema"] | {"components": self._mended["components"]}
        return [error.message for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(call.body)]


def mended(published: Json) -> Json:
    document = copy.deepcopy(published)
    schemas = document["components"]["schemas"]
    schemas["AttributePatterns"] = {"type": "array", "items": {"type": "string"}}
    for schema in schemas.values():
        if schema.get("type") == "object" and "properties" in schema and "allOf" not in schema:
            schema.setdefault("additionalProperties", False)
    return document
