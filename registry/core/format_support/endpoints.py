"""Resolve the URLs that a document names, and refuse URLs that outside clients cannot or should not call.

A private address in an answer would direct clients at their own networks (docs/safety.md, "Threats and where they
end"). Nothing is fetched here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from registry.core.format_support import common_rules
from registry.core.format_support.manifest import NAME_CHARS, Notes, Object, map_of, unrendered_url
from registry.core.model.documents import Document, Json
from registry.core.model.findings import Rule
from registry.core.names import addresses
from registry.core.names.authority import Relation, relation
from registry.core.names.domains import (
    InvalidName,
    Url,
    canonical_host,
    host_of,
    parse_https,
    parse_url,
    registrable_domain,
    same_site,
)
from registry.core.names.impersonation import claimed_hosts
from registry.core.names.inside import HARMLESS, SAMPLE_DOMAINS
from registry.core.reading.plain_text import line

MAX_URL_CHARS = 2_048

_VARIABLE = re.compile(r"\{[^{}/]*\}")
_COLON_VARIABLE = re.compile(r"(?<=/):[A-Za-z_]\w*")
_STAND_IN = "x0variable0x"
_WORDS = re.compile(r"(?![a-z]+:|[/.{])\S+\s", re.IGNORECASE)  # "coming soon" is no path of the serving host
_SINGLE_BRACES = re.compile(r"(?<!\{)\{([^{}/]+)\}(?!\})")
_DEFAULT = re.compile(r"[^\s<>{}\"'`\\^|]*")
_HOST_FIRST = re.compile(r"([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)(?::\d{1,5})?(?![^/?#])")
_NOUNS = "api|app|business|company|domain|host|hostname|instance|org|organi[sz]ation|server|service|site|url|website"
_MORE_NOUNS = (
    "account|agent|application|backend|bot|brand|deployment|endpoint|gateway|mcp|name|platform|product|project|shop|"
    "store|subdomain|team|tenant|username|worker|workspace"
)
_UNFILLED = re.compile(
    rf"your(?:{_NOUNS})+|your(?:-(?:own|here|{_NOUNS}|{_MORE_NOUNS}))+|my-?(?:company|domain|site|website)"
    r"|(?:change|replace|fix)-?me|placeholder"
)
"""Labels that an author is to replace by a name of his own."""

_LINK = re.compile(r"(?=\S*[./?#:])\S+$")
_ANGLE_VARIABLE = re.compile(r"<([A-Za-z_][\w .-]{0,60})>")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An absolute https or wss URL; `templated` when it contains variables (RFC 6570, or `:name` segments)."""

    url: str
    templated: bool = False


def endpoint(target: Json, base: str, document: Document, pointer: str, notes: Notes) -> Endpoint | None:
    """Return `target` resolved against `base` (RFC 3986 section 5), or None when clients may not call it.

    A value that is not a text, or is blank, is skipped without a finding. A finding is added for placeholders, invalid
    URLs, URLs with a user name, other schemes than https and wss, and addresses that are not public. The site that
    served the document counts as public, because the crawler's address checks let the request through.
    """
    if not isinstance(target, str) or not target.strip():
        return None
    if unrendered_url(target):
        notes.add(common_rules.TEMPLATE, pointer, target)
        return None
    target = _with_braces(target)
    if _WORDS.match(target.strip()) or parse_short(_VARIABLE.sub(_STAND_IN, target.strip()), base) is None:
        notes.add(common_rules.ENDPOINT_INVALID, pointer, target)
        return None
    resolved = callable_url(target, base, document.url)
    if resolved is None:
        unfilled = is_unfilled(parse_short(_VARIABLE.sub(_STAND_IN, target.strip()), base), document.url)
        notes.add(common_rules.TEMPLATE if unfilled else common_rules.ENDPOINT_NOT_PUBLIC, pointer, target)
    elif resolved.templated:
        sample = is_sample(host_of(resolved.url) or "", host_of(document.url) or "")
        notes.add(common_rules.ENDPOINT_SAMPLE if sample else common_rules.ENDPOINT_TEMPLATED, pointer, target)
    return resolved


