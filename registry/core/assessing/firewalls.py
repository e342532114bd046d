"""Recognise that a firewall or bot check answered instead of the site, by a table of facts about the large ones.

Such an answer says nothing about the document: it is unknown, never absent. Three kinds of mark, by what they prove: a
check that asks the visitor to prove to be human, a page that refuses, and only that the site is behind such a network.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from registry.core.model.documents import FetchResult

HEAD_BYTES: Final = 8 * 1024  # bytes of a body that are searched
_STATUSES: Final = frozenset({200, 202, 203, 401, 403, 405, 406, 429, 503})
_PAGES: Final = frozenset({200, 202, 203})  # statuses with which only HTML pages are searched
REFUSALS: Final = frozenset({401, 403, 429, 503})  # statuses with which a front page shows that nothing is let in
_EDGE_STATUSES: Final = frozenset({403, 429})


class Refusal(StrEnum):
    """What a mark proves. An answer of the network alone may be the site's own, so it counts only if the front page was
    refused too."""

    CHALLENGE = "challenge"
    BLOCK = "block"
    EDGE = "edge"


class Firewall(NamedTuple):
    """A firewall and how it refused. `reason`: as stored."""

    slug: str
    refusal: Refusal

    @property
    def reason(self) -> str:
        return f"{self.refusal}:{self.slug}"


NAMES: Final[Mapping[str, str]] = MappingProxyType({
    "akamai": "Akamai", "anubis": "Anubis", "aws_waf": "AWS WAF", "azure": "Azure Front Door",
    "cloudflare": "Cloudflare", "datadome": "DataDome", "ddos_guard": "DDoS-Guard", "f5": "F5", "fastly": "Fastly",
    "human": "HUMAN (PerimeterX)", "imperva": "Imperva", "kasada": "Kasada", "modsecurity": "ModSecurity",
    "radware": "Radware", "sucuri": "Sucuri", "vercel": "Vercel", "wordfence": "Wordfence",
})  # fmt: skip

_C, _B, _E = Refusal.CHALLENGE, Refusal.BLOCK, Refusal.EDGE

_FIELDS: Final[Mapping[str, tuple[tuple[str, Firewall], ...]]] = MappingProxyType({
    "cf-mitigated": (("challenge", Firewall("cloudflare", _C)), ("block", Firewall("cloudflare", _B))),
    "x-vercel-mitigated": (("challenge", Firewall("vercel", _C)), ("deny", Firewall("vercel", _B))),
    "x-amzn-waf-action": (("challenge", Firewall("aws_waf", _C)), ("captcha", Firewall("aws_waf", _C))),
    "x-sucuri-block": (("", Firewall("sucuri", _B)),),
})  # fmt: skip
"""Header field -> beginning of its value, and what that proves at any status of _STATUSES."""

_EDGE_FIELDS: Final[Mapping[str, tuple[tuple[str, Firewall], ...]]] = MappingProxyType({
    "server": (("akamaighost", Firewall("akamai", _B)), ("ddos-guard", Firewall("ddos_guard", _E))),
    "x-dd-b": (("", Firewall("datadome", _B)),),
    "x-kpsdk-ct": (("", Firewall("kasada", _C)),),
    "x-datadome": (("", Firewall("datadome", _E)),),
    "cf-ray": (("", Firewall("cloudflare", _E)),),
    "x-iinfo": (("", Firewall("imperva", _E)),),
    "x-sucuri-id": (("", Firewall("sucuri", _E)),),
    "x-azure-ref": (("", Firewall("azure", _E)),),
})  # fmt: skip
"""The same for 403 and 429 only. Akamai's own server name appears on no answer of the site."""

