"""Read agent.json 1.x: intents that agents can request, with parameters, prices and endpoints.

Sections refer to the agent.json specification 1.4. `extensions` are kept as they are, without a meaning (section 10.2).
"""

import math
import re
from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support.endpoints import claim, endpoint
from registry.core.format_support.loose import homepage_of, license_of, payment_of, provider_of, repository_of
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    clean_json,
    count_of,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    native,
    own_members,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.params import object_schema, property_of
from registry.core.format_support.vocabulary import http_method
from registry.core.formats.agent_json import adhoc, rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.names.domains import host_of, same_site
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = adhoc.SLUG
_VERSIONS: Final = frozenset({"1.0", "1.1", "1.2", "1.3", "1.4"})
_METHODS: Final = frozenset({"GET", "POST", "PUT", "DELETE"})
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")
_ED25519_KEY = re.compile(r"[A-Za-z0-9_-]{43}")
_MARKS: Final = ("intents", "payout_address", "version")
_REWARDS: Final = ("bounty", "incentive")
_INTENT_READ: Final = frozenset({
    "name", "description", "endpoint", "method", "parameters", "returns", "price", "tags",
})  # fmt: skip
_BODY_READ: Final = frozenset({
    "version", "display_name", "description", "intents", "origin", "payout_address", "identity", "commitments",
    "homepage", "tags",
})  # fmt: skip
_PARTIES: Final = ("orchestrator", "platform", "referrer")
_POINTERS: Final = {
    **own_members("description", "identity"),
    "name": "/display_name",
    "capabilities": "/intents",
    "pricing": "/intents",
    "policies": "/commitments",
    "protocols": "/version",
    "claims": "/origin",
}


def dialect(document: Document) -> str | None:
    """Return the version, "other" for an unknown or missing one, None for a document that is not agent.json."""
    value = document.members
    if "origin" not in value or not any(key in value for key in _MARKS):
        return None
    if "skills" in value and not ("intents" in value or "payout_address" in value):
        return None  # an A2A card has a version too
    version = value.get("version")
    return version if isinstance(version, str) and version in _VERSIONS else "other"


