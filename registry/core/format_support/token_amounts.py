"""Turn amounts of payment protocols into prices.

x402 ("atomic token units", specification 2 section 5.1.2) and the Machine Payments Protocol ("base units") count the
smallest unit of an asset: 10000 is 0.01 USDC. An amount whose unit is not known is shown with the words "base units",
never as an amount of the asset.
"""

import re
from decimal import Context, Decimal
from typing import Final

from registry.core.format_support.manifest import NAME_CHARS, Object, first_text, map_of
from registry.core.model.documents import Json

BASE_UNITS: Final = "base units"
MAX_DECIMALS: Final = 77  # 10**77 is the largest power of ten in a uint256
_DIGITS: Final = re.compile(r"[0-9]{1,78}")
_EXACT: Final = Context(prec=200)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}|\S{0,80}:\S{1,120}|[1-9A-HJ-NP-Za-km-z]{32,44}")

_USDC, _USDT, _EURC = ("USDC", 6), ("USDT", 6), ("EURC", 6)
_TOKENS: Final[dict[str, tuple[str | None, int]]] = {address.lower(): token for address, token in {
    "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48": _USDC,  # Ethereum
    "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238": _USDC,  # Ethereum Sepolia
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913": _USDC,  # Base
    "0x036CbD53842c5426634e7929541eC2318f3dCF7e": _USDC,  # Base Sepolia
    "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359": _USDC,  # Polygon
    "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582": _USDC,  # Polygon Amoy
    "0xaf88d065e77c8cC2239327C5EDb3A432268e5831": _USDC,  # Arbitrum
    "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d": _USDC,  # Arbitrum Sepolia
    "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85": _USDC,  # OP Mainnet
    "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E": _USDC,  # Avalanche
    "0x5425890298aed601595a70AB815c96711a31Bc65": _USDC,  # Avalanche Fuji
    "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392": _USDC,  # Sei
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v": _USDC,  # Solana
    "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU": _USDC,  # Solana devnet
    "0x8AC76a51cc950d9822D68b83fE1aD97B32Cd580d": ("USDC", 18),  # BNB Smart Chain (bridged)
    "0xdAC17F958D2ee523a2206206994597C13D831ec7": _USDT,  # Ethereum
    "0xc2132D05D31c914a87C6611C10748AEb04B58e8F": _USDT,  # Polygon
    "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB": _USDT,  # Solana
    "0x55d398326f99059fF775485246999027B3197955": ("USDT", 18),  # BNB Smart Chain (bridged)
    "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c": _EURC,  # Ethereum
    "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42": _EURC,  # Base
    "0x20c0000000000000000000000000000000000000": ("pathUSD", 6),  # Tempo
}.items()}  # fmt: skip
"""Well-known assets: symbol and decimals by address, in lower case (November 2026). Sources: the lists of contract
addresses of Circle and Tether, the block explorers of BNB Smart Chain, and Tempo's specification of TIP-20. An address
is a hash, so it stands for the same token on every network."""
_TIP_20: Final = re.compile(r"0x20c0{17}[0-9a-f]{20}")
"""Addresses of Tempo's tokens. They all have six decimals (TIP-20)."""
_NAMED: Final = {
    "usdc": _USDC, "usdcoin": _USDC, "usdce": _USDC, "usdt": _USDT, "tetherusd": _USDT, "eurc": _EURC,
    "eurocoin": _EURC, "pyusd": ("PYUSD", 6), "usdg": ("USDG", 6), "pathusd": ("pathUSD", 6),
}  # fmt: skip
"""The same by name, for assets at other addresses: their issuers use these decimals everywhere except on the networks
of `_OTHER_DECIMALS`."""
_OTHER_DECIMALS: Final = frozenset(
    {"bsc", "bnb", "bnbsmartchain", "binancesmartchain", "bep20", "eip15556", "eip15597"}
)
_CENTS: Final = 2
_WHOLE: Final = frozenset({
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF",
})  # fmt: skip
"""Currencies without a minor unit (ISO 4217). Nearly all others have two decimals; MPP counts their minor units."""

_TIP_20_DECIMALS: Final = 6
_DECIMALS: Final = ("decimals", "assetDecimals", "asset_decimals", "tokenDecimals", "token_decimals")
_ASSETS: Final = (
    "asset", "assetAddress", "asset_address", "token_address", "tokenAddress", "contract", "currency", "token",
)  # fmt: skip
_SYMBOLS: Final = ("symbol", "assetSymbol", "asset_symbol", "tokenSymbol", "token_symbol", "ticker")
_SCHEMES: Final = frozenset({"exact", "upto", "deferred", "batch-settlement", "escrow", "channel"})
_ALWAYS_BASE: Final = frozenset({"maxamountrequired", "amountatomic", "atomicamount", "amountinbaseunits", "baseunits"})


