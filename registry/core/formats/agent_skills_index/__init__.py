"""Agent Skills discovery 0.1 and 0.2: files of instructions that agents read. Nothing in it can be called."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.format_support import loose, manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import first_link, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import ID_CHARS, Notes, Object, list_of, short_text_of, text_of, texts_of
from registry.core.format_support.probing import ProbePath, Topic
from registry.core.format_support.security import own_auth
from registry.core.format_support.shapes import TEXT
from registry.core.formats.agent_skills_index import rules
from registry.core.model.documents import Document, Json
from registry.core.model.findings import rules_in
from registry.core.model.services import Capability, Invocation, Origin, Service
from registry.core.reading.json_pointer import at

SLUG: Final = "agent-skills-index"
_SCHEMA: Final = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_FILE = re.compile(r"\.(md|zip|tar\.gz)$")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_DESCRIPTION_CHARS: Final = 1_024
_AD_HOC: Final = "adhoc"
_TARGETS: Final = ("url", "href", "path", "location")
_READ: Final = frozenset({"$schema", "name", "description", "skills", "publisher", "url", "tags", "license"})
_SKILL_READ: Final = frozenset({
    "id", "name", "description", "tags", "url", "href", "inputSchema", "outputSchema", "examples", "title",
})  # fmt: skip
_POINTERS: Final = {
    "name": "/name", "description": "/description", "provider": "/publisher", "homepage": "/publisher",
    "capabilities": "/skills", "tags": "/tags", "license": "/license",
}  # fmt: skip


def dialect(document: Document) -> str | None:
    """Return the dialect: by the address in `$schema`, or if the skills are files, not skills of an agent card."""
    value = document.members
    schema, skills = text_of(value, "$schema"), value.get("skills")
    if schema and "agentskills.io" in schema:
        return "0.2.0" if schema == _SCHEMA else "other-schema"
    is_card = "url" in value and ("defaultInputModes" in value or "protocolVersion" in value)
    has_files = isinstance(skills, list) and any(_is_file(item) for item in skills)
    return "no-schema" if has_files and not is_card else None


def at_own_path(document: Document) -> str | None:
    value = document.members
    return _AD_HOC if isinstance(value.get("skills"), list | dict) else None


def _is_file(item: Json) -> bool:
    if not isinstance(item, dict):
        return False
    return any(key in item for key in ("digest", "sha256", "files")) or bool(_FILE.search(text_of(item, "url") or ""))


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    # 0.1 has no $schema and names the files of each skill
    have_files = ["files" in item for item in list_of(value, "skills") if isinstance(item, dict)]
    is_first_version = "$schema" not in value and bool(have_files) and all(have_files)
    if dialect != "0.2.0" and not is_first_version:
        notes.add(rules.SCHEMA, "/$schema", value.get("$schema", ""))
    base = document.url
    service = Service(
        name=short_text_of(value, "name"),
        description=text_of(value, "description"),
        provider=loose.provider_of(value, base),
        homepage=loose.homepage_of(value, base)
        or loose.homepage_of(manifest.map_of(value, "publisher"), base)
        or link(value.get("url"), base),
        repository=loose.repository_of(value, document.url),
        license=loose.license_of(value),
        tags=texts_of(value, "tags"),
        capabilities=tuple(_read_skills(value, document, notes)),
        native=manifest.native(SLUG, value, _READ),
    )
    return manifest.with_provenance(service, document, SLUG, _POINTERS)


def _read_skills(value: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    seen: set[str] = set()
    for pointer, key, held in manifest.parts_of(value, "skills", "/skills", notes):
        item: Object = (
            {"name": key, **held} if isinstance(held, dict) and key else held if isinstance(held, dict) else {}
        )
        name, description = text_of(item, "name", ID_CHARS), text_of(item, "description")
        if name is None or description is None:
            notes.add(rules.REQUIRED, pointer, name or "")
            continue
        if manifest.is_repeated(name, seen, at(pointer, "name"), notes):
            continue
        if manifest.has_template(item, ("name", "description"), pointer, notes, "url"):
            continue
        target = first_link(item, _TARGETS, document.url)
        _grade(item, name, target, pointer, notes)
        result, result_note = loose.first_result(item)
        auth, origin = own_auth(item, document.url), Origin(document.url, pointer, SLUG)
        yield Capability(
            text_of(item, "id", ID_CHARS) or name,
            name,
            description,
            params=loose.first_parameters(item),
            result=result,
            result_note=result_note,
            title=manifest.first_text(item, "title", "displayName", "display_name", chars=manifest.NAME_CHARS),
            tags=texts_of(item, "tags"),
            examples=texts_of(item, "examples", 500),
            docs_url=target or _read_file(item, document),
            invocations=(Invocation("instructions", auth=auth, origin=origin),),
            native=manifest.native(SLUG, item, _SKILL_READ),
        )


def _read_file(item: Object, document: Document) -> str | None:
    """Return the URL of SKILL.md, the main file of a skill; 0.1 names files relative to the skill's folder."""
    paths = (path for path in list_of(item, "files") if isinstance(path, str))
    main_file = next((path for path in paths if path.endswith("SKILL.md")), None)
    return link(f"{short_text_of(item, 'name')}/{main_file}", document.url) if main_file else None


def _grade(item: Object, name: str, target: str | None, pointer: str, notes: Notes) -> None:
    if not _NAME.fullmatch(name):
        notes.add(rules.NAME, at(pointer, "name"), name)
    if len(text_of(item, "description") or "") > _MAX_DESCRIPTION_CHARS:
        notes.add(rules.LONG_TEXT, at(pointer, "description"))
    if "files" in item:
        return  # 0.1 names files below the index instead of a URL
    if item.get("type") not in ("skill-md", "archive"):
        notes.add(rules.TYPE, at(pointer, "type"), item.get("type", ""))
    if target is None:
        notes.add(rules.URL, at(pointer, "url"), item.get("url", ""))
    if not _DIGEST.fullmatch(text_of(item, "digest") or ""):
        notes.add(rules.DIGEST, at(pointer, "digest"), item.get("digest", ""))


FORMAT: Final = Format(
    slug=SLUG,
    title="Agent Skills index",
    spec="Agent Skills discovery 0.2.0",
    cited_as="Agent Skills ",
    about=(
        "A site lists skills: instructions that an agent can load to do a task. Agents that support skills "
        "read the list and fetch what they need."
    ),
    link="https://agentskills.io/",
    example={
        "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
        "skills": [
            {
                "name": "city-weather",
                "type": "skill-md",
                "description": "How to ask for the weather of a city.",
                "url": "/.well-known/agent-skills/city-weather/SKILL.md",
                "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
            },
        ],
    },
    paths=("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"),
    role=Role.SERVICE,
    read=read,
    parts=(Part("/skills/[]", "skill", members=dict.fromkeys(("name", "description", "type", "url", "digest"), TEXT)),),
    rules=rules_in(rules),
    asks=frozenset({"capability.undescribed", "capability.unreachable"}),
    probe_paths=(
        ProbePath("S3", 40, "/.well-known/agent-skills/index.json"),
        ProbePath("S1", 50, "/.well-known/agent-skills/index.json", sub_host="docs"),
        ProbePath(
            "S4",
            120,
            "/.well-known/skills/index.json",
            when=lambda facts: facts.absent("/.well-known/agent-skills/index.json") and "skills" in facts.words,
        ),
    ),
    topics=(Topic("skills", (b"skill",), re.compile(rb"\bskills?\b"), in_home=True),),
    precedence=160,
)
