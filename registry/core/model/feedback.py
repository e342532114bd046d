"""Feedback of clients about answers: was a row right, and did its call work. A signal that changes no answer."""

from typing import Final, Literal, get_args

Verdict = Literal["right", "wrong", "call_failed"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

NOTE_CHARS: Final = 500
