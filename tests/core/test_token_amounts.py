"""Amounts of payment protocols become prices exactly, or stay base units and say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.format_support import loose
from registry.core.format_support.token_amounts import MAX_DECIMALS, amount_in_units, in_units, priced
from registry.core.model.documents import Json
from tests.core.manifests import json_values

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
UNKNOWN = "0x00000000000000000000000000000000000000f1"


@pytest.mark.parametrize(
    ("amount", "decimals", "units"),
    [
        ("10000", 6, "0.01"),
        (10000, "6", "0.01"),
        ("2500000", 6, "2.5"),
        ("7000000", 6, "7"),
        ("0", 6, "0"),
        ("500", 0, "500"),
        ("1", 18, "0.000000000000000001"),
        ("123456789012345678901234567890123456789", 18, "123456789012345678901.234567890123456789"),
        ("0.5", 6, None),
        ("-5", 6, None),
        ("ten", 6, None),
        (True, 6, None),
        ("5", -1, None),
        ("5", MAX_DECIMALS + 1, None),
        ("5", None, None),
        ("1" * 79, 6, None),
    ],
)
def test_base_units_become_units_of_the_asset(amount: Json, decimals: Json, units: str | None) -> None:
    assert in_units(amount, decimals) == units


@pytest.mark.parametrize(
    ("item", "key", "price"),
    [
        ({"scheme": "exact", "amount": "10000", "asset": USDC}, "amount", "0.01 USDC"),
        ({"scheme": "exact", "amount": "10000", "asset": USDC.upper().replace("0X", "0x")}, "amount", "0.01 USDC"),
        ({"maxAmountRequired": "10000", "asset": f"eip155:8453/erc20:{USDC}"}, "maxAmountRequired", "0.01 USDC"),
        ({"amount": "10000", "asset": {"address": USDC}}, "amount", "0.01 USDC"),
        # the facts of a well-known asset win over what the document says
        ({"scheme": "exact", "amount": "10000", "asset": USDC, "extra": {"decimals": 2}}, "amount", "0.01 USDC"),
        ({"scheme": "exact", "amount": "250", "asset": UNKNOWN, "extra": {"decimals": 2, "name": "Sesterce"}},
         "amount", "2.5 Sesterce"),
        ({"amount": "10000", "currency": "USDC", "decimals": 6}, "amount", "0.01 USDC"),
        ({"price": "250", "currency": "NOK", "decimals": 2}, "price", "2.5 NOK"),
        ({"scheme": "exact", "amount": "9", "asset": UNKNOWN}, "amount", f"9 base units of {UNKNOWN}"),
        ({"scheme": "exact", "amount": "9", "asset": UNKNOWN, "extra": {"name": "Sesterce"}},
         "amount", "9 base units of Sesterce"),
        ({"scheme": "exact", "amount": "9000", "asset": UNKNOWN, "network": "base", "extra": {"name": "USD Coin"}},
         "amount", "0.009 USDC"),
        ({"scheme": "exact", "amount": "9000", "asset": UNKNOWN, "network": "bsc", "extra": {"name": "USD Coin"}},
         "amount", "9000 base units of USDC"),
        ({"scheme": "exact", "amount": "5", "asset": "0x8AC76a51cc950d9822D68b83fE1aD97B32Cd580d"},
         "amount", "0.000000000000000005 USDC"),
        # Machine Payments Protocol
        ({"intent": "charge", "amount": "10000", "currency": "0x20c0000000000000000000000000000000000000"},
         "amount", "0.01 pathUSD"),
        ({"intent": "charge", "amount": "10000", "currency": "0x20c000000000000000000000b9537d11c60e8b50"},
         "amount", "0.01 0x20c000000000000000000000b9537d11c60e8b50"),
        ({"intent": "charge", "amount": "150", "currency": "usd"}, "amount", "1.5 usd"),
        ({"intent": "charge", "amount": "150", "currency": "JPY"}, "amount", "150 JPY"),
        # not base units
        ({"amount": "5", "currency": "USDC"}, "amount", "5 USDC"),
        ({"scheme": "exact", "amount": "0.01", "asset": "USDC"}, "amount", "0.01 USDC"),
        ({"scheme": "exact", "price": "2", "asset": "USDC"}, "price", "2 USDC"),
        ({"amount": "29", "currency": "EUR"}, "amount", "29 EUR"),
        ({"price": "free", "currency": "USDC"}, "price", "free"),
    ],
)  # fmt: skip
def test_prices(item: dict[str, Json], key: str, price: str) -> None:
    unit = item.get("currency", item.get("asset"))
    written = amount_in_units(item, key, str(item[key]))
    assert priced(item, written, unit if isinstance(unit, str) else None) == price


@pytest.mark.parametrize(
    ("holder", "price"),
    [
        ({"price": {"amount": "10000", "currency": "USDC", "decimals": 6}}, "0.01 USDC"),
        ({"price": {"amount": "10000", "asset": USDC}}, "0.01 USDC"),
        ({"price": 0.0000001, "currency": "ETH"}, "0.0000001 ETH"),
        ({"price": 1234567890123456, "currency": "sats"}, "1234567890123456 sats"),
        ({"price": 10**100}, None),
    ],
)
def test_prices_of_entries(holder: dict[str, Json], price: str | None) -> None:
    assert loose.price_of(holder) == price


@given(st.integers(0, 10**78 - 1), st.integers(0, MAX_DECIMALS))
def test_no_digit_of_an_amount_is_lost(amount: int, decimals: int) -> None:
    whole, _, fraction = (in_units(amount, decimals) or "").partition(".")
    assert int(whole + fraction.ljust(decimals, "0")) == amount


@given(json_values)
def test_no_value_makes_a_price_raise(value: Json) -> None:
    item: dict[str, Json] = value if isinstance(value, dict) else {"scheme": "exact", "amount": value, "asset": value}
    in_units(value, value)
    priced(item, amount_in_units(item, "amount", "10000"), None)
    loose.payment_of({**item, "decimals": value, "extra": value})
