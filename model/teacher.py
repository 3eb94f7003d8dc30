"""Writes the teacher, all-MiniLM-L6-v2, from its Python package as small f16 files that can travel, and its vocabulary.

    python teacher.py OUT      # OUT/vocab.txt and OUT/teacher-0.npz, teacher-1.npz, ...: under 16 MiB each, 45 MB together
"""

import sys
from pathlib import Path

from safetensors.numpy import load_file

from checkpoints import save_parts
from make import teacher_files

POSITIONS = 128


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "vocab.txt").write_bytes(teacher_files()[1].read_bytes())
    tensors = {name: values.astype("float16") for name, values in teacher_tensors().items()}
    save_parts(out / "teacher", tensors)
    print(len(tensors), "tensors,", sum(values.nbytes for values in tensors.values()), "bytes")


def teacher_tensors():
    """The teacher's f32 weights under our names; without its pooler, and with the first 128 places only."""
    weights = load_file(teacher_files()[0])
    tensors = {}
    for name, values in weights.items():
        if "position_ids" in name or name.startswith("pooler"):
            continue
        if "position_embeddings" in name:
            # The one token type in use is added to every place, so it belongs here.
            values = values[:POSITIONS] + weights["embeddings.token_type_embeddings.weight"][0]
        if "token_type" not in name:
            tensors[short_name(name)] = values
    return tensors


def short_name(name):
    """From the names of the transformers library to ours: `3.attention_output.weight`, `tokens.weight`."""
    for old, new in (
        ("encoder.layer.", ""), ("attention.self.", ""), ("attention.output.dense", "attention_output"), ("attention.output.LayerNorm", "attention_norm"),
        ("intermediate.dense", "inner"), ("output.dense", "outer"), ("output.LayerNorm", "outer_norm"),
        ("embeddings.word_embeddings", "tokens"), ("embeddings.position_embeddings", "positions"), ("embeddings.LayerNorm", "tokens_norm"),
    ):
        name = name.replace(old, new)
    return name


if __name__ == "__main__":
    main()
