"""Read the answers of an operation: schema and description of success, and its errors."""

from typing import Any, Final

from registry.core.format_support.manifest import Object, map_of, text_of
from registry.core.formats.openapi.inputs import chosen_content
from registry.core.formats.openapi.schemas import OpenApiSchemas
from registry.core.model.documents import Json

MAX_ERRORS: Final = 20
ERROR_CHARS: Final = 300
_CODE_CHARS: Final = 3  # "404", or "4XX" for a class


def result_of(operation: Object, s: OpenApiSchemas) -> tuple[dict[str, Any] | None, str | None]:
    """Return schema and description of the first successful (2xx) answer, or of the default one."""
    responses = map_of(operation, "responses")
    code = min((code for code in responses if code.startswith("2") and len(code) == _CODE_CHARS), default=None)
    if code is None and "default" in responses:
        code = "default"
    response = s.resolve(responses.get(code)) if code is not None else {}
    _, content = chosen_content(response)
    held = response.get("schema") if content is None else content.get("schema")
    schema = s.whole(held)
    example = _read_example(response, content)
    if example is not None and "examples" not in (schema or {}) and (written := s.whole({"examples": [example]})):
        schema = {**(schema or {}), **written}
    return schema, s.text(text_of(response, "description"))


def errors_of(operation: Object, s: OpenApiSchemas) -> dict[str, str]:
    """Return the descriptions of the 4xx and 5xx answers, by code."""
    responses = map_of(operation, "responses")
    codes = [code for code in responses if code.startswith(("4", "5")) and len(code) == _CODE_CHARS][:MAX_ERRORS]
    texts = {code: s.text(text_of(s.resolve(responses[code]), "description", ERROR_CHARS)) for code in codes}
    return {code: text for code, text in texts.items() if text}


def _read_example(response: Object, content: Object | None) -> Json:
    """Return the example of an answer; OpenAPI 2.0 lists them by media type."""
    if content is None:
        return next(iter(map_of(response, "examples").values()), None)
    if "example" in content:
        return content["example"]
    first = next(iter(map_of(content, "examples").values()), None)
    return first.get("value") if isinstance(first, dict) else None
