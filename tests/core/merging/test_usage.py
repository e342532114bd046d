"""What sites say about further use: in their documents, and in robots.txt."""

import pytest

from registry.core.merging.merge import Training, usage_of
from registry.core.model.services import Policies


@pytest.mark.parametrize(
    ("word", "training"),
    [
        (None, "unstated"), ("", "unstated"), ("allow", "allowed"), (" Allowed ", "allowed"), ("deny", "forbidden"),
        ("conditional", "conditional"), ("no", "forbidden"), ("only on tuesdays", "forbidden"),
    ],
)  # fmt: skip
def test_policies_of_documents(word: str | None, training: Training) -> None:
    """A word that is not known is no permission."""
    assert usage_of(Policies(training=word)).training == training


@pytest.mark.parametrize(
    ("robots", "training"),
    [
        ("User-agent: *\nContent-Usage: train-ai=n\n", "forbidden"),
        ("User-agent: *\nContent-Usage: / train-ai=n\n", "forbidden"),
        ("User-agent: *\nContent-Usage: /private train-ai=n\n", "unstated"),
        ("User-agent: *\nContent-Usage: train-ai=y\n", "allowed"),
        ("User-agent: *\nContent-Signal: search=yes, ai-train=no\n", "forbidden"),
        ("User-Agent: *\ncontent-signal: ai-train=yes,search=no # ours\n", "allowed"),
        ("User-agent: *\nContent-Signal: search=yes\n", "unstated"),
        ("User-agent: OtherBot\nContent-Signal: ai-train=no\n", "unstated"),
        ("User-agent: OtherBot\nUser-agent: *\nContent-Signal: ai-train=no\n", "forbidden"),
        ("User-agent: *\nContent-Usage: train-ai=n\n\nUser-agent: WaypostBot\nContent-Usage: train-ai=y\n", "allowed"),
        ("User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: train-ai=n\n", "forbidden"),
        ("Content-Usage: train-ai=n\n", "forbidden"),
        ("User-agent: *\nDisallow: /\n", "unstated"),
        ("Content-Usage: retrain-ai=n\n", "unstated"),
        ("\ufeff\0\ud7ff Content-Usage", "unstated"),
    ],
)
def test_preferences_in_robots(robots: str, training: Training) -> None:
    assert usage_of(Policies(), robots.encode()).training == training


def test_a_refusal_in_either_place_holds() -> None:
    refusal, permission = b"User-agent: *\nContent-Usage: train-ai=n\n", b"User-agent: *\nContent-Usage: train-ai=y\n"
    assert usage_of(Policies(training="allow"), refusal).is_restricted
    assert usage_of(Policies(training="deny"), permission).is_restricted
    assert not usage_of(Policies(training="allow"), permission).is_restricted


def test_a_copy_keeps_what_was_read_in_robots() -> None:
    first = usage_of(Policies(), b"User-agent: *\nContent-Signal: ai-train=no\n")
    assert usage_of(Policies(), None, first.robots) == first


@pytest.mark.parametrize(
    ("word", "required"), [(None, False), ("none", False), ("preferred", False), ("required", True), ("always", True)]
)
def test_attribution(word: str | None, required: bool) -> None:
    assert usage_of(Policies(attribution=word)).attribution is required


def test_a_long_file_is_read_in_linear_time() -> None:
    body = b"User-agent: *\n" + b"Content-Usage: " + b" " * 400_000 + b"train-ai=n\n"
    assert usage_of(Policies(), body).training == "forbidden"
