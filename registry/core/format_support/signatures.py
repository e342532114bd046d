"""Verify a document's signatures over itself: JWS (RFC 7515) over the document's canonical JSON (RFC 8785).

Nothing is fetched: the caller passes keys from documents that the same host served. The algorithm fixes the kind of key
that is accepted, so a header cannot choose it. Sizes of keys and texts, and numbers of keys and tries, are bounded.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

import rfc8785
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from registry.core.model.documents import Json
from registry.core.model.services import Signature
from registry.core.reading.reader import Unreadable, read_json

MAX_SIGNED_CHARS: Final = 256 * 1024
MAX_HEADER_CHARS: Final = 8 * 1024
MAX_KEYS: Final = 20  # of one document
MAX_TRIES: Final = 10  # keys tried per signature

Key: TypeAlias = Mapping[str, str]

_KEY_MEMBERS: Final = ("kty", "kid", "alg", "use", "crv", "x", "y", "n", "e")
_MAX_MEMBER: Final = 1_500  # base64url of 8,192 bits
_RSA_BITS: Final = range(2048, 8193)
_MAX_EXPONENT: Final = 2**32  # a larger exponent only makes verification slow


class SignatureVerdict(StrEnum):
    VERIFIED = "verified"
    BROKEN = "broken"  # a key was found, but the signature does not match
    NO_KEY = "no_key"  # no document of the host has the key
    UNSUPPORTED = "unsupported"  # an unknown algorithm, a critical extension (`crit`), or an unreadable header


def canonical(document: Mapping[str, Json], omitted_member: str) -> str | None:
    """Return the canonical JSON of the document without one member; None if impossible or over MAX_SIGNED_CHARS."""
    try:
        # fails for numbers outside RFC 8785 section 3.2.2.3 and for lone surrogates
        text = rfc8785.dumps({key: value for key, value in document.items() if key != omitted_member}).decode()
    except (rfc8785.CanonicalizationError, UnicodeError):
        return None
    return text if len(text) <= MAX_SIGNED_CHARS else None


def header_of(protected: str) -> Mapping[str, Json] | None:
    """Return the decoded protected header; None for anything but the base64url of a JSON object."""
    raw = _decode(protected) if len(protected) <= MAX_HEADER_CHARS else None
    try:
        value = read_json(raw) if raw else None
    except Unreadable:
        return None
    return value if isinstance(value, dict) else None


def public_keys(keys: Json) -> tuple[Key, ...]:
    """Return the public keys of a JWK set, known members only: members of private keys are never kept."""
    public = []
    for key in keys[:MAX_KEYS] if isinstance(keys, list) else ():
        if isinstance(key, dict) and key.get("kty") in ("EC", "OKP", "RSA"):
            members = {name: value for name in _KEY_MEMBERS if isinstance(value := key.get(name), str)}
            if all(len(value) <= _MAX_MEMBER for value in members.values()):
                public.append(members)
    return tuple(public)


def verify(signature: Signature, signed_text: str, keys: Iterable[Key]) -> SignatureVerdict:
    """Check the signature against the keys, over `signed_text` as served and as A2A 1.0 section 8.4.1 reduces it."""
    header = header_of(signature.protected)
    algorithm = header.get("alg") if header else None
    if header is None or "crit" in header or not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
        return SignatureVerdict.UNSUPPORTED
    raw = _decode(signature.signature)
    candidates = [key for key in keys if _may_sign(key, algorithm, header.get("kid"))][:MAX_TRIES]
    if not candidates:
        return SignatureVerdict.NO_KEY
    if raw is None:
        return SignatureVerdict.BROKEN
    # signers that rebuild the card from its protocol buffer sign it without default values
    reduced_text = canonical(_drop_defaults(json.loads(signed_text)), "") or signed_text
    for text in dict.fromkeys((signed_text, reduced_text)):
        encoded = base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()
        message = f"{signature.protected}.{encoded}".encode()
        if any(_is_signed(algorithm, key, raw, message) for key in candidates):
            return SignatureVerdict.VERIFIED
    return SignatureVerdict.BROKEN


def _may_sign(key: Key, algorithm: str, kid: Json) -> bool:
    """Return whether the key fits the algorithm and its own `alg` and `use` allow it (RFC 7517 section 4). Where the
    header has no `kid`, every fitting key is accepted."""
    kty, curve, _ = _ALGORITHMS[algorithm]
    return (
        key.get("kty") == kty
        and (curve is None or key.get("crv") == curve)
        and key.get("alg", algorithm) == algorithm
        and key.get("use", "sig") == "sig"
        and (kid is None or key.get("kid") == kid)
    )


def _is_signed(algorithm: str, key: Key, signature: bytes, message: bytes) -> bool:
    try:
        _ALGORITHMS[algorithm][2](key, signature, message)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, KeyError):
        return False
    return True


def _elliptic(curve: ec.EllipticCurve, digest: hashes.HashAlgorithm) -> Callable[[Key, bytes, bytes], None]:
    size = (curve.key_size + 7) // 8

    def check(key: Key, signature: bytes, message: bytes) -> None:
        """Verify R and S, concatenated, each of the curve's size in bytes (RFC 7518 section 3.4)."""
        if len(signature) != 2 * size:
            raise InvalidSignature
        numbers = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), curve)
        pair = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
        numbers.public_key().verify(encode_dss_signature(*pair), message, ec.ECDSA(digest))

    return check


