"""What kind of action a question asks for, and what kind a capability is: by the verbs that APIs name their calls with.

Only a verb at the beginning of a question is its action: "schedule a meeting", but not "the schedule of the meeting".
"""

from enum import Enum
from functools import lru_cache
from itertools import pairwise

from registry.core.reading.plain_text import split_name
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
    RequestedAction.REMOVE: "delete remove cancel archive void destroy clear revoke erase drop",
    RequestedAction.SEND: "send deliver dispatch transmit",
    RequestedAction.SCHEDULE: "schedule book reserve plan",
}
ACTION_OF = {verb: action for action, verbs in _VERBS.items() for verb in verbs.split()}

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
            return word if word in ACTION_OF or following in _DETERMINERS else None
    return None


@lru_cache(maxsize=1_000)
def action_of_question(text: str) -> RequestedAction | None:
    """Return the action of the first verb, or None without one. Only request words may come before the verb."""
    for word in words(text):
        if word in ACTION_OF:
            return ACTION_OF[word]
        if word not in REQUEST_WORDS:
            return None
    return None


@lru_cache(maxsize=1_000)
def likely_action(text: str) -> RequestedAction | None:
    """Return the likely action for the bare name of a thing: things in the plural are read, one thing is made. None for
    a question with a verb or a direction ("HTML to PDF"), or of more words than a name has."""
    written = words(text)
    if not 0 < len(written) <= _BARE_WORDS or head_verb(text) is not None or directions(text):
        return None
    last = written[-1]
    return RequestedAction.READ if last.endswith("s") and not last.endswith("ss") else RequestedAction.CREATE


@lru_cache(maxsize=10_000)
def action_of_capability(name: str) -> RequestedAction | None:
    """Return the action of the first or last word of a name (`invoices_create`, `Create invoice`)."""
    parts = words(split_name(name))
    return next((ACTION_OF[part] for part in (parts[:1] + parts[-1:]) if part in ACTION_OF), None)
