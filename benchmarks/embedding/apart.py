"""Find the texts of the sources that are also in an evaluation set; the fit excludes them.

    python -m benchmarks.embedding.apart --texts FOLDER DATA...

writes apart.txt. It contains digests, so neither the texts nor the sets are in the repository, and a build needs no
evaluation data. Run it again when a source or a set is added.
"""

import argparse
from pathlib import Path

from benchmarks.embedding.inputs import APART, evaluation_digests
from benchmarks.embedding.texts import PACKAGES, candidates, digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("data", type=Path, nargs="+", help="folders that hold one folder for each evaluation set")
    options = parser.parse_args()
    known = frozenset[str]().union(*(evaluation_digests(folder) for folder in options.data))
    own = {digest(text) for _, *pair in candidates(options.texts, PACKAGES) for text in pair}
    APART.write_text("".join(f"{name}\n" for name in sorted(own & known)))
    print(f"{len(known)} texts of evaluation sets, {len(own & known)} of them in the sources")


if __name__ == "__main__":
    main()
