"""Decide the trust level of a listing, the reasons why it is not higher, since when each of them holds, and the word
for it that people and agents read.

Clients of ADP registries know the levels. No level says who runs a host: a certificate shows only that the answer came
from the host, and every owner can get one. `verified` means that the documents came from their own host over
TLS and speak for no other site (docs/adr/0023-what-verified-means.md). Beside it, this registry has its own words,
`IDENTITIES`, which need no such footnote (docs/adr/0055-words-of-identity.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from registry.core.format_support import common_rules
from registry.core.merging import rules
from registry.core.merging.held import LocatedFinding
from registry.core.merging.speaking import NOTHING_KNOWN, Known, OtherHosts, speaks_for_site, spoken_of, takes_tokens
from registry.core.model.findings import Severity
from registry.core.model.listing import IdentityState, Listing, Resemblance, TrustLevel
from registry.core.model.services import Service
from registry.core.names.domains import is_confusable, same_site
from registry.core.names.impersonation import known_name_in_host, owned_name
from registry.core.reading import injection_rules

LEVEL: Final = "level"
"""The member with the date of the level. All other members are codes of reasons (`trust.REASONS`)."""

LevelFacts = tuple[str, Iterable[str]]  # a level, and the codes of its reasons


def trust_since(
    previous: LevelFacts | None, known: Mapping[str, str], current: LevelFacts, now: datetime
) -> dict[str, str]:
    """Return the time (ISO 8601) since when the level, and each reason, holds without interruption. `previous`: what
    held until now, None if nothing was recorded; `known`: its dates. What held already but has no date there began
    before dates were recorded: it is left out, because the time is not known."""
    held = set() if previous is None else {f"level:{previous[0]}", *previous[1]}
    names = {LEVEL: f"level:{current[0]}"} | {code: code for code in current[1]}
    since = {name: known.get(name) if fact in held else now.isoformat() for name, fact in names.items()}
    return {name: at for name, at in since.items() if at is not None}


Checked = Literal["host", "part", "none"]
"""Which parts of a listing certainly come from its host: an older name of the level."""

CHECKED: Final[Mapping[TrustLevel, Checked]] = {
    TrustLevel.VERIFIED: "host", TrustLevel.COMMUNITY: "part", TrustLevel.UNVERIFIED: "none",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class IdentityMeaning:
    """A word about identity. `label` and `colour` (`good`, `middle`, `bad` or none) are for pages. `trust_level`: the
    level that clients of ADP registries read in its place; of a listing in doubt it may also be `unverified`."""

    label: str
    means: str
    colour: Literal["good", "middle", "bad", ""]
    trust_level: TrustLevel


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a level is not higher. Codes never change: databases store them."""

    code: str
    says: str
    fix: str


class Trust(NamedTuple):
    """The level of a listing and the codes of all reasons why it is not `verified`, the gravest first."""

    level: TrustLevel
    reasons: tuple[str, ...] = ()


# fmt: off

IDENTITIES: Final[Mapping[IdentityState, IdentityMeaning]] = {
    IdentityState.OWNER_PROVEN: IdentityMeaning(
        "owner proven", "Its documents came from this host and speak for this site only, and its operator has proven "
        "control of the host. Who that person or company is was not checked.", "good", TrustLevel.VERIFIED,
    ),
    IdentityState.HOST_CHECKED: IdentityMeaning(
        "host checked", "Its documents came from this host and speak for this site only. Who runs the host was not "
        "checked.", "good", TrustLevel.VERIFIED,
    ),
    IdentityState.PARTLY_CHECKED: IdentityMeaning(
        "partly checked", "Its documents came from this host, but something in them is an error or is not shown to be "
        "the host's own. Who runs the host was not checked.", "", TrustLevel.COMMUNITY,
    ),
    IdentityState.NOT_CHECKED: IdentityMeaning(
        "not checked", "Nothing was read from this host, or it has not answered for days.", "middle",
        TrustLevel.UNVERIFIED,
    ),
    IdentityState.IN_DOUBT: IdentityMeaning(
        "identity in doubt", "It uses the name of another site, says that it is another site, or has a host name that "
        "can be taken for another one. Compare the host with the site that you expect.", "bad", TrustLevel.COMMUNITY,
    ),
}
"""The words of identity, from the best known to the least. Everything that shows or filters them reads this table."""