def in_units(amount: Json, decimals: Json) -> str | None:
    """Return an amount of base units (digits) in the asset's own unit, exactly: ("10000", 6) is "0.01". Return None if
    the amount is not a whole number or the decimals are not a number from 0 to MAX_DECIMALS."""
    digits, places = _whole_number(amount), _whole_number(decimals)
    if digits is None or places is None or places > MAX_DECIMALS:
        return None
    text = f"{Decimal(digits).scaleb(-places, _EXACT):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def amount_in_units(item: Object, key: str, written: str) -> str:
    """Return the amount at `key` of a price or payment requirement, `written` as a text. Base units are converted if
    the asset's decimals are known, and named as base units if not; other amounts are returned as written."""
    if not _is_in_base_units(item, key, written):
        return written
    return in_units(written, _decimals_of(item)) or f"{written} {BASE_UNITS}"


def priced(item: Object, amount: str, unit: str | None) -> str:
    """Return an amount from `amount_in_units` with its asset: `unit` if that is a name, else the symbol of the address
    or the name beside it. An amount in words ("free") stays alone."""
    name = unit if unit and not _ADDRESS.fullmatch(unit) else asset_name(item) or unit
    if not name or name.lower() in amount.lower() or not any(character.isdigit() for character in amount):
        return amount
    return f"{amount} of {name}" if amount.endswith(BASE_UNITS) else f"{amount} {name}"


def asset_name(item: Object) -> str | None:
    """Return the symbol of a well-known asset, else the symbol or name that the document states beside the asset."""
    known = _known_token(item)
    if known and known[0]:
        return known[0]
    stated = (first_text(holder, *_SYMBOLS, "name", chars=NAME_CHARS) for holder in _holders(item)[1:])
    name = first_text(item, *_SYMBOLS, chars=NAME_CHARS) or next((text for text in stated if text), None)
    named = _NAMED.get(_compact(name)) if name else None
    return named[0] if named else name


def _is_in_base_units(item: Object, key: str, written: str) -> bool:
    """Return whether an amount counts base units: by its member's name, because decimals stand beside it, or because
    the object is a payment requirement of x402 or MPP. Only whole numbers do."""
    if not _DIGITS.fullmatch(written):
        return False
    name = _compact(key)
    if name in _ALWAYS_BASE or _stated_decimals(item) is not None:
        return True
    scheme = first_text(item, "scheme", chars=NAME_CHARS)
    is_token = _known_token(item) is not None and isinstance(item.get(key), str)  # the protocols write texts
    return name == "amount" and (scheme in _SCHEMES or "intent" in item or is_token)


def _decimals_of(item: Object) -> Json:
    """Return the decimals of the asset: facts first, then what the document states, then the asset's name."""
    known = _known_token(item)
    if known is not None:
        return known[1]
    stated = _stated_decimals(item)
    if stated is not None:
        return stated
    network = _compact(first_text(item, "network", "chain", chars=NAME_CHARS) or "")
    for name in (asset_name(item), _asset_text(item)):
        if name and _compact(name) in _NAMED and network not in _OTHER_DECIMALS:
            return _NAMED[_compact(name)][1]
    currency = (_asset_text(item) or "").upper()
    if "intent" in item and re.fullmatch("[A-Z]{3}", currency):
        return 0 if currency in _WHOLE else _CENTS
    return None


def _known_token(item: Object) -> tuple[str | None, int] | None:
    """Return symbol and decimals of an asset by its address, also within a CAIP-19 name (`eip155:8453/erc20:0x…`)."""
    for holder, keys in zip(_holders(item), (_ASSETS, _ASSETS, ("address",)), strict=True):
        for key in keys:
            if key not in holder:
                continue
            address = (first_text(holder, key, chars=NAME_CHARS) or "").rpartition(":")[2].lower()
            if address in _TOKENS:
                return _TOKENS[address]
            if _TIP_20.fullmatch(address):
                return None, _TIP_20_DECIMALS
    return None


def _stated_decimals(item: Object) -> int | None:
    stated = (_whole_number(holder.get(key)) for holder in _holders(item) for key in _DECIMALS)
    return next((number for number in stated if number is not None and number <= MAX_DECIMALS), None)


def _asset_text(item: Object) -> str | None:
    return first_text(item, "asset", "currency", "token", chars=NAME_CHARS)


def _holders(item: Object) -> tuple[Object, Object, Object]:
    """Return the objects that describe the asset: the requirement, its `extra`, and an `asset` that is an object."""
    return item, map_of(item, "extra"), map_of(item, "asset")


def _whole_number(value: Json) -> int | None:
    text = value.strip() if isinstance(value, str) else str(value) if _is_short_integer(value) else ""
    return int(text) if _DIGITS.fullmatch(text) else None


def _is_short_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**78


def _compact(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