def _rsa(scheme: padding.AsymmetricPadding) -> Callable[[Key, bytes, bytes], None]:
    def check(key: Key, signature: bytes, message: bytes) -> None:
        modulus, exponent = _number(key["n"]), _number(key["e"])
        if modulus.bit_length() not in _RSA_BITS or exponent > _MAX_EXPONENT:
            raise InvalidSignature
        public = rsa.RSAPublicNumbers(exponent, modulus).public_key()
        public.verify(signature, message, scheme, hashes.SHA256())

    return check


def _edwards(key: Key, signature: bytes, message: bytes) -> None:
    ed25519.Ed25519PublicKey.from_public_bytes(_bytes(key["x"])).verify(signature, message)


_PSS: Final = padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256().digest_size)
_ALGORITHMS: Final[Mapping[str, tuple[str, str | None, Callable[[Key, bytes, bytes], None]]]] = MappingProxyType(
    {
        "ES256": ("EC", "P-256", _elliptic(ec.SECP256R1(), hashes.SHA256())),
        "ES384": ("EC", "P-384", _elliptic(ec.SECP384R1(), hashes.SHA384())),
        "EdDSA": ("OKP", "Ed25519", _edwards),
        "Ed25519": ("OKP", "Ed25519", _edwards),
        "RS256": ("RSA", None, _rsa(padding.PKCS1v15())),
        "PS256": ("RSA", None, _rsa(_PSS)),
    }
)
"""`kty`, curve and a check that raises, by `alg` (RFC 7518 section 3.1, RFC 8037, RFC 9864)."""


# --- A2A 1.0 section 8.4.1 ------------------------------------------------------------------------------------------

_ALWAYS_THERE: Final = frozenset(
    {"name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes", "skills", "id",
     "defaultOutputModes", "tags", "url", "organization", "protocolBinding", "protocolVersion", "streaming", "flows",
     "pushNotifications", "extendedAgentCard", "documentationUrl", "iconUrl", "location", "scheme", "scopes",
     "openIdConnectUrl", "authorizationUrl", "tokenUrl"}
)  # fmt: skip
"""Members that are required or have explicit presence: kept even with a default value."""
_MAPS: Final = frozenset({"securitySchemes", "schemes", "scopes"})
_DEFAULTS: tuple[Json, ...] = ("", 0, [], {}, None)


def _drop_defaults(message: dict[str, Json]) -> dict[str, Json]:
    """Return the message without default values. The JSON reader's depth limit bounds the recursion."""
    members = {key: _reduced_member(key, value) for key, value in message.items()}
    return {key: value for key, value in members.items() if key in _ALWAYS_THERE or value not in _DEFAULTS}


def _reduced_member(key: str, value: Json) -> Json:
    if key == "params":  # an opaque value
        return value
    if isinstance(value, list):
        return [_drop_defaults(item) if isinstance(item, dict) else item for item in value]
    if isinstance(value, dict):
        if key in _MAPS:
            return {name: _drop_defaults(item) if isinstance(item, dict) else item for name, item in value.items()}
        return _drop_defaults(value)
    return value


def _decode(text: str) -> bytes | None:
    """Decode base64url without padding (RFC 7515 section 2); return None for anything else."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _bytes(text: str) -> bytes:
    raw = _decode(text)
    if raw is None:
        raise ValueError("not base64url")
    return raw


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))


def signatures_of(items: Sequence[Json], pointer: str) -> tuple[Signature, ...]:
    """Return the valid `{protected, signature}` items: two texts of at most MAX_HEADER_CHARS together. Pointers use the
    index among all items."""
    signatures = []
    for index, item in enumerate(items):
        protected, value = (item.get("protected"), item.get("signature")) if isinstance(item, dict) else (None, None)
        if isinstance(protected, str) and isinstance(value, str) and len(protected) + len(value) <= MAX_HEADER_CHARS:
            signatures.append(Signature(protected, value, f"{pointer}/{index}"))
    return tuple(signatures)
