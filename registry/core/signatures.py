"""Signatures that a document carries over itself: JWS (RFC 7515) over the canonical JSON (RFC 8785) of the document.

Pure: keys come as values, from documents that the same host served; nothing is fetched and no header is trusted with
the choice of a key's kind. Everything is bounded: sizes of keys and texts, numbers of keys and tries.
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

from registry.core.documents import Json
from registry.core.reader import Unreadable, read_json
from registry.core.services import Signature

MAX_SIGNED_CHARS: Final = 256 * 1024
MAX_HEADER_CHARS: Final = 8 * 1024
MAX_KEYS: Final = 20  # of one document
MAX_TRIES: Final = 10  # keys tried for one signature

Key: TypeAlias = Mapping[str, str]

_KEY_MEMBERS: Final = ("kty", "kid", "alg", "use", "crv", "x", "y", "n", "e")
_MAX_MEMBER: Final = 1_500  # base64url of 8,192 bits
_RSA_BITS: Final = range(2048, 8193)
_MAX_EXPONENT: Final = 2**32  # a larger one only buys the signer our time


class Verdict(StrEnum):
    VERIFIED = "verified"
    BROKEN = "broken"  # the key is there, and did not sign this
    NO_KEY = "no_key"  # no document of the host holds the key
    UNSUPPORTED = "unsupported"  # another algorithm, an extension that must be understood, no header


# --- what a document says -------------------------------------------------------------------------------------------


def canonical(document: Mapping[str, Json], without: str) -> str | None:
    """The canonical JSON of the document without one member; None where it has none or is beyond MAX_SIGNED_CHARS."""
    try:
        # ints and floats beyond what RFC 8785 section 3.2.2.3 covers, lone surrogates
        text = rfc8785.dumps({key: value for key, value in document.items() if key != without}).decode()
    except (rfc8785.CanonicalizationError, UnicodeError):
        return None
    return text if len(text) <= MAX_SIGNED_CHARS else None


def header_of(protected: str) -> Mapping[str, Json] | None:
    """The protected header, read; None for anything but the base64url of a JSON object."""
    raw = _decoded(protected) if len(protected) <= MAX_HEADER_CHARS else None
    try:
        value = read_json(raw) if raw else None
    except Unreadable:
        return None
    return value if isinstance(value, dict) else None


def public_keys(keys: Json) -> tuple[Key, ...]:
    """The keys of a JWK set that can verify, known members only: the members of private keys are never kept."""
    found = []
    for key in keys[:MAX_KEYS] if isinstance(keys, list) else ():
        if isinstance(key, dict) and key.get("kty") in ("EC", "OKP", "RSA"):
            kept = {name: value for name in _KEY_MEMBERS if isinstance(value := key.get(name), str)}
            if all(len(value) <= _MAX_MEMBER for value in kept.values()):
                found.append(kept)
    return tuple(found)


# --- verification ---------------------------------------------------------------------------------------------------


def verify(signature: Signature, signed: str, keys: Iterable[Key]) -> Verdict:
    """Whether one of the keys made the signature over `signed`, as served or as A2A 1.0 section 8.4.1 reduces it."""
    header = header_of(signature.protected)
    algorithm = header.get("alg") if header else None
    if header is None or "crit" in header or not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
        return Verdict.UNSUPPORTED
    raw = _decoded(signature.signature)
    named = [key for key in keys if _may_sign(key, algorithm, header.get("kid"))][:MAX_TRIES]
    if not named:
        return Verdict.NO_KEY
    if raw is None:
        return Verdict.BROKEN
    for text in dict.fromkeys((signed, _without_defaults(signed))):
        message = f"{signature.protected}.{_encoded(text.encode())}".encode()
        if any(_is_signed(algorithm, key, raw, message) for key in named):
            return Verdict.VERIFIED
    return Verdict.BROKEN


def _may_sign(key: Key, algorithm: str, kid: Json) -> bool:
    """RFC 7517 section 4: what a key says about its own use binds. Without a key id any fitting key may be meant."""
    kty, curve, _ = _ALGORITHMS[algorithm]
    fits = key.get("kty") == kty and (curve is None or key.get("crv") == curve)
    return (
        fits
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
        """RFC 7518 section 3.4: the two numbers one after the other, each of the curve's size."""
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
"""Kind of key, its curve, and the check, which raises: by `alg` (RFC 7518 section 3.1, RFC 8037, RFC 9864)."""


# --- A2A 1.0 section 8.4.1 ------------------------------------------------------------------------------------------

_ALWAYS_THERE: Final = frozenset(
    {"name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes", "skills", "id",
     "defaultOutputModes", "tags", "url", "organization", "protocolBinding", "protocolVersion", "streaming", "flows",
     "pushNotifications", "extendedAgentCard", "documentationUrl", "iconUrl", "location", "scheme", "scopes",
     "openIdConnectUrl", "authorizationUrl", "tokenUrl"}
)  # fmt: skip
"""Members that are required or have explicit presence: kept whatever their value."""
_MAPS: Final = frozenset({"securitySchemes", "schemes", "scopes"})
_OPAQUE: Final = frozenset({"params"})


def _without_defaults(signed: str) -> str:
    """Signers that rebuild the card from its protocol buffer leave out members with default values."""
    return canonical(_reduced(json.loads(signed)), "") or signed


def _reduced(message: dict[str, Json]) -> dict[str, Json]:
    """Recursion is bounded by the depth that the reader allows."""
    kept = {key: _reduced_member(key, value) for key, value in message.items()}
    return {key: value for key, value in kept.items() if key in _ALWAYS_THERE or not _is_default(value)}


def _reduced_member(key: str, value: Json) -> Json:
    if key in _OPAQUE:
        return value
    if isinstance(value, list):
        return [_reduced(item) if isinstance(item, dict) else item for item in value]
    if isinstance(value, dict):
        if key in _MAPS:
            return {name: _reduced(item) if isinstance(item, dict) else item for name, item in value.items()}
        return _reduced(value)
    return value


def _is_default(value: Json) -> bool:
    return value in ("", 0, [], {}, None)


# --- bytes ----------------------------------------------------------------------------------------------------------


def _decoded(text: str) -> bytes | None:
    """base64url without padding (RFC 7515 section 2); None for anything else."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    raw = _decoded(text)
    if raw is None:
        raise ValueError("not base64url")
    return raw


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))


def signatures_of(items: Sequence[Json], pointer: str) -> tuple[Signature, ...]:
    """`[{protected, signature}]`, those that are two texts of a bearable length; the pointer of each counts all."""
    found = []
    for index, item in enumerate(items):
        protected, value = (item.get("protected"), item.get("signature")) if isinstance(item, dict) else (None, None)
        if isinstance(protected, str) and isinstance(value, str) and len(protected) + len(value) <= MAX_HEADER_CHARS:
            found.append(Signature(protected, value, f"{pointer}/{index}"))
    return tuple(found)
