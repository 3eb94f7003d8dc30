"""Reads `sectile-transformer-1.bin` and defines the vector of a text. numpy only, 32-bit floats.

This is the yardstick for the encoder inside Sectile: both agree to 1e-3 in cosine (in practice far better). Run it to print the test vectors:

    python reference_transformer.py [MODEL] > vectors-transformer-1.jsonl

    python reference_transformer.py [MODEL] --texts TEXTS.jsonl --count 1000 --out VECTORS.f32    # of the `text` of each line: 384 little-endian f32 a text

One JSON object a line: `text`, `windows` (piece numbers, [CLS] and [SEP] included; none if the text is not readable) and, for every second text, `vector` (384 values, five decimals). `text_repeat`, where
present, says that the text is `text` repeated so many times.

The rules, in order.

1. to 3. Clean, NFD without marks, lowercase: as in reference.py.
4. Split into words at white space. A CJK ideograph is a word of its own, and so is every punctuation character (class `punctuation`; reference.py ignores those, BERT does not).
5. WordPiece as in reference.py, but an unknown word, or one of more than 100 characters, is the one piece [UNK].
   The names of BERT's special tokens have no meaning in a text: `[CLS]` is three words.
   A text that is not readable (`is_readable` in reference.py) has no vector.
6. Windows of 126 pieces, at most four, each between [CLS] and [SEP]: 128 tokens at most. In front of each window of a passage stand the last 40 pieces of its headings, and
   take their room. A passage without text is one window.
7. x = tokens[id] + positions[place], then layer norm (tokens_norm). Layer norm: minus the mean, divided by sqrt(variance + 1e-12), times weight, plus bias.
8. Each layer: for each head (dims / heads values) softmax(q k^T / sqrt(dims / heads)) v; x = attention_norm(x + attention_output(heads joined));
   x = outer_norm(x + outer(gelu(inner(x)))). A linear map is W r(x) + b, its rows the outputs; gelu(x) = x / 2 * (1 + erf(x / sqrt 2)).
   r rounds what a token brings to a map, 32 values (a group of the weights) at a time, to 256 levels from the least to the largest of them: with
   step = (largest - least) / 255, a value becomes least + step * n, n being the nearest integer to (value - least) / step. So n is a byte, and the sum of bytes times
   4-bit codes over a group is an exact integer.
9. The mean over all tokens, [CLS] and [SEP] included, divided by its length. A text without words has a vector too: that of [CLS] [SEP].
10. Window k = 1, 2, ... of n tokens counts sqrt(n) / k; the sum, divided by its length.

The weights are the packed ones, 4-bit codes times f16 scales; pack.py defines the file.
"""

import argparse
import json
import sys
import unicodedata
from pathlib import Path

import numpy as np

from checkpoints import GROUP, dequantise
from packed import Packed
from reference import CLASS_OF, MAX_WORD, TEXTS, is_readable

MODEL = Path(__file__).parent / "transformer/sectile-transformer-1.bin"
MAX_TOKENS = 128
MAX_WINDOWS, MAX_ABOVE = 4, 40
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
UNKNOWN, START, END = 1, 2, 3


def words(text):
    """Steps 1 to 4."""
    text = "".join(char for char in text if CLASS_OF.get(char) != "dropped")
    text = unicodedata.normalize("NFD", text)
    text = "".join(char.lower() for char in text if CLASS_OF.get(char) != "mark")
    found, word = [], ""
    for char in text:
        kind = CLASS_OF.get(char)
        if kind in ("space", "punctuation", "cjk"):
            if word:
                found.append(word)
            word = ""
            if kind != "space":
                found.append(char)
        else:
            word += char
    if word:
        found.append(word)
    return found


