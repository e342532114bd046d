"""Host names: canonical spelling, registrable domain, special-use names, and hosts taken from URLs.

A host is always an A-label name in lower case without a trailing dot. Input that contains anything else (scheme, port,
path, userinfo, invisible characters) is refused, never repaired: a repaired name could belong to another owner.
Sources: UTS 46 (non-transitional, STD3), RFC 5890, RFC 6761, the Public Suffix List with its private section, and the
WHATWG URL standard (ada) for every host that comes out of a URL.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import ada_url
import idna

from registry.core.names.ambiguous import is_ambiguous
from registry.core.names.confusables import looks_alike
from registry.core.names.suffixes import SHIPPED, SuffixList

MAX_HOST_CHARS: Final = 253
MAX_LABELS: Final = 10
MAX_URL_CHARS: Final = 2048
STRIPPED: Final = "".join(map(chr, range(33)))
"""Characters that the URL standard removes at both ends of a URL (section 4.4)."""

SPECIAL_USE: Final = frozenset(
    ("localhost", "local", "internal", "test", "invalid", "example", "onion", "alt", "arpa", "lan", "corp", "home",
     "mail")
)  # fmt: skip
"""Top-level labels that no public web site has (RFC 6761, RFC 9476, ICANN name collision list)."""

_LDH = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")  # WHATWG "ends in a number": such a name is an IPv4 address
_PORT = re.compile(r"[^:\[\]]*:[0-9]*")
_WEB_SCHEMES = frozenset({"https", "http", "wss", "ws"})
_BARE = re.compile(r"[A-Za-z0-9._-]+")  # only characters of a bare host name
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")

# Fast path for names that are canonical already, as most names in lists of millions are: one match instead of one per
# label. Excludes a number at the end and more than MAX_LABELS; the caller excludes "--" (xn--, reserved labels).
_CANONICAL = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){0,9}[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")

# Blank or zero-width characters whose Unicode category does not show it (fillers, joiners, selectors).
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")

_suffixes: SuffixList = SHIPPED  # in force until `use_suffixes`

NAME_FAULTS: Final = {
    "empty": "the name is empty",
    "not_text": "the name holds characters that are no text",
    "too_long": "the name is longer than 253 characters",
    "label_too_long": "a part of the name is longer than 63 characters",
    "too_many_labels": "the name has more than 10 parts",
    "empty_label": "the name has an empty part (two dots, or a leading dot)",
    "whitespace": "the name holds white space",
    "invisible_character": "the name holds invisible or control characters",
    "has_scheme": "give the host name only, without a scheme",
    "has_port": "give the host name only, without a port",
    "has_path": "give the host name only, without a path",
    "has_query": "give the host name only, without a query or fragment",
    "has_userinfo": "give the host name only, without a user name",
    "ip_address": "give a host name, not an IP address",
    "numeric": "the last part of the name is a number: that is an IP address",
    "bad_character": "only letters, digits and hyphens are allowed, hyphens not at the ends",
    "reserved_label": "hyphens in the third and fourth place are reserved for xn-- names",
    "bad_punycode": "an xn-- part of the name is not the canonical form of an international name",
    "not_idna": "the name is not a valid international domain name",
    "single_label": "the name has only one part",
    "special_use": "names below this top level are not public web sites",
    "unknown_tld": "no such top-level domain",
    "public_suffix": "this is a public suffix: names are registered below it",
}


class InvalidName(ValueError):
    """A host name was refused. `code` is a key of NAME_FAULTS; the message never repeats the input."""

    def __init__(self, code: str) -> None:
        super().__init__(NAME_FAULTS[code])
        self.code = code


def is_spelling(written: str, host: str) -> bool:
    """Return whether a text is the name of this canonical host, in any spelling."""
    try:
        return host_syntax(written.strip()) == host
    except InvalidName:
        return False


def message_of(code: str) -> str:
    """Return the message of an InvalidName with this code; a general one for a code of another version."""
    return NAME_FAULTS.get(code, "not the name of a public host")


@dataclass(frozen=True, slots=True)
class Host:
    """A host that may be probed. `confusable`: it looks like another name; accepted, but shown as A-labels."""

    host: str
    domain: str
    confusable: bool


class Url(NamedTuple):
    """A parsed URL; the parts after `scheme` are filled for http(s) and ws(s) only."""

    href: str  # canonical, whole
    scheme: str  # "https", "mailto", ...
    host: str = ""  # A-labels, or an address (IPv6 in brackets)
    port: str = ""  # "" for the scheme's default
    has_user: bool = False
    is_name: bool = False  # a host name, not an address
    target: str = ""  # path and query


def canonical_host(text: str, *, exempt: Collection[str] = ()) -> Host:
    """Return the host that `text` names, for submissions, seeds and pointers. Raise InvalidName. `exempt`: canonical
    names of the connect-to table; they may be special-use, of an unknown top level or a single label. Their spelling is
    checked like any other."""
    host = host_syntax(text)
    domain = registrable_domain(host) if host in exempt else _find_registered(host)
    return Host(host, domain, is_confusable(host))


def host_syntax(text: str) -> str:
    """Return the canonical spelling of a host name, for look-ups: checks syntax only. Idempotent. Raise InvalidName."""
    if len(text) <= MAX_HOST_CHARS and "--" not in text and _CANONICAL.fullmatch(text):
        return text
    _refuse_decoration(text)  # guard: bare-name
    try:
        name = text.lower() if text.isascii() else idna.uts46_remap(text, std3_rules=True, transitional=False)
    except (idna.IDNAError, UnicodeError):
        raise InvalidName("not_idna") from None
    labels = name.removesuffix(".").split(".")
    if len(labels) > MAX_LABELS:  # guard: label-count
        raise InvalidName("too_many_labels")
    labels = [_a_label(label) for label in labels]
    host = ".".join(labels)
    if len(host) > MAX_HOST_CHARS:
        raise InvalidName("too_long")
    if _NUMERIC.fullmatch(labels[-1]):  # guard: numeric-name
        raise InvalidName("ip_address" if _IPV4.fullmatch(host) else "numeric")
    return host


def is_confusable(host: str) -> bool:
    """Return whether a canonical host can be mistaken for another name; shown wherever the host is shown."""
    if "xn--" not in host:
        return False
    try:
        # guard: look-alike
        return looks_alike([idna.ulabel(label) if label.startswith("xn--") else label for label in host.split(".")])
    except (idna.IDNAError, UnicodeError):  # the URL standard accepts hosts that IDNA does not
        return True


@lru_cache(maxsize=8_192)
def registrable_domain(host: str) -> str:
    """Return the registrable domain of a canonical host: the unit of lease, budget and opt-out. Public Suffix List with
    its private section; where no rule matches, the default rule `*` (its section "algorithm"): `a.b.example` belongs to
    `b.example`. A public suffix or a single label is returned unchanged."""
    suffix, domain = _suffixes.cut(host)
    if suffix:
        return domain or host
    return ".".join(host.split(".")[-2:])


def is_on_platform(host: str) -> bool:
    """Return whether the site of a canonical host is one of many customers' below a platform's name, such as
    `shop.vercel.app`: a suffix of the list's private section."""
    suffix, domain = _suffixes.cut(host)
    return bool(domain) and (suffix in _suffixes.private or suffix.partition(".")[2] in _suffixes.private)


