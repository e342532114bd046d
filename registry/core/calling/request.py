"""A request with example values: as data, and as a line of `curl`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from registry.core.calling.credentials import Credential, is_header_name
from registry.core.calling.template import Address, Style, expand_url, form_pairs, text_of
from registry.core.wording.command_line import Unquotable, command_line, json_text

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

_NO_BODY: Final = object()
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(slots=True)
class ExampleRequest:
    """One request with example values. `body` is a JSON value; `content_type` says how it is written. `styles` are of
    values in the path, `form_styles` of members of a form."""

    method: str
    address: Address
    path: dict[str, Any] = field(default_factory=dict)
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[tuple[str, str]] = field(default_factory=list)
    body: Any = _NO_BODY
    content_type: str | None = None
    styles: dict[str, Style] = field(default_factory=dict)
    form_styles: dict[str, Style] = field(default_factory=dict)

    @property
    def has_body(self) -> bool:
        return self.body is not _NO_BODY

    def add_header(self, name: str, value: Any) -> None:
        """Set a header, unless its name could not be one; control characters of the value become blanks."""
        if is_header_name(name):
            for known in [known for known in self.headers if known.lower() == name.lower()]:
                del self.headers[known]
            self.headers[name] = _CONTROL.sub(" ", text_of(value)).strip()

    def add(self, credential: Credential) -> None:
        """Put a credential where it belongs; one without a place is left out."""
        name = credential.name or ""
        if credential.place == "header":
            self.add_header(name, credential.value)
        elif credential.place == "query":
            self.query = [pair for pair in self.query if pair[0] != name] + [(name, credential.value)]
        elif credential.place == "cookie":
            self.add_cookie(name, credential.value)
        elif credential.place == "path":
            self.path[name] = credential.value
        elif credential.place == "body" and (not self.has_body or isinstance(self.body, dict)):
            self.body = {**(self.body if self.has_body else {}), name: credential.value}

    def add_cookie(self, name: str, value: Any) -> None:
        """Add a cookie, unless its name could not be one (RFC 6265 section 4.1.1)."""
        if is_header_name(name):
            self.cookies = [pair for pair in self.cookies if pair[0] != name]
            self.cookies.append((name, re.sub(r"[\x00-\x20\x7f\",;\\]+", "_", text_of(value))))

    @property
    def url(self) -> str:
        return expand_url(self.address, self.path, self.query, self.styles)

    @property
    def all_headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies)
        if self.has_body and self.content_type:
            headers.setdefault("Content-Type", self.content_type)
        return headers

    def to_json(self) -> dict[str, Any]:
        example: dict[str, Any] = {"method": self.method, "url": self.url, "headers": self.all_headers}
        return {**example, "body": self.body} if self.has_body else example

    def curl(self) -> str:
        """Return the request as a line of `curl` for every shell. Raise Unquotable."""
        words = ["curl", "--globoff", "--request", self.method, "--url", self.url]
        is_multipart = self.has_body and self.content_type == MULTIPART
        for name, value in self.all_headers.items():
            if not (is_multipart and name == "Content-Type"):  # curl adds the boundary
                words += ["--header", f"{name}: {value}" if value else f"{name};"]  # curl sends no header `name: `
        if is_multipart:
            for name, text in self._form_pairs(self.body if isinstance(self.body, Mapping) else {}):
                if not name or "=" in name:
                    raise Unquotable("curl cannot send a form field with this name")
                words += ["--form-string", f"{name}={text}"]
        elif self.has_body and self.content_type == FORM and isinstance(self.body, Mapping):
            words += ["--data-raw", urlencode(self._form_pairs(self.body))]
        elif self.has_body:
            is_json = self.content_type is None or "json" in self.content_type or not isinstance(self.body, str)
            words += ["--data-raw", json_text(self.body) if is_json else str(self.body)]
        return command_line(words)

    def _form_pairs(self, body: Mapping[str, Any]) -> list[tuple[str, str]]:
        items = ((name, value, self.form_styles.get(name)) for name, value in body.items())
        return [pair for item in items for pair in form_pairs(*item)]
