"""Build the embedding table that ships with the package.

    python -m benchmarks.embedding.build --texts FOLDER --model FOLDER --out FILE

FOLDER of texts: the files of sources.json, by name and sha256 (MODEL_CARD.md says where they come from). FOLDER of the
model: model.onnx and tokenizer.json, see inputs.MODEL. Needs onnxruntime and scipy in addition to the package's own
dependencies; no network. Takes about 15 CPU minutes, nearly all for the teacher; --work caches its vectors, so that an
interrupted build can continue. Prints the sha256 to pin in registry/search/embedding.py.
"""

import argparse
import hashlib
import os
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="keeps the teacher's vectors (default: beside --out)")
    parser.add_argument("--threads", type=int, default=1, help="another number may change the last digits")
    options = parser.parse_args()
    for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[library] = str(options.threads)  # read when NumPy is loaded, so before the imports below
    _build(options.texts, options.model, options.out, options.work or options.out.with_suffix(".work"), options.threads)


def _build(texts_folder: Path, model: Path, out: Path, work: Path, threads: int) -> None:
    from benchmarks.embedding import inputs
    from benchmarks.embedding.fit import EPOCHS, Corpus, Fit, initial_rows
    from benchmarks.embedding.pack import packed
    from benchmarks.embedding.teacher import MEANINGLESS, Teacher, cached_vectors
    from benchmarks.embedding.texts import SEED, all_texts

    inputs.verify(model, inputs.MODEL)
    inputs.verify(texts_folder, inputs.expected_sources())
    texts, counts = all_texts(texts_folder, inputs.apart())
    _say(f"{len(texts)} texts: {dict(counts)}; seed {SEED}, {threads} thread(s)")

    teacher = Teacher(model / "model.onnx", model / "tokenizer.json", threads)
    alone = teacher.tokens_alone()
    aims = cached_vectors(teacher, texts, work)
    _say("the teacher has read them")

    tokens = teacher.known_tokens(texts)
    readable = [place for place, known in enumerate(tokens) if known]
    corpus, aims = Corpus.of([tokens[place] for place in readable]), aims[readable]
    fit = Fit(initial_rows(alone, corpus, aims), corpus, aims, SEED)
    for _ in range(EPOCHS):
        _say(f"mean cosine {fit.epoch():.4f}")
    table = fit.table
    table.rows[list(MEANINGLESS)] = 0
    raw = packed(table)
    out.write_bytes(raw)
    print(f"{out}: {len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}")


def _say(message: str) -> None:
    print(f"{time.process_time():7.1f} s CPU  {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