FAILING: Final = Reason(
    "failing", "The last visits failed, over at least three days.",
    "Answer the crawler again; the status of the host names the failure.",
)
NOT_FETCHED: Final = Reason(
    "not_fetched", "The manifest was pasted, not fetched from its host.",
    "Serve the manifest from its host and submit the host.",
)
LOOK_ALIKE_HOST: Final = Reason("look_alike_host", rules.LOOK_ALIKE_HOST.says, rules.LOOK_ALIKE_HOST.fix)
KNOWN_NAME: Final = Reason("known_name", rules.KNOWN_NAME.says, rules.KNOWN_NAME.fix)
_ELSEWHERE: Final = common_rules.CLAIM_ELSEWHERE
CLAIMS_OTHER_SITE: Final = Reason("claims_other_site", _ELSEWHERE.says, _ELSEWHERE.fix)
CALLS_OTHER_SITE: Final = Reason("calls_other_site", rules.ENDPOINT_OFF_SITE.says, rules.ENDPOINT_OFF_SITE.fix)
DOCUMENT_ERROR: Final = Reason(
    "document_error", "A document has an error under the rules of its format.",
    "Correct what the finding names.",
)
ISSUER_ELSEWHERE: Final = Reason(
    "issuer_elsewhere",
    "Access tokens come from another listed site or host that does not name this one; it could use them there.",
    "Name this host among the protected_resources of the authorization server, or in another document of its host.",
)
SPEAKS_FOR_SITE: Final = Reason(
    "speaks_for_site",
    "Its documents say that they are about another host of its site, or call one, and nothing shows that one owner "
    "runs both.",
    "Serve them from that host, name this host in a document of that host, or prove the ownership of the whole domain.",
)
INJECTION: Final = Reason(
    "injection", "A text looks like an instruction to the model that reads it, or hides characters.",
    "Remove the text that the finding names; say what the service does, not what a model shall do.",
)
GENERATED: Final = Reason(
    "generated", "An intermediary generated the documents; the site did not write them.",
    "Serve documents of your own.",
)

# fmt: on

_GRAVEST_FIRST: Final = (
    FAILING, NOT_FETCHED, LOOK_ALIKE_HOST, KNOWN_NAME, CLAIMS_OTHER_SITE, ISSUER_ELSEWHERE, INJECTION,
    CALLS_OTHER_SITE, SPEAKS_FOR_SITE, DOCUMENT_ERROR, GENERATED,
)  # fmt: skip
REASONS: Final = MappingProxyType({reason.code: reason for reason in _GRAVEST_FIRST})
"""All reasons by code, the gravest first."""

# steering, encoded payloads and links with data also occur in honest documents: those are only flagged
_INJECTIONS: Final = (
    injection_rules.OVERRIDE, injection_rules.ROLE_MARKUP, injection_rules.HIDDEN_TEXT, injection_rules.SECRECY,
    injection_rules.DISCLOSURE,
)  # fmt: skip
_BY_RULE: Final = {
    rules.LOOK_ALIKE_HOST: LOOK_ALIKE_HOST,
    rules.KNOWN_NAME: KNOWN_NAME,
    common_rules.CLAIM_ELSEWHERE: CLAIMS_OTHER_SITE,
    **dict.fromkeys(_INJECTIONS, INJECTION),
}


def trust_of(
    host: str,
    service: Service,
    findings: Sequence[LocatedFinding] = (),
    *,
    is_failing: bool = False,
    known: Known = NOTHING_KNOWN,
    spoken: OtherHosts | None = None,
) -> Trust:
    """Return the trust of a host that served its documents over valid TLS. `findings`: all of the merged service.
    `is_failing`: its last visits failed so often and for so long that it may be gone (decided by the store; age alone
    is no reason). `known`: of the hosts in `speaking.depends_on`. `spoken`: what `spoken_of` returns, if it was called
    already."""
    found = {_BY_RULE.get(located.finding.rule) for located in findings}  # guard: trust-findings
    if any(located.finding.rule.severity is Severity.ERROR for located in findings):
        found.add(DOCUMENT_ERROR)
    spoken = spoken or spoken_of(host, service, findings)
    if any(not same_site(host, other) for other in spoken.called):
        found.add(CALLS_OTHER_SITE)
    if speaks_for_site(host, spoken, known):  # guard: speaks-for-site
        found.add(SPEAKS_FOR_SITE)
    if takes_tokens(host, spoken, known):  # guard: issuer-elsewhere
        found.add(ISSUER_ELSEWHERE)
    if service.synthetic:
        found.add(GENERATED)
    if is_failing:
        found.add(FAILING)
    reasons = tuple(reason.code for reason in REASONS.values() if reason in found)
    if is_failing:
        return Trust(TrustLevel.UNVERIFIED, reasons)
    return Trust(TrustLevel.COMMUNITY if reasons else TrustLevel.VERIFIED, reasons)


Facts = Mapping[str, Any]
"""What is stored of a listing beside its level, by name: `reasons`, their codes; `resembles`, a Resemblance as JSON or
None; `claims_site`, whether a document says that it is another site. Older rows lack some."""

DOUBTS: Final = (KNOWN_NAME.code, LOOK_ALIKE_HOST.code)
"""Reasons that put the identity in doubt. `claims_other_site` does so only with `claims_site`: a base URL or an issuer
on another site is common among honest services."""

_LOCATIONS: Final = frozenset({"base_url", "baseUrl", "endpoint", "identifier", "issuer", "resource"})
"""Members that say where something is, not who it is. A claim in any other is one to be another site."""


