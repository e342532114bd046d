"""The definition of a format. Each has a folder below formats/, which exports FORMAT and recognition tests."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from registry.core.format_support.account import EntryCount, Part, settle, survey
from registry.core.format_support.common_rules import ENDPOINT_TEMPLATED
from registry.core.format_support.loose_card import with_common_members
from registry.core.format_support.manifest import Notes
from registry.core.format_support.params import describes_variables
from registry.core.format_support.probing import JSON_CAP, ProbePath, Topic
from registry.core.format_support.public_addresses import public_service
from registry.core.format_support.requirements import Requirement
from registry.core.format_support.shapes import TEXT_TYPES, Kind
from registry.core.format_support.writing.task import Writer
from registry.core.model.documents import Document, Json, Observation
from registry.core.model.findings import Finding, Rule
from registry.core.model.services import Service

Read = Callable[[Document, str, Notes], Service]
"""Reads a document of a dialect into a service, and notes defects and omissions. Never raises on a JSON value that the
format's recognition tests accepted."""

Dialect = Callable[[Document], str | None]
"""A recognition test: returns the dialect's name if the document is of the format, else None. Uses content only."""


class Role(StrEnum):
    """The contribution of a format's documents. A host is listed only if a SERVICE document was FOUND."""

    SERVICE = "service"
    POINTERS = "pointers"  # catalogues, which name other documents
    TEXT = "text"  # llms.txt and similar texts
    ENRICHER = "enricher"  # adds to a service that another document describes: details, OAuth metadata, keys


ROLES: Mapping[Role, str] = MappingProxyType(
    {
        Role.SERVICE: "describes a service: its host is listed",
        Role.POINTERS: "names other documents, which are then visited",
        Role.TEXT: "a text for readers, searched for pointers",
        Role.ENRICHER: "adds to a service that another document describes",
    }
)


class Judgement(NamedTuple):
    """What one read of a document gave. `entries` counts what was read and what was not, by kind of entry."""

    service: Service
    findings: tuple[Finding, ...]
    entries: tuple[EntryCount, ...]


class PageHint(NamedTuple):
    """A test for HTML marks that the format defines, and the rule to report when the front page has them."""

    is_in: Callable[[bytes], bool]
    rule: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """All facts about a format. The rubric, the probe plan, pages, precedence and translation targets are derived
    from it."""

    slug: str  # names the fixture folder, the API value and the index facet
    title: str
    spec: str  # name and version of the specification
    about: str = ""  # two sentences for people: what the format is for, and who reads it
    link: str = ""  # address of the specification; empty for a format without one
    cited_as: str = ""  # how citations of the specification in rules begin
    example: Mapping[str, Json] | str = ""
    """The smallest complete document. A text where sites serve no JSON document: it cannot be checked by itself."""
    mistakes: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    """What people often get wrong: a JSON Pointer into the example -> a wrong value, or None for a missing member."""
    paths: tuple[str, ...]  # most preferred first
    media_types: tuple[str, ...] = ("application/json",)
    role: Role
    read: Read
    rules: tuple[Rule, ...] = ()  # checked by its reader, without the rules common to all formats
    requirements: tuple[Requirement, ...] = ()  # every demand of the specification; empty if not itemised
    asks: frozenset[str] = frozenset()
    """Codes of the rules that check what the specification demands or recommends. Of the rules about missing facts
    (`service.*`, `capability.*`), only these cost points."""
    parts: tuple[Part, ...] = ()
    """The places where the specification puts entries. What a reader drops there in silence becomes a finding."""
    no_parts: str = ""  # why a format has no parts
    types: Mapping[str, Kind] = field(default_factory=lambda: MappingProxyType({}))
    """Types of members, by place as in `Part`: one of another type is reported as that, never as missing."""
    observations: Mapping[Observation, Rule] = field(default_factory=lambda: MappingProxyType({}))
    """Rules that need several answers, each with the observation that breaks it."""
    is_unversioned_break: Callable[[Json, Json], bool | None] | None = None
    """Compares two versions of a document: whether the second breaks callers without a new version (Observation
    UNVERSIONED_CHANGE). None if the format cannot tell."""

    # --- how its documents are found
    probe_paths: tuple[ProbePath, ...] = ()
    topics: tuple[Topic, ...] = ()  # for the conditions of its probe paths
    accept: str | None = None  # the format's own media type, for the Accept field; None for texts
    cap: int = JSON_CAP  # most bytes of a body that are read; texts use TEXT_CAP
    promised_paths: tuple[str, ...] | None = None
    """A URL in a text with one of these paths is a pointer to a document of this format. None means all `paths`."""
    promised_pattern: re.Pattern[str] | None = None  # paths that match it count as well
    link_relations: tuple[str, ...] = ()  # followed in `Link` fields and in the head of the front page
    names_documents: bool = False  # True: its text is searched for pointers
    page_hint: PageHint | None = None
    from_page: Callable[[bytes, str], dict[str, Json] | None] | None = None
    """Makes a document of a front page, from its body and URL; None for a page that holds nothing of the format."""
    marks: frozenset[str] = frozenset()
    """Top-level members that state only the format and its version. The members that recognition needs count without
    being listed."""
    absence_member: str | None = None
    """The member whose `"available": false` declares that the site does not offer the protocol."""
    follows_redirects: bool = True  # False: a document that was reached through a redirect does not count

    # --- how its documents are used
    precedence: int | None = None
    """Where documents of one host differ, the lowest number wins. None: the format describes no service."""
    writer: Writer | None = None  # for formats that a service can be translated into

    def judge(self, document: Document, dialect: str) -> Judgement:
        """Return the service that the document describes, and the findings about it, from a single read. Addresses that
        are not public are left out, even if the reader kept them. A variable in an endpoint is no finding where the
        capability describes it as a parameter. Entries that the reader dropped in silence get findings."""
        surveyed = survey(self.parts, self.types, document.value)
        notes = Notes(surveyed.wrong_types)
        service = self.read(document, dialect, notes)
        if self.role is Role.SERVICE:
            service = with_common_members(service, document, self.slug)
        service = public_service(service, document, notes)
        described = {
            call.origin.pointer
            for capability in service.capabilities
            for call in capability.invocations
            if call.origin is not None and describes_variables(capability.params, call.endpoint)
        }
        notes.withdraw(ENDPOINT_TEMPLATED, described)
        notes.add_wrong_types({entry.pointer for entry in surveyed.entries})
        unread, counts = settle(surveyed, service, notes)
        return Judgement(service, (*notes.findings(), *unread), counts)

    @property
    def example_text(self) -> str:
        """Return the smallest document as it would be served."""
        return self.example if isinstance(self.example, str) else json.dumps(self.example, indent=2) + "\n"

    def promises(self) -> tuple[str, ...]:
        """Return the paths that mark a URL as a pointer to a document of this format."""
        return self.paths if self.promised_paths is None else self.promised_paths


def text_format(
    slug: str, title: str, spec: str, *paths: str, about: str = "", link: str = "", example: str = ""
) -> Format:
    """Return a format of texts that are only searched for pointers: its service is empty."""
    return Format(
        slug=slug,
        title=title,
        spec=spec,
        about=about,
        link=link,
        example=example,
        paths=paths,
        media_types=TEXT_TYPES,
        role=Role.TEXT,
        read=lambda document, dialect, notes: Service(),
        no_parts="a text",
        promised_paths=(),
        names_documents=True,
    )
