"""`python -m benchmarks.languages.mean FOLDER`: make the mean that registry/search/multilingual.py subtracts.

FOLDER as for benchmarks.languages.build. Needs the extra `multilingual`, and some minutes.
"""

import argparse
import random
from pathlib import Path
from typing import Final

from benchmarks.languages.build import SOURCES, read
from registry.search.embedding import MODEL
from registry.search.multilingual import E5, MEAN_FILE

_TEXTS: Final = 150  # of each language


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.languages.mean", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    rng = random.Random(7)
    found = read([folder / name for name in sorted(SOURCES)])
    texts = [" ".join(words) for language in found.values() for words in rng.sample(language, _TEXTS)]
    (MODEL / MEAN_FILE).write_bytes(E5().encode(texts).mean(axis=0).astype("<f4").tobytes())
    print(f"the mean of {len(texts):,} texts")


if __name__ == "__main__":
    main()
