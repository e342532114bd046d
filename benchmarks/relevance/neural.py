"""MiniLM in the product's own ranker, where its extra is installed: what the table that ships is measured against."""

from typing import Final

from benchmarks.relevance.systems import Variant
from registry.search.embedding import ModelFileError
from registry.search.minilm import documents_by_minilm, minilm

VARIANTS: Final = (
    Variant("MiniLM reads the services", embedder=documents_by_minilm),
    Variant("MiniLM reads both", embedder=minilm),
)


def installed() -> tuple[Variant, ...]:
    """None where the extra is not installed."""
    try:
        minilm()
    except ModelFileError:
        return ()
    return VARIANTS
