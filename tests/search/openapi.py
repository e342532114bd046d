"""The engine's published API description (OpenAPI 3.1), used to check requests.

Two errors in it are corrected on load, and the tests assert that both corrections are still needed: `facets` of a
search is described as an object where the server takes a list, and nearly no schema refuses unknown properties.
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
        self._corrected = corrected(self.published)
        self._paths = [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), path) for path in self._corrected["paths"]]

    def route(self, call: Call) -> str:
        """Return the most literal path of the description that matches."""
        matching = [path for pattern, path in self._paths if pattern.fullmatch(call.path)]
        assert matching, f"the description has no {call.path}"
        return min(matching, key=lambda path: path.count("{"))

    def faults(self, call: Call) -> list[str]:
        """Return the violations of the description by the call."""
        path = self.route(call)
        operation = self._corrected["paths"][path].get(call.method.lower())
        if operation is None:
            return [f"{path} has no {call.method}"]
        return [*self._parameters(operation, call), *self._body(operation, call)]

    def _parameters(self, operation: Json, call: Call) -> list[str]:
        declared = {
            parameter["name"]: parameter for parameter in operation.get("parameters", []) if parameter["in"] == "query"
        }
        unknown = [f"no parameter {name}" for name in call.query if name not in declared]
        missing = [
            f"{name} is missing"
            for name, parameter in declared.items()
            if parameter.get("required") and name not in call.query
        ]
        return unknown + missing

    def _body(self, operation: Json, call: Call) -> list[str]:
        request_body = operation.get("requestBody")
        if request_body is None:
            return [] if call.body is None else ["no body is expected"]
        if call.body is None:
            return ["a body is expected"] if request_body.get("required") else []
        media_type = call.headers["content-type"].partition(";")[0]
        if media_type == "application/x-ndjson":
            return (
                [] if all(isinstance(line, dict) and line.get("id") for line in call.body) else ["not lines of objects"]
            )
        schema = request_body["content"][media_type]["schema"] | {"components": self._corrected["components"]}
        return [error.message for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(call.body)]


def corrected(published: Json) -> Json:
    document = copy.deepcopy(published)
    schemas = document["components"]["schemas"]
    schemas["AttributePatterns"] = {"type": "array", "items": {"type": "string"}}
    for schema in schemas.values():
        if schema.get("type") == "object" and "properties" in schema and "allOf" not in schema:
            schema.setdefault("additionalProperties", False)
    return document
