"""Checks a packed transformer against its checkpoint: the reference's tokens and vectors against the tokenizers library and train.py's encoder.

    python agree.py CHECKPOINT.npz MODEL.bin TEXTS.jsonl [COUNT]

Prints how many texts get other tokens (only texts that spell out BERT's special tokens may) and the least cosine between both vectors of a text, which should be above 0.999:
train.py's encoder does not round activations.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer

import train
from checkpoints import load_quantised
from reference import TEXTS
from reference_transformer import Transformer


def main():
    checkpoint, packed, file = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    texts = [json.loads(line)["text"] for line in Path(file).read_text(encoding="utf-8").splitlines()[:count]]
    texts += [text * repeat for text, repeat in TEXTS]
    model = Transformer.read(packed)
    pieces = load_quantised(checkpoint)[1]["pieces"]
    tokeniser = BertWordPieceTokenizer({piece: at for at, piece in enumerate(pieces)}, lowercase=True)
    tokeniser.enable_truncation(128)
    ids = [model.ids(text) for text in texts]
    print(sum(one != tokeniser.encode(text).ids for one, text in zip(ids, texts)), "of", len(texts), "texts get other tokens")
    weights = train.load_encoder(checkpoint)
    with torch.no_grad():
        tokens = train.Texts(np.concatenate(ids), np.cumsum([len(one) for one in ids]))
        wanted = train.encode(weights, train.layer_count(weights), tokens, np.arange(len(ids))).cpu().numpy()
    found = np.array([model.vector_of(one) for one in ids])
    print(f"least cosine {(wanted * found).sum(axis=1).min():.7f}")


if __name__ == "__main__":
    main()