def callable_url(target: str, base: str, trusted_url: str) -> Endpoint | None:
    """Return `target` resolved against `base` if it is https or wss and public, else None. The site of the URL
    `trusted_url` always counts as public."""
    reference = _with_braces(target.strip())
    variables = _VARIABLE.findall(reference)
    # replace variables by letters, because the URL parser would percent-encode the braces
    parsed = parse_short(_VARIABLE.sub(_STAND_IN, reference), base)
    if parsed is None or _WORDS.match(reference) or not _may_be_called(parsed, trusted_url, variables):
        return None
    url = parsed.href.partition("#")[0]
    for variable in variables:
        url = url.replace(_STAND_IN, variable, 1)
    host = parsed.host.removesuffix(".")
    is_stand_in = "example." in host and parsed.is_name and is_sample(host, host_of(trusted_url) or "")
    return Endpoint(url, bool(variables) or is_stand_in or _COLON_VARIABLE.search(reference) is not None)


def with_defaults(url: str, variables: Object) -> str:
    """Return a templated URL with the default of each variable in its place, before it is joined with anything or
    judged (OpenAPI 3.1 section 4.8.5; `variables` of server.json). A variable without a default that can stand in a URL
    stays. Defaults are not searched for variables."""
    has_scheme, read_to = False, 0

    def written(match: re.Match[str]) -> str:
        nonlocal has_scheme, read_to
        has_scheme, read_to = has_scheme or "://" in url[read_to : match.start()], match.end()
        default = map_of(variables, match[1]).get("default")
        if isinstance(default, bool) or not isinstance(default, str | int | float):
            return match[0]
        text = str(default).strip()
        is_usable = len(text) <= MAX_URL_CHARS and _DEFAULT.fullmatch(text) is not None
        if not is_usable or (has_scheme and "://" in text):  # a whole address inside another is handed out unjudged
            return match[0]
        has_scheme = has_scheme or "://" in text
        return text

    return _SINGLE_BRACES.sub(written, url)


def lacks_scheme(target: str, base: str) -> bool:
    """Return whether an address begins with a host instead of a scheme, such as `api.shop.com/v1` in a document of
    shop.com. RFC 3986 reads it as a path, which its author never means: the host is of the site of `base`, or a public
    name of at least three labels."""
    match = _HOST_FIRST.match(target)
    if match is None:
        return False
    host, serving_host = match[1].lower(), host_of(base)
    is_own = serving_host is not None and same_site(host, serving_host)
    return is_own or (host.count(".") > 1 and _is_public_name(host))


def link(target: Json, base: str) -> str | None:
    """Return `target` as an absolute https URL for people or the crawler; None, without a finding, for anything else.
    Relative targets are resolved against `base`; a sentence or a word ("none") is no target (RFC 3986 section 4.1 has
    no spaces, and a path of a document begins with a slash or has a dot)."""
    text = target.strip() if isinstance(target, str) else ""
    return parse_https(text, base) if _LINK.match(text) else None


def first_link(holder: Json, keys: Iterable[str], base: str) -> str | None:
    """Return the first of these members that `link` accepts."""
    members = holder if isinstance(holder, dict) else {}
    return next((url for key in keys if key in members and (url := link(members[key], base))), None)


def page(target: Json, base: str) -> str | None:
    """Return `target` as `link` does, with its fragment. For pages that people read and the crawler does not."""
    url = link(target, base)
    parsed = parse_url(target.strip(), base) if url is not None and isinstance(target, str) else None
    fragment = parsed.href.partition("#")[2] if parsed is not None else ""
    return f"{url}#{fragment}" if fragment and len(f"{url}#{fragment}") <= MAX_URL_CHARS else url


def origin_of(url: str) -> str:
    """Return the origin of an absolute URL with a trailing slash, for example `https://host/`."""
    scheme, _, after_scheme = url.partition("://")
    return f"{scheme}://{re.split(r'[/?#]', after_scheme, maxsplit=1)[0]}/"


