"""Writes the vectors that the encoder inside Sectile is compared with: the reference's, of the first 1,000 passages of the test corpus.

    cargo run -p sectile-test-corpus -- SET
    python agreement.py SET [MODEL] [OUT]      # sectile-transformer-1.bin, agreement-transformer-1.i8; a minute or two

The text of a passage is exactly its `title`, a line feed, its `text` (also where the title is empty), in the order of SET/corpus.jsonl. A vector is 384 values of int8,
round(127 * v / max |v|), one text after the other: 384,000 bytes. Rounding so costs less than 1e-4 in cosine; the encoder must stay within 1e-3.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from reference_transformer import MODEL, Transformer

COUNT = 1000


def texts(folder):
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n")[:COUNT]
    documents = [json.loads(line) for line in lines]
    return [document["title"] + "\n" + document["text"] for document in documents]


def main():
    model = Transformer.read(sys.argv[2] if len(sys.argv) > 2 else MODEL)
    out = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(__file__).with_name("agreement-transformer-1.i8")
    vectors = np.array([model.vector(text) for text in texts(Path(sys.argv[1]))])
    small = np.rint(127 * vectors / np.abs(vectors).max(axis=1, keepdims=True)).astype(np.int8)
    cosine = (small * vectors).sum(axis=1) / np.sqrt((small.astype(np.float32) ** 2).sum(axis=1))
    out.write_bytes(small.tobytes())
    print(f"{out.name}: {small.shape}, least cosine to the f32 vectors {cosine.min():.6f}, sha256 {hashlib.sha256(small.tobytes()).hexdigest()}")


if __name__ == "__main__":
    main()
