"""The mean of several trained static tables that started from the same one, rounded to 4 bits again.

    python average.py OUT.npz CHECKPOINT.npz CHECKPOINT.npz ...
"""

import sys

import numpy as np

from checkpoints import dequantise, load_quantised, save_quantised


def main():
    out, *paths = sys.argv[1:]
    total, pieces = 0, None
    for path in paths:
        tensors, description = load_quantised(path)
        if pieces not in (None, description["pieces"]):
            raise SystemExit(f"{path} has other pieces")
        pieces = description["pieces"]
        rows = dequantise(tensors["rows.codes"], tensors["rows.scales"])
        # Only the angle between sums counts, so each table is given the same size first.
        total = total + rows * np.float32(0.05 / np.sqrt((rows.astype(np.float64) ** 2).mean()))
    save_quantised(out, {"rows": total / np.float32(len(paths))}, {}, {"kind": "static", "pieces": pieces})


if __name__ == "__main__":
    main()
