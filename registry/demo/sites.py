"""Recorded web sites in a folder: the file `DIR/<host>/<path>` is the body of that path, `_index` that of its folder.

An optional `_site.json` per host describes other behaviour; every key is optional:

    {"state": "dead" | "untrusted",             connections are refused | the certificate is untrusted
     "missing": {"status": 200, "path": "/"},   the response of every unknown path (default: 404)
     "paths": {"/x": {"status": 301, "headers": {"Location": "/y"}, "delay": 0.2, "path": "/file"}}}

`path` names another recorded body; `{path}` in a header is replaced by the requested path.
The file extension sets the media type; without a known one, the content does: `.well-known/agent` is JSON.
Hidden folders, such as `.git`, are no sites.
"""

import hashlib
import json
import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from registry.core.names.domains import InvalidName, canonical_host, host_syntax

SAMPLE_WEB = Path(__file__).parent / "web"
"""The sites of `make demo`, in this layout."""

INDEX = "_index"
SITE = "_site.json"
_EXAMPLE = "bikes.example/.well-known/agent.json"
_MAX_CHARS = 60  # of added paths: no file system has a shorter limit, in any encoding

_HEAD_BYTES = 2_048  # enough to recognise the content of a file
_HTML = re.compile(r"<(!doctype\s+html|html|head|body|title|meta|h[1-6]|p|div|main)\b", re.IGNORECASE)
_XML = re.compile(r"<(\?xml|[a-z_!])", re.IGNORECASE)
_YAML = re.compile(r"(%YAML |---\s|(#.*\n|\n)*\w[\w.-]*:(\s.*)?\n([ #-].*\n|\n)*\w[\w.-]*:\s)")  # two keys, or a mark
_MARKDOWN = re.compile(r"#{1,6} |[-*] |> ")

_TYPES = {".json": "application/json", ".md": "text/markdown", ".yaml": "application/yaml", ".yml": "application/yaml"}


class BadSite(ValueError):
    """A folder or `_site.json` that cannot be served; the message names the file."""


class Behaviour(BaseModel):
    """The response of one path, or of every missing one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: int | None = Field(default=None, ge=100, le=599)
    headers: dict[str, str] = {}
    delay: float = Field(default=0.0, ge=0, le=60)
    path: str | None = None


class SiteFile(BaseModel):
    """`_site.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Literal["up", "dead", "untrusted"] = "up"
    missing: Behaviour = Behaviour(status=404)
    paths: dict[str, Behaviour] = {}


@dataclass(frozen=True, slots=True)
class Reply:
    """A site's response. `body` is read for each request, so edits of the file take effect at once."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    delay: float = 0.0


@dataclass(frozen=True)
class Site:
    folder: Path
    files: Mapping[str, Path] = field(repr=False)  # path as requested -> file
    file: SiteFile = field(default_factory=SiteFile)

    @property
    def host(self) -> str:
        return self.folder.name

    def reply(self, path: str) -> Reply:
        """Return the response to GET `path` (without query). Files may be added and removed at any time."""
        behaviour = self.file.paths.get(path)
        if behaviour is None:
            behaviour = Behaviour() if self._source(path) else self.file.missing
        extra = {name: value.replace("{path}", path) for name, value in behaviour.headers.items()}
        source = self._source(behaviour.path or path)
        if source is None:
            status = behaviour.status or 404
            return Reply(status, {"Content-Type": "text/plain", **extra}, f"{status}\n".encode(), behaviour.delay)
        body = source.read_bytes()
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers = {"Content-Type": media_type(behaviour.path or path, source, body), "ETag": etag}
        return Reply(behaviour.status or 200, headers | extra, body, behaviour.delay)

    def _source(self, path: str) -> Path | None:
        """Return the file of a path, even if it was added after the site was loaded, or None."""
        if (known := self.files.get(path)) is not None:
            return known if known.is_file() else None
        names = path.removeprefix("/").split("/")
        if any(name in ("", ".", "..", SITE, INDEX) or "\0" in name for name in names) or len(path) > _MAX_CHARS:
            return None
        added = self.folder.joinpath(*names)
        is_inside = added.is_file() and added.resolve() == self.folder.resolve().joinpath(*names)  # without links
        return added if is_inside else None


def media_type(path: str, source: Path, body: bytes) -> str:
    """Return the media type by file extension (for an `_index`, that of its path), else by content.

    The home page is HTML.
    """
    if path == "/":
        return "text/html; charset=utf-8"
    suffix = Path(path).suffix.lower() if source.name == INDEX else source.suffix.lower()
    kind = _TYPES.get(suffix) or mimetypes.types_map.get(suffix) or _type_by_content(body)
    return f"{kind}; charset=utf-8" if kind.startswith("text/") and kind != _TYPES[".md"] else kind


def _type_by_content(body: bytes) -> str:
    head = body[:_HEAD_BYTES].decode("utf-8-sig", "replace")
    if "\0" in head or "\ufffd" in head[:-1]:  # the last character may be cut in two
        return "application/octet-stream"
    text = head.lstrip()
    if text.startswith(("{", "[")):
        return _TYPES[".json"]
    if _HTML.match(text):
        return "text/html"
    if _XML.match(text):
        return "application/xml"
    if _YAML.match(text):
        return _TYPES[".yaml"]
    return _TYPES[".md"] if _MARKDOWN.match(text) else "text/plain"


def load_sites(folder: Path, refused: Callable[[BadSite], None] | None = None) -> dict[str, Site]:
    """Return all sites of a folder by host, sorted by name. Raise BadSite for an empty folder.

    `refused`: gets the errors of single sites, which are left out; without it they are raised.
    """
    if not folder.is_dir():
        raise BadSite(f"{folder} is not a folder")
    sites: dict[str, Site] = {}
    errors: list[BadSite] = []
    for entry in site_folders(folder):
        try:
            sites[entry.name] = load_site(entry)
        except BadSite as error:
            errors.append(error)
    if errors and (refused is None or not sites):
        raise errors[0]
    if not sites:
        raise BadSite(f"{folder} holds no site: a file is expected at {folder}/HOST/PATH, such as {_EXAMPLE}")
    if refused is not None:
        for left_out in errors:
            refused(left_out)
    return sites


def site_folders(folder: Path) -> list[Path]:
    """Return the folders of the sites, sorted by name. Raise OSError."""
    return [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and not entry.name.startswith(".")]


def load_site(folder: Path) -> Site:
    """Return the site of one folder, which is named as its host. Raise BadSite."""
    try:
        host = host_syntax(folder.name)
        canonical_host(host, exempt={host})
    except InvalidName as error:
        raise BadSite(f"{folder}: the name of the folder is not a host name: {error}") from None
    if host != folder.name:
        raise BadSite(f"{folder}: the host is spelled {host}; name the folder so")
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path == folder / SITE:
            continue
        parts = path.relative_to(folder).parts
        files["/" + "/".join(parts[:-1] if parts[-1] == INDEX else parts)] = path
    return Site(folder, files, _site_file(folder / SITE))


def _site_file(path: Path) -> SiteFile:
    if not path.exists():
        return SiteFile()
    try:
        value: Any = json.loads(path.read_bytes())
        return SiteFile.model_validate(value)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise BadSite(f"{path}: {faults}") from error
    except ValueError as error:
        raise BadSite(f"{path}: {error}") from error