def gelu(x):
    """x * Phi(x), with erf after Abramowitz and Stegun 7.1.26 (error below 2e-7, that of a 32-bit float)."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        poly = poly * t + np.float32(term)
    error = 1 - poly * t * np.exp(-z * z)
    return x * np.float32(0.5) * (1 + np.copysign(error, x))


def rounded(x):
    """Each group of values of each row on 256 levels."""
    groups = x.reshape(len(x), -1, GROUP)
    least = groups.min(axis=-1, keepdims=True)
    step = (groups.max(axis=-1, keepdims=True) - least) / np.float32(255)
    return (least + step * np.rint((groups - least) / np.where(step > 0, step, np.float32(1)))).reshape(x.shape)


class Transformer:
    """The encoder. `tensors` maps names to f32 arrays, as in pack.py."""

    def __init__(self, pieces, tensors, layers, heads, weight=None, is_yardstick=False):
        # The yardstick reads one window, in any script, with 32-bit floats throughout.
        self.is_yardstick = is_yardstick
        # Special pieces have no place in a text.
        self.pieces = {piece: at for at, piece in enumerate(pieces) if piece not in SPECIAL}
        self.special = [pieces.index(name) for name in SPECIAL]
        self.tensors, self.layers, self.heads, self.weight = tensors, layers, heads, weight

    @classmethod
    def read(cls, path=MODEL):
        packed = Packed(path)
        if packed.kind != "transformer" or tuple(packed.pieces[:4]) != SPECIAL:
            raise ValueError("not a transformer model")
        tensors = {name: dequantise(*values) if isinstance(values, tuple) else values.astype(np.float32) for name, values in packed.tensors.items()}
        return cls(packed.pieces, tensors, packed.layers, packed.heads, packed.weight)

    def word_pieces(self, word):
        """Step 5."""
        unknown = [self.special[UNKNOWN]]
        if len(word) > MAX_WORD:
            return unknown
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = self.pieces.get(("##" if start else "") + word[start:end])
                if piece is not None:
                    break
            else:
                return unknown
            found.append(piece)
            start = end
        return found

    def text_pieces(self, text, most):
        """Steps 1 to 5: the first pieces of a text."""
        found = []
        for word in words(text):
            if len(found) >= most:
                break
            found += self.word_pieces(word)
        return found[:most]

    def windows(self, text, headings=""):
        """Step 6: the ids of each window."""
        if not (self.is_yardstick or is_readable(headings + text)):
            return []
        above = self.text_pieces(headings, MAX_TOKENS * MAX_WINDOWS)[-MAX_ABOVE:]
        room = MAX_TOKENS - 2 - len(above)
        found = self.text_pieces(text, room * (1 if self.is_yardstick else MAX_WINDOWS))
        starts = range(0, max(1, len(found)), room)
        return [[self.special[START], *above, *found[start : start + room], self.special[END]] for start in starts]

    def ids(self, text):
        """The first window of a text, readable or not."""
        return [self.special[START], *self.text_pieces(text, MAX_TOKENS - 2), self.special[END]]

    def linear(self, x, name):
        return (x if self.is_yardstick else rounded(x)) @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def vector_of(self, ids):
        """Steps 7 to 9 for one text."""
        x = self.norm(self.tensors["tokens.weight"][ids] + self.tensors["positions.weight"][: len(ids)], "tokens_norm")
        length, width = x.shape
        for layer in range(self.layers):
            query, key, value = (
                self.linear(x, f"{layer}.{name}").reshape(length, self.heads, -1).transpose(1, 0, 2) for name in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(width // self.heads))
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            mixed = (scores @ value).transpose(1, 0, 2).reshape(length, width)
            x = self.norm(x + self.linear(mixed, f"{layer}.attention_output"), f"{layer}.attention_norm")
            x = self.norm(x + self.linear(gelu(self.linear(x, f"{layer}.inner")), f"{layer}.outer"), f"{layer}.outer_norm")
        mean = x.mean(axis=0)
        return mean / np.sqrt((mean * mean).sum())

    def vector(self, text):
        """Step 10."""
        windows = self.windows(text)
        if not windows:
            return np.zeros(self.tensors["positions.weight"].shape[1], np.float32)
        total = sum(np.float32(np.sqrt(len(ids)) / number) * self.vector_of(ids) for number, ids in enumerate(windows, 1))
        return total / np.sqrt((total * total).sum())


def print_vectors(model):
    # Bytes, not text: Windows would write CR LF.
    for number, (text, repeat) in enumerate(TEXTS):
        line = {"text": text}
        if repeat > 1:
            line["text_repeat"] = repeat
        line["windows"] = model.windows(text * repeat)
        if number % 2 == 0 and line["windows"]:
            line["vector"] = [round(float(value), 5) for value in model.vector(text * repeat)]
        sys.stdout.buffer.write(json.dumps(line).encode() + b"\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("model", type=Path, nargs="?", default=MODEL)
    arguments.add_argument("--texts", type=Path)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    model = Transformer.read(options.model)
    if not options.texts:
        return print_vectors(model)
    texts = [json.loads(line)["text"] for line in options.texts.read_text(encoding="utf-8").splitlines()[: options.count]]
    options.out.write_bytes(np.array([model.vector(text) for text in texts]).astype("<f4").tobytes())


if __name__ == "__main__":
    main()