def use_suffixes(suffixes: SuffixList) -> None:
    """Cut hosts by this list from now on. For the composition root, which reads what `refresh` has stored."""
    global _suffixes
    _suffixes = suffixes
    registrable_domain.cache_clear()
    is_public_name.cache_clear()


@lru_cache(maxsize=8_192)
def is_public_name(host: str) -> bool:
    """Return whether a host of a parsed URL is a name of the public internet: known suffix, no special use. The
    spelling of its labels is not judged: names with underscores, say, resolve although they cannot be registered."""
    labels = host.split(".")
    if len(labels) == 1 or labels[-1] in SPECIAL_USE:  # guard: private-name
        return False
    return bool(_suffixes.cut(host)[0])


def same_site(a: str, b: str) -> bool:
    """Return whether two canonical hosts share their registrable domain."""
    return a == b or registrable_domain(a) == registrable_domain(b)


def parse_url(url: str, base: str | None = None) -> Url | None:
    """Return the parts of `url`, resolved against the absolute URL `base`. Return None if it cannot be parsed, or if
    parsers read different hosts in it."""
    parsed = read_url(url, base)
    # guard: ambiguous-url
    return None if parsed is not None and is_ambiguous(url.strip(STRIPPED), base) else parsed


def read_url(url: str, base: str | None = None) -> Url | None:
    """Return the parts of `url` by the URL standard, also where other parsers read something else."""
    if base is not None and url.startswith("https://") and _parse(base, None):
        base = None  # irrelevant to an absolute URL, which is then parsed once for all pages that name it
    return _parse(url, base)


@lru_cache(maxsize=1_024)  # reading one document parses the same few URLs many times
def _parse(url: str, base: str | None) -> Url | None:
    """Parse with ada, then split its canonical text at the delimiters of the serialiser (URL standard, section 4.5).
    Reading each part from ada would cost as much as the parsing."""
    if len(url) > 4 * MAX_URL_CHARS:  # guard: url-parse-length
        return None
    try:
        href = ada_url.URL(url, base).href
    except ValueError:  # also UnicodeEncodeError: lone surrogates
        return None
    scheme, _, after_scheme = href.partition(":")
    if scheme not in _WEB_SCHEMES:
        return Url(href, scheme)
    authority, _, tail = after_scheme.removeprefix("//").partition("/")
    _, at_sign, host_port = authority.rpartition("@")
    host, colon, port = host_port.rpartition(":")
    if not colon or port.endswith("]"):  # `[::1]:8443` is split, `[::1]` is a host
        host, port = host_port, ""
    is_name = not host.startswith("[") and _IPV4.fullmatch(host) is None
    path, _, query = tail.partition("#")[0].partition("?")
    return Url(href, scheme, host, port, bool(at_sign), is_name, f"/{path}?{query}" if query else f"/{path}")


