"""Shapes of feedback about answers: given by clients, read by owners and operators."""

from typing import Annotated, NotRequired

from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample
from registry.core.model.feedback import NOTE_CHARS, Verdict
from registry.core.wording.text import QUERY_CHARS
from registry.edge.bodies import ClosedBody

_Verdict = Annotated[
    Verdict,
    about("right: it is what was asked for. wrong: it is not. call_failed: its call did not work.", "call_failed"),
]
_Status = Annotated[int | None, about("HTTP status of the failed call.", 404)]
_Capability = Annotated[str | None, about("Its name; null: the service as a whole.", "create_parcel")]
_Note = Annotated[str, sample("It asks for a field that the schema does not name.")]
_Question = Annotated[str, about("What was asked; empty: not said.", "send a parcel")]


class FeedbackSubmission(ClosedBody):
    domain: base.SubmittedName
    capability: NotRequired[Annotated[str, about("Name or id; without it the service as a whole.", "create_parcel")]]
    q: NotRequired[Annotated[str, about("What was asked.", "send a parcel", max_length=QUERY_CHARS)]]
    verdict: _Verdict
    status: NotRequired[Annotated[int, about("HTTP status of the call, with `call_failed` only.", 404, ge=100, le=599)]]
    note: NotRequired[
        Annotated[
            str,
            about("The owner of the host and operators read it.", "The schema lacks a field.", max_length=NOTE_CHARS),
        ]
    ]


class FeedbackData(Shape):
    message: Annotated[str, sample("Thank you. People read it; it changes no answer.")]
    domain: base.HostName
    capability: _Capability
    verdict: _Verdict
    status: _Status
    q: _Question
    note: _Note
    replaced: Annotated[bool, about("It takes the place of what you said earlier today.", False)]
    untrusted_text: base.UntrustedText


class FeedbackFigure(Shape):
    capability: _Capability
    verdict: _Verdict
    status: _Status
    count: Annotated[int, about("Clients; each counts once a day.", 3)]
    last_at: base.Timestamp


class FeedbackText(Shape):
    capability: _Capability
    verdict: _Verdict
    status: _Status
    q: _Question
    note: _Note
    at: base.Timestamp


class FeedbackAbout(Shape):
    figures: Annotated[list[FeedbackFigure], about("The most frequent first.")]
    texts: Annotated[list[FeedbackText], about("The latest with a note or a question. Clients are not disclosed.")]


class HostFeedback(Shape):
    domain: base.HostName
    right: Annotated[int, sample(12)]
    wrong: Annotated[int, sample(1)]
    call_failed: Annotated[int, sample(3)]
    last_at: base.Timestamp


class HostsFeedbackData(Shape):
    hosts: Annotated[list[HostFeedback], about("The most complaints first.")]


class FeedbackAboutData(FeedbackAbout):
    domain: base.HostName
    untrusted_text: base.UntrustedText


FeedbackGiven = answer_of("FeedbackGiven", FeedbackData)
FeedbackOfHosts = answer_of("FeedbackOfHosts", HostsFeedbackData)
FeedbackOfHost = answer_of("FeedbackOfHost", FeedbackAboutData)
