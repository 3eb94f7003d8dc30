"""Vectors of all-MiniLM-L6-v2 with 32-bit floats, the yardstick, for the documents and queries of a test set. So a bench can fuse them with Sectile's own lexical side.

    python yardstick.py FOLDER QUESTIONS OUT     # 2,000 documents: a minute or two on one core

FOLDER holds corpus.jsonl, queries.jsonl and queries-leaf.jsonl, QUESTIONS questions.jsonl. OUT gets documents.f32, queries-path.f32, queries-leaf.f32 and queries-questions.f32: for each
line of the file, in its order, 384 little-endian f32, a unit vector. The text of a document is exactly its `title`, a line feed, its `text` (also where the title is
empty); that of a query its `text`. Only 128 tokens of it count, as with our own transformer. The weights come from the package in requirements.txt; the arithmetic is
the reference's.
"""

import os

# One thread, set before numpy loads: sums keep their order.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import sys
from pathlib import Path

import numpy as np

from evaluate import load_minilm, read_jsonl

FILES = {"documents": "corpus", "queries-path": "queries", "queries-leaf": "queries-leaf", "queries-questions": "questions"}


def main():
    folder, questions, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    model = load_minilm(None)
    for name, file in FILES.items():
        lines = read_jsonl((questions if file == "questions" else folder) / f"{file}.jsonl")
        texts = [line["title"] + "\n" + line["text"] if "title" in line else line["text"] for line in lines]
        vectors = np.array([model.vector(text) for text in texts]).astype("<f4")
        (out / f"{name}.f32").write_bytes(vectors.tobytes())
        print(f"{name}.f32: {len(vectors)} vectors", flush=True)


if __name__ == "__main__":
    main()