def claims_site(findings: Iterable[LocatedFinding]) -> bool:
    """Return whether a document says that it is another site: by its name, domain, origin or DID."""
    return any(
        one.finding.rule is common_rules.CLAIM_ELSEWHERE and one.finding.pointer.rpartition("/")[2] not in _LOCATIONS
        for one in findings
    )


def facts_of(listing: Listing) -> dict[str, Any]:
    """Return the facts of a listing, JSON-ready."""
    facts = {"reasons": listing.trust_reasons, "resembles": resembles_json(listing.resembles)}
    return facts | ({"claims_site": True} if listing.claims_site else {})


def resembles_json(resembles: Resemblance | None) -> dict[str, Any] | None:
    """Return the JSON of a resemblance, without `is_mention` unless it is one."""
    if resembles is None:
        return None
    return {name: value for name, value in asdict(resembles).items() if value is not False}


def facts_of_host(host: str) -> dict[str, Any]:
    """Return the facts that the name of a host gives by itself: all that is known of a host without documents."""
    found = None if owned_name(host) else known_name_in_host(host)
    known = None if found is None or found.is_mention else found.known
    reasons = [KNOWN_NAME.code] if known else []
    if is_confusable(host):
        reasons.append(LOOK_ALIKE_HOST.code)
    resembles = None if known is None else Resemblance(known.name, known.domains[0], "host")
    return {"reasons": reasons, "resembles": resembles_json(resembles)}


def identity_of(level: TrustLevel, facts: Facts, *, is_owned: bool) -> IdentityState:
    """Return the word of identity for a level, its facts and a proven ownership. A doubt wins, also over an ownership:
    an impersonator can prove control of its host."""
    if doubt_of(facts) is not None:  # guard: identity-in-doubt
        return IdentityState.IN_DOUBT
    if level is TrustLevel.VERIFIED:
        return IdentityState.OWNER_PROVEN if is_owned else IdentityState.HOST_CHECKED
    return IdentityState.PARTLY_CHECKED if level is TrustLevel.COMMUNITY else IdentityState.NOT_CHECKED


def identity_of_listing(listing: Listing) -> IdentityState:
    """Return `identity_of` for a listing."""
    return identity_of(listing.trust_level, facts_of(listing), is_owned=listing.is_owned)


def meaning_of_level(level: TrustLevel) -> str:
    """Return in one sentence what a level says without a doubt and without a proven ownership."""
    return IDENTITIES[identity_of(level, {}, is_owned=False)].means


def doubt_of(facts: Facts) -> str | None:
    """Return what is known about a doubtful identity, in sentences; None if nothing is in doubt."""
    reasons, says = facts.get("reasons", ()), []
    if KNOWN_NAME.code in reasons:
        says.append(_says_known_name(facts.get("resembles")))
    if LOOK_ALIKE_HOST.code in reasons:
        says.append("The letters of its host name can be taken for those of another name.")
    if facts.get("claims_site"):
        says.append("A document says that it is another site.")
    return " ".join(says) or None


def host_doubt(host: str) -> str | None:
    """Return what the name of a host by itself puts in doubt, as `doubt_of` says it."""
    return doubt_of(facts_of_host(host))


def _says_known_name(resembles: Mapping[str, Any] | None) -> str:
    if resembles is None:
        return "It uses a well-known name; this host is not on that name's site."
    name, domain = resembles["name"], resembles["domain"]
    if resembles["seen_in"] == "provider":
        return f"It presents itself as run by {name}; this host is not on {domain}."
    return f"It uses the name of {name}; this host is not on {domain}."


def shown(
    level: TrustLevel, facts: Facts, since: Mapping[str, str | None] | None = None, *, is_owned: bool
) -> dict[str, Any]:
    """Return the trust of a service for an interface's list, JSON-ready. `since`: when the level and the reasons
    began, by the names of the stored dates."""
    since, reasons = since or {}, facts.get("reasons", ())
    return {
        "identity": identity_of(level, facts, is_owned=is_owned).value,
        "doubt": doubt_of(facts),
        "checked": CHECKED[level],
        "since": since.get(LEVEL),
        "reasons": list(reasons),
        "reasons_since": {code: since.get(code) for code in reasons},
        "resembles": facts.get("resembles"),
    }


def explained(
    level: TrustLevel, facts: Facts, since: Mapping[str, str | None] | None = None, *, is_owned: bool = False
) -> dict[str, Any]:
    """Return what `shown` does, with the meaning of the identity and of every reason. JSON-ready."""
    since = since or {}
    known = [REASONS[code] for code in facts.get("reasons", ()) if code in REASONS]
    trust = shown(level, facts, since, is_owned=is_owned)
    return {
        **trust,
        "means": IDENTITIES[trust["identity"]].means,
        "explained": [
            {"reason": one.code, "says": one.says, "fix": one.fix, "since": since.get(one.code)} for one in known
        ],
    }


def explained_listing(
    listing: Listing, since: Mapping[str, str | None] | None = None, *, is_owned: bool
) -> dict[str, Any]:
    """Return `explained` for a listing."""
    return explained(listing.trust_level, facts_of(listing), since, is_owned=is_owned)
