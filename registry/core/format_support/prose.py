"""Read what sentences say beyond doubt: that nothing is needed to call a service, and how it is paid for.

Only fixed phrases count. A sentence that merely mentions a price, a key or something free says nothing here.
"""

import re
from collections.abc import Iterable
from typing import Final

from registry.core.model.services import PricingModel

_CHARS: Final = 4_000
_NEEDS = r"(?:auth(?:entication|orization)?|credentials?|api[- ]?keys?|keys?|log-?in|sign-?up|accounts?|registration)"
_NO_AUTH = re.compile(
    rf"\bno {_NEEDS}(?:(?:,| or| and|/)* (?:no )?{_NEEDS})* (?:is |are )?(?:required|needed|necessary)\b"
    rf"|\b(?:does not|doesn't|do not|don't) require (?:any |an )?{_NEEDS}\b|\bno[- ]auth\b(?! server)",
    re.IGNORECASE,
)
_CURRENCY = r"(?:USDC?|USDT|EUR|GBP|XRP|ETH|BTC|SOL|DAI|sats?|cents?)"
_UNITS = r"(?:call|request|query|audit|task|job|scan|search|check|image|lookup|message|minute|transaction|use|report)"
_PER_CALL = re.compile(
    rf"\bpa(?:y|id)[- ]per[- ](?:call|use|request|query|task|job|scan|crawl|report)\b"
    rf"|\bpay[- ]as[- ]you[- ]go\b|\bx402 (?:micro-?)?payments?\b"
    rf"|(?:[$€£]\s?\d[\d.,]*|\b\d[\d.,]*\s?{_CURRENCY})\s*(?:/|per|a|each)\s*(?:API )?{_UNITS}\b",
    re.IGNORECASE,
)
_FREE_TIER = re.compile(r"\bfree (?:tier|plan|quota)\b|\bfreemium\b", re.IGNORECASE)
_FREE = re.compile(
    r"\b(?:free of charge|completely free|100% free|free to use|free for (?:all|everyone|any)\b|no charge|at no cost)",
    re.IGNORECASE,
)


_SOME_FREE = re.compile(r"(?<!feel )(?<![-\w])free(?![-\w]| (?:of|from|form|text|will)\b)", re.IGNORECASE)


def says_no_auth(texts: Iterable[str | None]) -> bool:
    """Return whether one of the texts says that no authentication is required."""
    return any(_NO_AUTH.search(text[:_CHARS]) for text in texts if text)


def stated_pricing(texts: Iterable[str | None]) -> PricingModel | None:
    """Return the pricing model that the texts state; None where they do not.

    Something free beside what is paid for is "freemium". That something is free counts only if no price is stated.
    """
    whole = "\n".join(text[:_CHARS] for text in texts if text)
    if _FREE_TIER.search(whole):
        return "freemium"
    if _PER_CALL.search(whole):
        return "freemium" if _SOME_FREE.search(whole) else "pay_per_call"
    return "free" if _FREE.search(whole) else None
