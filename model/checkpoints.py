"""Checkpoint files and the 4-bit form of a weight matrix. numpy only.

A matrix is cut along its rows into groups of 32 values. A group has one f16 scale, its largest absolute value divided by 7; each value is the scale times a whole
number from -7 to 7. A quantised checkpoint holds `NAME.codes` (int8) and `NAME.scales` (f16) for a matrix, other tensors as f16, and the text `description` (JSON).
"""

import json
from pathlib import Path

import numpy as np

GROUP = 32
LARGEST = 7
PART_BYTES = 15 * 1024 * 1024


def quantise(values):
    """Codes (int8, the shape of `values`) and scales (f16, one for each group)."""
    groups = values.astype(np.float32).reshape(values.shape[0], -1, GROUP)
    scales = (np.abs(groups).max(axis=2) / np.float32(LARGEST)).astype(np.float16)
    step = scales.astype(np.float32)[:, :, None]
    codes = np.where(step > 0, np.rint(groups / np.where(step > 0, step, 1)), 0)
    return np.clip(codes, -LARGEST, LARGEST).astype(np.int8).reshape(values.shape), scales


def dequantise(codes, scales):
    groups = codes.reshape(codes.shape[0], -1, GROUP).astype(np.float32) * scales.astype(np.float32)[:, :, None]
    return groups.reshape(codes.shape)


def save_parts(stem, tensors):
    """Writes stem-0.npz, stem-1.npz, ...; no part is larger than what may travel."""
    stem = Path(stem)
    for old in stem.parent.glob(stem.name + "-[0-9]*.npz"):
        old.unlink()
    part, size, number = {}, 0, 0
    for name, values in tensors.items():
        pieces = [(name, values)]
        if values.nbytes > PART_BYTES:
            count = -(-values.nbytes // PART_BYTES)
            pieces = [(f"{name}@{at}", rows) for at, rows in enumerate(np.array_split(values, count))]
        for key, rows in pieces:
            if part and size + rows.nbytes > PART_BYTES:
                np.savez(f"{stem}-{number}.npz", **part)
                part, size, number = {}, 0, number + 1
            part[key] = rows
            size += rows.nbytes
    np.savez(f"{stem}-{number}.npz", **part)


def load_parts(stem):
    stem = Path(stem)
    tensors, split = {}, {}
    for path in sorted(stem.parent.glob(stem.name + "-[0-9]*.npz")):
        with np.load(path) as file:
            for key in file.files:
                name, _, at = key.partition("@")
                if at:
                    split.setdefault(name, {})[int(at)] = file[key]
                else:
                    tensors[key] = file[key]
    for name, rows in split.items():
        tensors[name] = np.concatenate([rows[at] for at in sorted(rows)])
    if not tensors:
        raise FileNotFoundError(f"no {stem}-*.npz")
    return tensors


def save_quantised(path, matrices, others, description):
    """`matrices` get 4 bits a value, `others` f16."""
    tensors = {"description": np.frombuffer(json.dumps(description).encode(), np.uint8)}
    for name, values in matrices.items():
        tensors[name + ".codes"], tensors[name + ".scales"] = quantise(values)
    for name, values in others.items():
        tensors[name] = values.astype(np.float16)
    # Codes take a byte each here and shrink well.
    np.savez_compressed(path, **tensors)


def load_quantised(path):
    with np.load(path) as file:
        tensors = {name: file[name] for name in file.files}
    return tensors, json.loads(tensors.pop("description").tobytes())
