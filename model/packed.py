"""Reads a file that pack.py wrote; its head defines the format. numpy only."""

import struct
from pathlib import Path

import numpy as np

from checkpoints import GROUP
from pack import ALIGNMENT, KINDS, MAGIC, STEP, TABLES, layout

NAMES = {number: name for name, number in KINDS.items()}


def rows_of(panels, rows, columns, width):
    """The rows that `pack.panels` put side by side."""
    return np.ascontiguousarray(panels.reshape(rows // GROUP, columns // width, GROUP, width).transpose(0, 2, 1, 3)).reshape(rows, columns)


class Packed:
    """Header fields, `pieces` (list), and `tensors`: a matrix as (codes int8, scales f16), a vector as f16."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        magic, kind, self.dims, self.layers, self.heads, self.inner, self.positions, self.count, vocab_bytes, self.weight, self.discount = struct.unpack_from("<8sIIIIIIIIff", data)
        if magic != MAGIC or kind not in NAMES or any(data[48:64]):
            raise ValueError("not a packed Sectile model")
        self.kind = NAMES[kind]
        self.pieces, self.at = [], 64
        while self.at < 64 + vocab_bytes:
            end = self.at + 1 + data[self.at]
            self.pieces.append(data[self.at + 1 : end].decode("utf-8"))
            self.at = end
        if self.at != 64 + vocab_bytes or len(self.pieces) != self.count:
            raise ValueError("the vocabulary does not fit the header")
        self.tensors = {}
        for name, is_matrix in layout(self.kind, self.layers):
            if is_matrix:
                rows, columns = self.shape(name)
                run = GROUP if name in TABLES else GROUP * STEP
                bytes_here = np.frombuffer(self.part(data, rows * columns // 2), np.uint8).reshape(-1, 1, run // 2)
                codes = np.concatenate([bytes_here & 15, bytes_here >> 4], axis=1).astype(np.int8) - 8
                scales = np.frombuffer(self.part(data, rows * columns // GROUP * 2), "<f2").reshape(rows, columns // GROUP)
                if name in TABLES:
                    self.tensors[name] = codes.reshape(rows, columns), scales
                else:
                    self.tensors[name] = rows_of(codes, rows, columns, STEP), rows_of(scales, rows, columns // GROUP, 1)
            else:
                length = self.inner if name.endswith("inner.bias") else self.dims
                self.tensors[name] = np.frombuffer(self.part(data, 2 * length), "<f2")
        if self.at != len(data):
            raise ValueError("the file's length does not fit its header")

    def part(self, data, size):
        self.at += -self.at % ALIGNMENT
        found = data[self.at : self.at + size]
        if len(found) != size:
            raise ValueError("the file is cut short")
        self.at += size
        return found

    def shape(self, name):
        if name in ("rows", "tokens.weight"):
            return self.count, self.dims
        if name == "positions.weight":
            return self.positions, self.dims
        if name.endswith("inner.weight"):
            return self.inner, self.dims
        if name.endswith("outer.weight"):
            return self.dims, self.inner
        return self.dims, self.dims