def claim(
    value: Json, document: Document, pointer: str, notes: Notes, rule: Rule = common_rules.CLAIM_ELSEWHERE
) -> str | None:
    """Return the host, URL or DID that the document claims for itself, cleaned; add a finding if it is on another site.
    `rule` of that finding: CLAIM_ELSEWHERE for the document's own identity, PROVIDER_ELSEWHERE for its operator. A
    document that claims to be the serving host's parent or sibling has the finding CLAIM_OF_SITE."""
    if not isinstance(value, str) or not (claimed := line(value, NAME_CHARS)):
        return None
    serving_host = host_of(document.url)
    relations = [relation(serving_host, host) for host in claimed_hosts(claimed)] if serving_host else []
    if Relation.FOREIGN in relations:  # guard: claim-elsewhere
        notes.add(rule, pointer, claimed)
    elif Relation.SITE in relations and rule is common_rules.CLAIM_ELSEWHERE:  # guard: claim-of-site
        notes.add(common_rules.CLAIM_OF_SITE, pointer, claimed)
    return claimed


def claims(
    name: str, value: Json, document: Document, pointer: str, notes: Notes, rule: Rule = common_rules.CLAIM_ELSEWHERE
) -> dict[str, str]:
    """Return what `claim` returns under a name, for `Service.claims`; nothing where nothing is claimed."""
    claimed = claim(value, document, pointer, notes, rule)
    return {name: claimed} if claimed else {}


def parse_short(target: str, base: str) -> Url | None:
    """Return `target`, relative to `base`, as a URL of any scheme; None where it is invalid or too long."""
    return parse_url(target, base) if len(target) <= MAX_URL_CHARS else None


def _may_be_called(parsed: Url, trusted_url: str, variables: list[str]) -> bool:
    if parsed.scheme not in ("https", "wss") or parsed.has_user:
        return False
    host = parsed.host.removesuffix(".")
    if not parsed.is_name:
        return addresses.refusal(host.strip("[]")) is None  # guard: private-endpoint
    if variables and host == _STAND_IN:
        return True  # the caller fills in the host
    serving_host = host_of(trusted_url)
    if serving_host is not None and same_site(host, serving_host):
        return True
    return _is_public_name(host) and not is_unfilled(parsed, trusted_url)  # guard: unfilled-host


def _with_braces(target: str) -> str:
    """Return a URL with variables in angle brackets, `/orders/<id>`, written as `/orders/{id}`."""
    if "<" not in target:
        return target
    return _ANGLE_VARIABLE.sub(lambda match: "{" + match[1].replace(" ", "_") + "}", target)


def is_unfilled(parsed: Url | None, trusted_url: str) -> bool:
    """Return whether a URL is on a host that its author has not filled in, such as `your-domain.com`. The registrable
    domain decides: `your-team.tool.com` is a tenant of an existing site."""
    if parsed is None or not parsed.is_name or not _is_public_name(parsed.host.removesuffix(".")):
        return False
    return _is_placeholder(parsed.host.removesuffix("."), host_of(trusted_url))


@lru_cache(maxsize=1_024)
def _is_placeholder(host: str, serving_host: str | None) -> bool:
    is_own = serving_host is not None and same_site(host, serving_host)
    return not is_own and _UNFILLED.fullmatch(registrable_domain(host).partition(".")[0]) is not None


@lru_cache(maxsize=1_024)
def is_sample(host: str, serving_host: str) -> bool:
    """Return whether a host is reserved for samples (RFC 2606 section 3), or named like one under any top level, and
    the serving host is not itself: specifications show samples of whole sites."""
    domain = registrable_domain(host)
    if domain not in SAMPLE_DOMAINS and not domain.startswith("example."):
        return False
    is_sample_site = serving_host.rpartition(".")[2] in HARMLESS or registrable_domain(serving_host) in SAMPLE_DOMAINS
    return not is_sample_site and not same_site(host, serving_host)


@lru_cache(maxsize=1_024)
def _is_public_name(host: str) -> bool:
    try:
        canonical_host(host)
    except InvalidName as error:
        return error.code == "public_suffix"  # some public suffixes are sites themselves
    return True
