"""MiniLM in the product's ranker, if the extra is installed, for comparison with the packaged table."""

from typing import Final

from benchmarks.relevance.systems import Variant
from registry.search.embedding import ModelFileError
from registry.search.minilm import table_and_minilm

VARIANTS: Final = (Variant("table and MiniLM", embedder=table_and_minilm),)


def installed() -> tuple[Variant, ...]:
    """Return the MiniLM variants, or none when the extra is not installed."""
    try:
        table_and_minilm()
    except ModelFileError:
        return ()
    return VARIANTS