def read(document: Document, dialect: str, notes: Notes) -> services.Service:
    if dialect == adhoc.AD_HOC:
        return adhoc.read(document, notes)
    body = document.members
    version = short_text_of(body, "version")
    if version not in _VERSIONS:
        notes.add(rules.VERSION, "/version", body.get("version", ""))
    claims = _read_claims(body, document, notes)
    intents = list(_read_intents(body, document, notes))
    if not intents:
        notes.add(rules.NO_INTENTS, "/intents")
    _check_rewards(body, "", notes)
    plans = tuple(plan for intent, _ in intents if intent.pricing for plan in intent.pricing.plans)[:MAX_TEXTS]
    rewards = [reward for reward in (_read_rewards(body), *(reward for _, reward in intents)) if reward]
    service = services.Service(
        name=None if has_template(body, ("display_name",), "", notes) else short_text_of(body, "display_name"),
        description=None if has_template(body, ("description",), "", notes) else text_of(body, "description"),
        capabilities=tuple(capability for capability, _ in intents),
        pricing=services.Pricing(
            "pay_per_call" if plans else "unknown",
            plans,
            note="; ".join(rewards[:MAX_TEXTS]) or None,
            payments=tuple(dict.fromkeys(_read_payment_ways(body)))[:MAX_TEXTS],
        ),
        policies=services.Policies(hints=_read_commitments(body, notes)),
        protocols=(services.Protocol(SLUG, version), *_read_payments(body, notes)),
        identity=_read_identity(map_of(body, "identity")),
        provider=provider_of(body, document.url),
        homepage=homepage_of(body, document.url),
        repository=repository_of(body, document.url),
        license=license_of(body),
        tags=texts_of(body, "tags"),
        claims=claims,
        native=native(SLUG, body, _BODY_READ),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


def _read_claims(body: Object, document: Document, notes: Notes) -> dict[str, str]:
    """Return the origin (section 5.2) and the address for payments, both as claims."""
    claims: dict[str, str] = {}
    origin = claim(body.get("origin"), document, "/origin", notes)
    if origin is not None:
        claims["origin"] = origin
    origin_host = host_of(origin if "://" in origin else f"https://{origin}") if origin else None
    serving_host = host_of(document.url)
    if origin_host is None or (
        serving_host is not None and origin_host != serving_host and same_site(origin_host, serving_host)
    ):
        notes.add(rules.ORIGIN, "/origin", body.get("origin", ""))
    address = short_text_of(body, "payout_address")
    if address is None:
        notes.add(rules.PAYOUT_ADDRESS, "/payout_address", body.get("payout_address", ""))
    else:
        claims["payout_address"] = address
    return claims


# --- intents ---------------------------------------------------------------------------------------------------------


def _read_intents(body: Object, document: Document, notes: Notes) -> Iterator[tuple[services.Capability, str | None]]:
    """Yield the usable intents (section 4.2), each with its own bounty and incentive in words."""
    seen: set[str] = set()
    for pointer, intent in members(list_of(body, "intents"), "/intents", rules.INTENT, notes):
        name, description = text_of(intent, "name", ID_CHARS), text_of(intent, "description")
        if name is None or description is None:
            notes.add(rules.INTENT, pointer, name or "")
            continue
        is_template = has_template(intent, ("name", "description"), pointer, notes)
        if is_template or is_repeated(name, seen, at(pointer, "name"), notes):
            continue
        if not _SNAKE_CASE.fullmatch(name):
            notes.add(rules.INTENT_NAME, at(pointer, "name"), name)
        _check_rewards(intent, pointer, notes)
        method = http_method(intent)  # the specification lets runtimes assume POST; this reader does not
        if method not in _METHODS and "endpoint" in intent:
            notes.add(rules.METHOD, at(pointer, "method"), intent.get("method", ""))
        params = _read_params(intent, pointer, notes)
        address = endpoint(intent.get("endpoint"), document.url, document, at(pointer, "endpoint"), notes)
        calls, origin = [], services.Origin(document.url, pointer, SLUG)
        if address is not None:
            templated = address.templated
            calls = [services.Invocation("http", address.url, method, name, templated=templated, origin=origin)]
        returns, rewards = map_of(intent, "returns"), _read_rewards(intent)
        result: Object = {key: returns[key] for key in ("type", "description", "properties") if key in returns}
        plan = _read_plan(name, intent, pointer, notes)
        capability = services.Capability(
            name,
            name,
            description,
            params=params,
            result=clean_json(result) or None,  # section 4.3.1
            pricing=services.Pricing("pay_per_call", (plan,)) if plan else None,
            tags=texts_of(intent, "tags"),
            invocations=tuple(calls),
            native=native(SLUG, intent, _INTENT_READ),
        )
        notes.mark_read(pointer)
        yield capability, f"{name}: {rewards}" if rewards else None


def _read_params(intent: Object, pointer: str, notes: Notes) -> dict[str, Any] | None:
    """Return the JSON Schema of the parameters (section 4.3); None for an intent that does not list any."""
    if not isinstance(intent.get("parameters"), dict):
        return None
    properties: list[tuple[str, dict[str, Any]]] = []
    required: list[str] = []
    for key, definition in map_of(intent, "parameters").items():
        name = line(key, NAME_CHARS)
        entry: Object = definition if isinstance(definition, dict) else {}
        if short_text_of(entry, "type") not in _TYPES:
            notes.add(rules.PARAMETER, at(pointer, "parameters", key), entry.get("type", ""))
        if name:
            properties.append((name, property_of(entry)))
            required += [name] if flag_of(entry, "required") else []
    return object_schema(properties, required)


# --- money -----------------------------------------------------------------------------------------------------------


def _read_plan(name: str, intent: Object, pointer: str, notes: Notes) -> services.Plan | None:
    """Return the price of an intent (section 4.5); None where it has none or an incomplete one."""
    price = map_of(intent, "price")
    if "price" not in intent:
        return None
    amount, currency = _read_number(price, "amount"), short_text_of(price, "currency")
    if amount is None or currency is None:
        notes.add(rules.PRICE, at(pointer, "price"), price.get("amount", ""))
        return None
    unit = short_text_of(price, "unit_param")
    networks = texts_of(price, "network") or tuple(filter(None, (short_text_of(price, "network"),)))
    free = count_of(price, "free_tier")
    limits = [
        f"per unit of {unit}" if unit else (short_text_of(price, "model") or "").replace("_", " "),
        f"{free} calls free" if free else "",
        f"on {', '.join(networks)}" if networks else "",
    ]
    return services.Plan(name, f"{amount} {currency}", ", ".join(filter(None, limits)) or None)


def _read_rewards(holder: Object) -> str | None:
    """Return a bounty and an incentive in words (sections 4.4 and 4.6): neither is a price."""
    templates = {"bounty": "pays agents {} per completed action", "incentive": "suggests that agents pay {} per action"}
    descriptions = []
    for key in _REWARDS:
        reward = map_of(holder, key)
        rate, currency = _read_number(reward, "rate"), short_text_of(reward, "currency")
        if rate is not None and currency is not None:
            shares = ", ".join(f"{party} {share:.4g}" for party, share in _read_splits(reward))
            descriptions.append(
                templates[key].format(f"{rate} {currency}") + (f" (shares: {shares})" if shares else "")
            )
    return ", ".join(descriptions) or None


def _check_rewards(holder: Object, pointer: str, notes: Notes) -> None:
    for key in _REWARDS:
        reward = map_of(holder, key)
        parts = (short_text_of(reward, "type"), short_text_of(reward, "currency"), _read_number(reward, "rate"))
        if key in holder and None in parts:
            notes.add(rules.REWARD, at(pointer, key))
        if "splits" in reward and not math.isclose(sum(share for _, share in _read_splits(reward)), 1, abs_tol=1e-6):
            notes.add(rules.SPLITS, at(pointer, key, "splits"))


def _read_splits(reward: Object) -> list[tuple[str, float]]:
    """Return the share of each party in a bounty, 0 to 1 (section 4.4.1)."""
    splits = map_of(reward, "splits")
    shares = ((party, splits.get(party)) for party in _PARTIES)
    numbers = ((party, share) for party, share in shares if isinstance(share, int | float) and share is not True)
    return [(party, float(share)) for party, share in numbers if 0 <= share <= 1]


def _read_commitments(body: Object, notes: Notes) -> dict[str, str]:
    """Return the declared commitments by type (section 4.10). Their signature is not verified: they are claims."""
    commitments: dict[str, str] = {}
    wrapper = map_of(body, "commitments")
    for pointer, entry in members(list_of(wrapper, "entries"), "/commitments/entries", rules.COMMITMENT, notes):
        kind, constraint = short_text_of(entry, "type"), text_of(entry, "constraint")
        if kind is None or constraint is None:
            notes.add(rules.COMMITMENT, pointer, kind or "")
        elif kind in commitments:
            commitments[kind] = f"{commitments[kind].removesuffix('.')}; {constraint}"
        elif len(commitments) < MAX_TEXTS:
            commitments[kind] = constraint
    return commitments


def _read_payments(body: Object, notes: Notes) -> Iterator[services.Protocol]:
    """Yield the payment protocols: `payments` (section 4.9), else `x402` (section 4.8), which it replaces."""
    wrapper = map_of(body, "payments")
    if "payments" not in body and "x402" in body:
        legacy = map_of(body, "x402")
        if flag_of(legacy, "supported") is None:
            notes.add(rules.X402, "/x402/supported", legacy.get("supported", ""))
        wrapper = {"x402": legacy}
    prefix = "/payments" if "payments" in body else ""
    for index, network in enumerate(list_of(map_of(wrapper, "x402"), "networks")):
        if not short_text_of(network, "network") or not short_text_of(network, "asset"):
            notes.add(rules.X402, at(f"{prefix}/x402/networks", index))
    for key in list(wrapper)[:MAX_TEXTS]:
        protocol = line(key, ID_CHARS)
        if protocol and isinstance(wrapper[key], dict) and flag_of(wrapper[key], "supported") is not False:
            yield services.Protocol(protocol)


def _read_payment_ways(body: Object) -> Iterator[services.Payment]:
    """Yield the networks of x402 with asset and recipient (sections 4.8 and 4.9)."""
    x402 = map_of(map_of(body, "payments"), "x402") or map_of(body, "x402")
    recipient = first_text(x402, "recipient", "payTo") or short_text_of(body, "payout_address")
    networks = list_of(x402, "networks") or ([x402] if short_text_of(x402, "network") else [])
    for network in networks[:MAX_TEXTS]:
        if isinstance(network, dict) and (payment := payment_of({"recipient": recipient, **network})) is not None:
            yield payment


def _read_number(holder: Json, key: str) -> str | None:
    """Return a number as text, without trailing zeros."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return f"{value:.12g}" if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read_identity(identity: Object) -> services.Identity:
    """Return the identity (section 4.7). The key is an Ed25519 key (RFC 8037 section 2)."""
    did, key = short_text_of(identity, "did"), short_text_of(identity, "public_key")
    keys = ({"kty": "OKP", "crv": "Ed25519", "x": key},) if key and _ED25519_KEY.fullmatch(key) else ()
    return services.Identity(dids=(did,) if did and did.startswith("did:") else (), keys=keys)
