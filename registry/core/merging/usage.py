"""What a site says about further use of its texts: training of models, attribution. For copies of the registry.

Two sources: `policies` of its documents (ATP 0.1 section 3.8), and the preferences in its robots.txt: `Content-Usage`
(draft-ietf-aipref-attach, category `train-ai`) and `Content-Signal` (`ai-train`). A refusal in either holds. A word
that is not known is no permission.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from registry.core.model.services import Policies
from registry.core.visiting.robots import CAP, PRODUCT

Training = Literal["allowed", "conditional", "forbidden", "unstated"]

_MOST_LINES: Final = 10_000
_LINE = re.compile(r"\s*(user-agent|content-usage|content-signal|allow|disallow|crawl-delay)\s*:\s*([^#]*)", re.I)
_TRAINING = re.compile(r"(?:^|[\s,;])(?:train-ai|ai-train|train)\s*=\s*\"?([a-z]+)", re.I)
_PATH = re.compile(r"(/\S*)\s+(.*)")
_ALLOWED: Final = frozenset({"allow", "allowed", "yes", "y", "true", "permitted", "permit"})
_CONDITIONAL: Final = frozenset({"conditional", "conditions", "license", "licence", "ask"})
_NO_ATTRIBUTION: Final = frozenset({"none", "no", "not_required", "false"})
_RANK: Final[dict[Training, int]] = {"unstated": 0, "allowed": 1, "conditional": 2, "forbidden": 3}


@dataclass(frozen=True, slots=True)
class Usage:
    """`training`: may models be trained on the texts. `attribution`: must their source be named.

    `stated`: what the documents say, as written; `robots`: the value of the preference in robots.txt, as written.
    """

    training: Training = "unstated"
    attribution: bool = False
    stated: tuple[tuple[str, str], ...] = ()
    robots: str | None = None

    @property
    def is_restricted(self) -> bool:
        """True unless training is allowed or nothing is said about it."""
        return self.training in ("forbidden", "conditional")

    def to_json(self) -> dict[str, Any]:
        return {
            "training": self.training,
            "attribution": "required" if self.attribution else "unstated",
            "stated": dict(self.stated),
            "robots": self.robots,
        }


def usage_of(policies: Policies, robots: bytes | None = None, preference: str | None = None) -> Usage:
    """Return what a site says. `robots`: the body of its robots.txt, if there is one; `preference`: what another
    registry read there."""
    if robots:
        preference = _preference(robots) or preference
    views = [_training(policies.training)]
    if preference is not None:
        views.append("forbidden" if preference[:1].lower() == "n" else _training(preference))
    words = {"training": policies.training, "inference": policies.inference, "caching": policies.caching,
             "attribution": policies.attribution, "terms_url": policies.terms_url}  # fmt: skip
    attribution = (policies.attribution or "").strip().lower()
    return Usage(
        max(views, key=_RANK.__getitem__),
        bool(attribution) and attribution not in _NO_ATTRIBUTION and attribution != "preferred",
        tuple((name, word) for name, word in words.items() if word),
        preference,
    )


def _training(word: str | None) -> Training:
    word = (word or "").strip().lower()
    if not word:
        return "unstated"
    if word in _ALLOWED:
        return "allowed"
    return "conditional" if word in _CONDITIONAL else "forbidden"


def _preference(body: bytes) -> str | None:
    """Return the preference on training of the group for this crawler, else of the group for all (RFC 9309, 2.2.1).

    A line for a path below the root says nothing about the site as a whole. Of several lines a refusal counts.
    """
    groups: dict[bool, list[str]] = {True: [], False: []}  # by whether the group names this crawler
    agents: set[str] = set()
    is_open = False  # whether the last line named an agent, so that the next one belongs to the same group
    for line in body[:CAP].decode("utf-8", "replace").splitlines()[:_MOST_LINES]:
        match = _LINE.match(line)
        if match is None:
            continue
        name, value = match[1].lower(), match[2].strip()
        if name == "user-agent":
            agents = {*(agents if is_open else ()), value.lower()}
            is_open = True
            continue
        is_open = False
        if name not in ("content-usage", "content-signal"):
            continue
        path = _PATH.fullmatch(value)
        if path is not None and path[1] != "/":
            continue
        found = _TRAINING.search(path[2] if path is not None else value)
        if found is not None:
            if PRODUCT.lower() in agents:
                groups[True].append(found[1])
            if "*" in agents or not agents:
                groups[False].append(found[1])
    values = groups[True] or groups[False]
    return min(values, key=lambda value: value[:1].lower() != "n", default=None)