_MARKS: Final[tuple[tuple[bytes, Firewall], ...]] = (
    (b"anubis_challenge", Firewall("anubis", _C)), (b"/.within.website/x/", Firewall("anubis", _C)),
    (b"_cf_chl_opt", Firewall("cloudflare", _C)), (b"cf-chl-widget", Firewall("cloudflare", _C)),
    (b"<title>just a moment...</title>", Firewall("cloudflare", _C)),
    (b"vercel security checkpoint", Firewall("vercel", _C)),
    (b"captcha-delivery.com", Firewall("datadome", _C)),
    (b"px-captcha", Firewall("human", _C)),
    (b"sucuri_cloudproxy_js", Firewall("sucuri", _C)),
    (b"ddos-guard/js-challenge", Firewall("ddos_guard", _C)),
    (b"/_fs-ch-", Firewall("fastly", _C)),
    (b"validate.perfdrive.com", Firewall("radware", _C)),
    (b"attention required! | cloudflare", Firewall("cloudflare", _B)),
    (b"incapsula incident id", Firewall("imperva", _B)),
    (b"the requested url was rejected. please consult with your administrator", Firewall("f5", _B)),
)  # fmt: skip
"""Mark in a page, in lower case, at any status of _STATUSES. Each is searched by itself: a regular expression of
alternatives takes fifty times as long."""

_REFUSAL_MARKS: Final[tuple[tuple[bytes, Firewall], ...]] = (
    (b"/cdn-cgi/challenge-platform/", Firewall("cloudflare", _C)),
    (b"_incapsula_resource", Firewall("imperva", _C)),
    (b"awswafintegration", Firewall("aws_waf", _C)), (b"aws-waf-token", Firewall("aws_waf", _C)),
    (b'"blockscript"', Firewall("human", _C)), (b"_pxappid", Firewall("human", _C)),
    (b"sorry, you have been blocked", Firewall("cloudflare", _B)),
    (b"errors.edgesuite.net", Firewall("akamai", _B)), (b"reference&#32;&#35;", Firewall("akamai", _B)),
    (b"sucuri website firewall", Firewall("sucuri", _B)),
    (b"request blocked. we can't connect to the server", Firewall("aws_waf", _B)),
    (b"azureref", Firewall("azure", _B)),
    (b"generated by wordfence", Firewall("wordfence", _B)),
    (b"generated by mod_security", Firewall("modsecurity", _B)),
)  # fmt: skip
"""Marks that count only in an answer that refuses, a page or not: some of these scripts are in ordinary pages too."""

_CLOUDFLARE_TEXT: Final = b"error code: 10"  # beginning of a short answer to programs; the number says which rule


def firewall_of(fetched: FetchResult, *, lets_in: bool) -> Firewall | None:
    """Return which firewall answered instead of the site, or None. `lets_in`: the front page was not refused."""
    status = fetched.status
    if status not in _STATUSES:
        return None
    if found := _by_fields(fetched.headers, _FIELDS):
        return found
    head = fetched.body[:HEAD_BYTES].lstrip()
    is_refusal = status not in _PAGES
    if is_refusal or head[:1] == b"<":
        head = head.lower()
        if is_refusal and head.startswith(_CLOUDFLARE_TEXT):
            return Firewall("cloudflare", _B)
        for marks in (_MARKS, _REFUSAL_MARKS)[: 1 + is_refusal]:
            for mark, firewall in marks:
                if mark in head:
                    return firewall
    found = _by_fields(fetched.headers, _EDGE_FIELDS) if status in _EDGE_STATUSES else None
    is_weak = found is not None and found.refusal is Refusal.EDGE
    return None if is_weak and (lets_in or status == 429) else found  # guard: firewall-edge


def explain(reason: str) -> str:
    """Return one sentence for the operators of a site whose visit ended with this reason."""
    slug = reason.partition(":")[2]
    return (
        f"A firewall ({NAMES.get(slug, 'unknown')}) refuses this registry's crawler, so its documents are unknown."
        ' How to let it in: docs/politeness.md of the project, "If your firewall refuses the crawler".'
    )


def _by_fields(headers: Mapping[str, str], table: Mapping[str, tuple[tuple[str, Firewall], ...]]) -> Firewall | None:
    if table.keys().isdisjoint(headers.keys()):  # of nearly all answers
        return None
    for name, rows in table.items():
        if (value := headers.get(name)) is not None:
            for prefix, firewall in rows:
                if value.strip().lower().startswith(prefix):
                    return firewall
    return None
