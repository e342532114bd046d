"""Neural models in the product's ranker, where their extras are installed, for comparison with the packaged table."""

from typing import Final

from benchmarks.relevance.systems import Variant
from registry.search.embedding import ModelFileError
from registry.search.minilm import table_and_minilm
from registry.search.multilingual import table_and_e5

VARIANTS: Final = (
    Variant("table and MiniLM", embedder=table_and_minilm),
    Variant("table and multilingual E5", embedder=table_and_e5),
)


def installed() -> tuple[Variant, ...]:
    """Return the variants whose extras are installed."""
    found: list[Variant] = []
    for variant in VARIANTS:
        try:
            variant.embedder()
        except ModelFileError:
            continue
        found.append(variant)
    return tuple(found)
