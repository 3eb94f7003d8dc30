"""Reads `sectile-static-2.bin` and defines, with integers only, the vector of a text.

    python reference_static.py [MODEL] > vectors-static-2.jsonl      # test vectors for the reader inside Sectile

Steps 1 to 5 (text to pieces) are those of reference.py; a text that is not readable (`is_readable` there) has no vector. Then:

6. Of all pieces of the text in order, the first 128 count: the table was trained on passages of that length, and what a section is about stands at its beginning.
   A group's f16 scale is taken as a whole number of 2^-24: every finite f16 is one. sum[i] = sum over the pieces of code[piece][i] * scale[piece][i / 32], exact in 64 bits.
7. m = max |sum[i]|. No pieces, or m = 0: no vector, all values are 0. Otherwise v[i] = sign(sum[i]) * ((2 * 127 * |sum[i]| + m) // (2 * m)): 256 values from -127 to 127.
   It fits 64 bits: 128 * 7 * 2^40 * 255 < 2^63.
"""

import sys
from pathlib import Path

import numpy as np

import reference
from checkpoints import GROUP
from packed import Packed

MODEL = Path(__file__).parent / "static/sectile-static-2.bin"
MAX_PIECES = 128


class Static(reference.Model):
    def __init__(self, path=MODEL):
        packed = Packed(path)
        if packed.kind != "static":
            raise ValueError("not a static model")
        self.dims, self.count, self.weight = packed.dims, packed.count, packed.weight
        self.ids = {piece: at for at, piece in enumerate(packed.pieces)}
        self.codes, scales = packed.tensors["rows"]
        self.scales = np.rint(scales.astype(np.float64) * 2**24).astype(np.int64)
        assert self.scales.max() < 2**40

    def pieces(self, text):
        """Steps 1 to 6: the pieces of a text that count."""
        found = []
        for word in reference.words(text):
            found += self.word_pieces(word)
            if len(found) >= MAX_PIECES:
                break
        return found[:MAX_PIECES]

    def vector_of(self, pieces):
        if len(pieces) == 0:
            return np.zeros(self.dims, np.int8)
        total = (self.codes[pieces].astype(np.int64) * np.repeat(self.scales[pieces], GROUP, axis=1)).sum(axis=0)
        most = int(np.abs(total).max())
        if most == 0:
            return np.zeros(self.dims, np.int8)
        size = (2 * 127 * np.abs(total) + most) // (2 * most)
        return (np.sign(total) * size).astype(np.int8)


if __name__ == "__main__":
    reference.print_vectors(Static(*sys.argv[1:2]))