@lru_cache(maxsize=1_024)
def host_of(url: str) -> str | None:
    """Return the canonical DNS name in an http(s) or ws(s) URL; None for anything else, IP addresses included."""
    parsed = parse_url(url)
    return _dns_name(parsed) if parsed else None


@lru_cache(maxsize=1_024)
def parse_https(url: str, base: str | None = None) -> str | None:
    """Return the canonical absolute URL, or None if it may not be fetched. Fetched are only URLs with https on port
    443, no userinfo, a DNS name, and at most MAX_URL_CHARS. The fragment is dropped because it never reaches a server.
    `base` is the absolute URL of the document that names `url`."""
    parsed = parse_url(url, base)
    if parsed is None or parsed.scheme != "https" or parsed.port or parsed.has_user:  # guard: https-url
        return None
    host = _dns_name(parsed)
    if host is None:
        return None
    canonical = f"https://{host}{parsed.target}"
    return canonical if len(canonical) <= MAX_URL_CHARS else None  # guard: url-length


def _find_registered(host: str) -> str:
    """Return the registrable domain of a name that may be registered. Raise InvalidName."""
    labels = host.split(".")
    if labels[-1] in SPECIAL_USE:  # guard: special-use-name
        raise InvalidName("special_use")
    if len(labels) == 1:
        raise InvalidName("single_label")
    suffix, domain = _suffixes.cut(host)
    if not suffix:  # guard: unknown-suffix
        raise InvalidName("unknown_tld")
    if not domain:  # guard: bare-suffix
        raise InvalidName("public_suffix")
    return domain


def _refuse_decoration(text: str) -> None:
    """Raise InvalidName if `text` is anything more, or less, than a bare host name."""
    if not text:
        raise InvalidName("empty")
    if len(text) > MAX_HOST_CHARS + 1:
        raise InvalidName("too_long")
    if _BARE.fullmatch(text):
        return
    for char in text:
        category = unicodedata.category(char)
        if category in ("Zs", "Zl", "Zp") or char in "\t\n\r\v\f":
            raise InvalidName("whitespace")
        if category in ("Cs", "Cn", "Co"):
            raise InvalidName("not_text")
        if category in ("Cc", "Cf") or char in _BLANK or "\ufe00" <= char <= "\ufe0f":  # guard: invisible-characters
            raise InvalidName("invisible_character")
    for delimiter, code in (("://", "has_scheme"), ("@", "has_userinfo"), ("/", "has_path"), ("\\", "has_path"),
                       ("?", "has_query"), ("#", "has_query")):  # fmt: skip
        if delimiter in text:
            raise InvalidName(code)
    if _PORT.fullmatch(text):
        raise InvalidName("has_port")
    if text.count(":") == 1:
        raise InvalidName("has_scheme")  # mailto:, javascript:, data:
    if ":" in text or "[" in text or "]" in text:
        raise InvalidName("ip_address")


def _a_label(label: str) -> str:
    if not label:
        raise InvalidName("empty_label")
    if not label.isascii():
        label = _encode(label)
    if len(label) > 63:  # guard: label-length
        raise InvalidName("label_too_long")
    if not _LDH.fullmatch(label):  # guard: ldh-label
        raise InvalidName("bad_character")
    if label[2:4] == "--":  # guard: xn-label
        _refuse_fake_punycode(label)
    return label


def _encode(label: str) -> str:
    try:
        return idna.alabel(label).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise InvalidName("not_idna") from None


def _refuse_fake_punycode(label: str) -> None:
    if not label.startswith("xn--"):
        raise InvalidName("reserved_label")
    try:
        unicode_label = idna.ulabel(label)
        is_genuine = not unicode_label.isascii() and idna.alabel(unicode_label).decode("ascii") == label
    except (idna.IDNAError, UnicodeError):
        is_genuine = False
    if not is_genuine:
        raise InvalidName("bad_punycode")


def _dns_name(parsed: Url) -> str | None:
    if not parsed.is_name:  # guard: name-not-address
        return None
    host = parsed.host.removesuffix(".")
    return host if _can_be_resolved(host) else None  # guard: resolvable-host


@lru_cache(maxsize=1_024)
def _can_be_resolved(host: str) -> bool:
    labels = host.split(".")
    return len(host) <= MAX_HOST_CHARS and len(labels) <= MAX_LABELS and all(0 < len(label) <= 63 for label in labels)
