"""The last step: packs the checkpoints into the two files that Sectile carries. The same checkpoints give the same bytes.

    python pack.py static CHECKPOINT.npz static/sectile-static-2.bin --weight W
    python pack.py transformer CHECKPOINT.npz transformer/sectile-transformer-1.bin --weight W --discount D

W and D are the fusion weight that belongs to the model: fused = (1 - w) * lexical / reachable + w * max(0, cosine), with w = W - D * lead, the lead being that of the best
lexical score over the fifth best, divided by what is reachable.

Format, little-endian. Each part starts at a multiple of 64 bytes; the gaps hold zeros; the file ends where the last part ends.

| part | bytes | content |
|---|---|---|
| header | 64 | `SECTEMB2`; u32 kind (1 static, 3 transformer; 2 was a transformer whose maps lay in another order); u32 dims D; u32 layers L; u32 heads; u32 inner width I; u32 positions P; u32 pieces V; u32 vocab_bytes; f32 fusion weight; f32 its discount; zeros |
| vocabulary | vocab_bytes | for each piece one length byte and the piece in UTF-8; a piece that continues a word starts with `##` |
| tensors | | in the order below |

A matrix of R rows and C columns (C a multiple of 32) is two parts: the codes, R * C / 2 bytes; then the scales, R * C / 32 values of f16.
Value c of a row is (code - 8) * scale of the row's group c / 32, the code from 1 to 15. Codes lie in runs of 2 N codes in N bytes: byte j holds code j of the run
in its low four bits and code j + N in its high four bits, so that a reader unpacks a run with one mask and one shift.
A table (rows, tokens, positions) lies row by row, a run being 32 values of a row: one row is looked up at a time.
A map (all others; R a multiple of 32) lies in panels of 32 rows. A panel has C / 4 runs of 128 codes: four columns of its first row, the same four of its second row, and so
on. Its scales are C / 32 times 32: those of its rows for the first 32 columns, and so on. So 32 outputs can be added up side by side, four inputs at a time.
A vector is one part: its values as f16.

Static (layers, heads, inner, positions are 0): table `rows` V x D.
Transformer: the vocabulary starts with [PAD], [UNK], [CLS], [SEP]. table tokens V x D; table positions P x D; vectors tokens_norm weight, bias (D); then for each layer:
map query, key, value (D x D each; a row makes one output value), attention_output (D x D), each followed by its bias; vectors attention_norm weight, bias;
map inner (I x D), its bias (I); map outer (D x I), its bias (D); vectors outer_norm weight, bias.
"""

import argparse
import hashlib
import struct
from pathlib import Path

import numpy as np

from checkpoints import GROUP, load_quantised

MAGIC = b"SECTEMB2"
KINDS = {"static": 1, "transformer": 3}
ALIGNMENT = 64
LARGEST_FILE = {"static": 5_000_000, "transformer": 10_000_000}


def layout(kind, layers):
    """The tensors of a file in order: (name, is it a matrix)."""
    if kind == "static":
        return [("rows", True)]
    order = [("tokens.weight", True), ("positions.weight", True), ("tokens_norm.weight", False), ("tokens_norm.bias", False)]
    for layer in range(layers):
        for name in ("query", "key", "value", "attention_output", "attention_norm", "inner", "outer", "outer_norm"):
            order += [(f"{layer}.{name}.weight", not name.endswith("norm")), (f"{layer}.{name}.bias", False)]
    return order


TABLES = ("rows", "tokens.weight", "positions.weight")


STEP = 4


def panels(rows, width):
    """The rows of a map, 32 side by side: `width` columns of each."""
    return rows.reshape(-1, GROUP, rows.shape[1] // width, width).transpose(0, 2, 1, 3)


def pack_codes(codes, run):
    """Two codes to a byte, `run` codes at a time."""
    runs = (codes.reshape(-1, 2, run // 2).astype(np.int16) + 8).astype(np.uint8)
    return (runs[:, 0] | runs[:, 1] << 4).tobytes()


class Writer:
    def __init__(self):
        self.data = bytearray()

    def part(self, content):
        self.data += bytes(-len(self.data) % ALIGNMENT) + content


def pack(tensors, description, weight, discount=0.0):
    kind, pieces = description["kind"], description["pieces"]
    vocabulary = b"".join(bytes([len(piece.encode())]) + piece.encode() for piece in pieces)
    layers = description.get("layers", 0)
    first = "rows" if kind == "static" else "tokens.weight"
    count, dims = tensors[first + ".codes"].shape
    assert count == len(pieces), "a row for each piece"
    inner, positions = (0, 0) if kind == "static" else (len(tensors["0.inner.bias"]), len(tensors["positions.weight.codes"]))
    header = struct.pack(
        "<8sIIIIIIIIff", MAGIC, KINDS[kind], dims, layers, description.get("heads", 0), inner, positions, count, len(vocabulary), weight, discount
    )
    writer = Writer()
    writer.part(header.ljust(64, b"\0"))
    writer.part(vocabulary)
    for name, is_matrix in layout(kind, layers):
        if is_matrix:
            codes, scales = tensors[name + ".codes"], tensors[name + ".scales"]
            writer.part(pack_codes(codes, GROUP) if name in TABLES else pack_codes(panels(codes, STEP), GROUP * STEP))
            writer.part((scales if name in TABLES else panels(scales, 1)).astype("<f2").tobytes())
        else:
            writer.part(tensors[name].astype("<f2").tobytes())
    return bytes(writer.data)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kind", choices=("static", "transformer"))
    arguments.add_argument("checkpoint", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--weight", type=float, required=True, help="the fusion weight")
    arguments.add_argument("--discount", type=float, default=0.0, help="how much lower it is where words single out one text")
    options = arguments.parse_args()
    tensors, description = load_quantised(options.checkpoint)
    if description["kind"] != options.kind:
        raise SystemExit(f"the checkpoint is of kind {description['kind']}")
    data = pack(tensors, description, options.weight, options.discount)
    if len(data) > LARGEST_FILE[options.kind]:
        raise SystemExit(f"{len(data)} bytes are more than {LARGEST_FILE[options.kind]}")
    options.out.write_bytes(data)
    print(f"{options.out.name}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
