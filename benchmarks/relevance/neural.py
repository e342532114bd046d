"""MiniLM in the product's own ranker, where it is installed: what the embedding that ships is measured against."""

from benchmarks.relevance.systems import Variant


def installed() -> tuple[Variant, ...]:
    """None where the extras are not installed."""
    return ()
