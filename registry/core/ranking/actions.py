"""What kind of action a question asks for, and what kind a capability is: by the verbs that APIs name their calls with.

Only a verb at the beginning of a question is its action: "schedule a meeting", but not "the schedule of the meeting".
"""

from enum import Enum
from functools import lru_cache
from itertools import pairwise

from registry.core.reading.plain_text import split_name
from registry.core.wording.particulars import find_particulars
from registry.core.wording.text import REQUEST_WORDS, directions, words


class RequestedAction(Enum):
    READ = "read"
    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"
    SEND = "send"
    SCHEDULE = "schedule"


_VERBS = {
    RequestedAction.READ: (
        "get list read show view find search look lookup retrieve fetch browse check query see display which"
    ),
    RequestedAction.CREATE: "create add make new generate build open start post submit register insert upload",
    RequestedAction.CHANGE: "update edit change modify set rename move patch replace put upsert",
    RequestedAction.REMOVE: (
        "delete remove cancel archive void destroy clear revoke erase drop stop kill terminate disable deactivate "
        "suspend unsubscribe uninstall purge reset wipe discard abort undo withdraw"
    ),
    RequestedAction.SEND: "send deliver dispatch transmit",
    RequestedAction.SCHEDULE: "schedule book reserve plan",
}
ACTION_OF = {verb: action for action, verbs in _VERBS.items() for verb in verbs.split()}

TEXT_VERBS = frozenset(["translate", "transcribe", "summarize", "summarise", "proofread", "paraphrase", "pronounce"])
"""Verbs whose object may be called anything that is written or said."""

PERSON_VERBS = frozenset(
    ["email", "mail", "phone", "telephone", "call", "text", "message", "notify", "alert", "invite", "pay", "refund"]
) | frozenset(["reimburse", "invoice", "bill", "charge", "ship"])
"""Verbs that name the service by themselves; the object says for which person ("email our guest")."""

_PARTICLES = {
    "call": {"off"}, "turn": {"off", "down"}, "switch": {"off"}, "shut": {"off", "down"}, "take": {"down"},
    "throw": {"away", "out"}, "get": {"rid"}, "opt": {"out"}, "cross": {"off", "out"},
}  # fmt: skip
_WITHIN_WORDS = 6
"""Verbs that remove or stop something with a particle within so many words: "call off the meeting", "switch it off"."""

_BARE_WORDS = 4
_DETERMINERS = frozenset(
    ["a", "an", "the", "my", "our", "your", "his", "her", "their", "this", "that", "these", "those", "some", "any"]
)


def head_verb(text: str) -> str | None:
    """Return the verb that a question begins with, as written in lower case; None if it begins with another word. It is
    a verb of APIs, or any word before an article or possessive: "rent a van", "play my song"; not "rain here"."""
    written = words(text)
    for word, following in pairwise(written):
        if word not in REQUEST_WORDS:
            return word if word in ACTION_OF or word in TEXT_VERBS or following in _DETERMINERS else None
    return None


@lru_cache(maxsize=1_000)
def action_of_question(text: str) -> RequestedAction | None:
    """Return the action of the first verb, or None without one. Only request words may come before the verb."""
    written = words(text)
    for place, word in enumerate(written):
        if word in _PARTICLES and not _PARTICLES[word].isdisjoint(written[place + 1 : place + 1 + _WITHIN_WORDS]):
            return RequestedAction.REMOVE
        if word in ACTION_OF:
            return ACTION_OF[word]
        if word not in REQUEST_WORDS:
            return None
    return None


@lru_cache(maxsize=1_000)
def likely_action(text: str) -> RequestedAction | None:
    """Return the likely action for the bare name of a thing: things in the plural are read, one thing is made. None for
    a question with a verb or a direction ("HTML to PDF"), or of more words than a name has."""
    particulars = find_particulars(text).kinds
    written = [word for word in words(text) if word not in particulars]
    if not 0 < len(written) <= _BARE_WORDS or head_verb(text) is not None or directions(text):
        return None
    last = written[-1]
    return RequestedAction.READ if last.endswith("s") and not last.endswith("ss") else RequestedAction.CREATE


@lru_cache(maxsize=10_000)
def action_of_capability(name: str) -> RequestedAction | None:
    """Return the action of the first or last word of a name (`invoices_create`, `Create invoice`); a removal also by a
    word in the middle (`order_cancel_v2`), unless the name says that something is read."""
    parts = words(split_name(name))
    action = next((ACTION_OF[part] for part in (parts[:1] + parts[-1:]) if part in ACTION_OF), None)
    if action is not RequestedAction.READ and removing_words(name):
        return RequestedAction.REMOVE
    return action


@lru_cache(maxsize=10_000)
def removing_words(name: str) -> frozenset[str]:
    """Return the verbs in a name that remove or stop."""
    return frozenset(word for word in words(split_name(name)) if ACTION_OF.get(word) is RequestedAction.REMOVE)
