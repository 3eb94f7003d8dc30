"""Measures the models on a retrieval test set, alone and fused with BM25: nDCG@10 and recall@10 in percent.

    python evaluate.py FOLDER [--static FILE ...] [--transformer FILE ...] [--minilm] [--questions FOLDER]
    python evaluate.py PAIRS.tsv.xz [--sources NUMBERS] ...     # heading and section pairs: a sample of some sources is the set

FOLDER holds corpus.jsonl, queries.jsonl, qrels.tsv and a second query set, queries-leaf.jsonl, qrels-leaf.tsv. The folder of --questions holds questions.jsonl and
qrels-questions.tsv over the same corpus. --static takes files of either format; --transformer a packed file; --minilm is all-MiniLM-L6-v2 in f32, the yardstick.

A fusion is (1 - w) * lexical + w * semantic. Its w is chosen on the first query set and fixed for the others, so only the others are a fair report of it.
`min-max`: both sides stretched to 0..1 over all documents, for each query. `plain`: lexical divided by the query's best, semantic max(0, cosine): what Sectile does.
Vectors are the references' own and are kept in build/cache. With --torch the transformers' come from train.py's encoder instead: quick on a GPU, for a look between stages.
"""

import argparse
import hashlib
import json
import lzma
import random
import re
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import snowballstemmer

import reference
from questions import heading_question

K1, B = 1.2, 0.75
WEIGHTS = [round(0.05 * step, 2) for step in range(1, 20)]
STOP_WORDS = set(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with".split()
)
CACHE = Path(__file__).with_name("build") / "cache"


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def terms(text, stemmer):
    return stemmer.stemWords([word for word in re.findall(r"\w\w+", text.lower()) if word not in STOP_WORDS])


def bm25(documents, queries):
    """Scores (queries, documents). Repeated query terms count each time."""
    stemmer = snowballstemmer.stemmer("english")
    counts = [Counter(terms(text, stemmer)) for text in documents]
    lengths = np.array([sum(count.values()) for count in counts], float)
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    postings = {}
    for number, count in enumerate(counts):
        for term, times in count.items():
            postings.setdefault(term, []).append((number, times))
    scores = np.zeros((len(queries), len(documents)))
    for row, query in enumerate(queries):
        for term in terms(query, stemmer):
            found = postings.get(term)
            if found:
                at, times = np.array(found).T
                idf = np.log(1 + (len(documents) - len(at) + 0.5) / (len(at) + 0.5))
                scores[row, at] += idf * times * (K1 + 1) / (times + norm[at])
    return scores


def ranks(scores, right):
    """For each query the ranks of its right documents, from 1. Ties go to the earlier document."""
    found = []
    for row, documents in zip(scores, right):
        found.append([1 + int((row > row[one]).sum()) + int((row[:one] == row[one]).sum()) for one in documents])
    return found


def measures(scores, right):
    """nDCG@10 and recall@10 in percent, right documents counting alike."""
    ndcg, recall = [], []
    for found in ranks(scores, right):
        best = sum(1 / np.log2(rank + 1) for rank in range(1, min(len(found), 10) + 1))
        ndcg.append(sum(1 / np.log2(rank + 1) for rank in found if rank <= 10) / best)
        recall.append(sum(rank <= 10 for rank in found) / len(found))
    return 100 * float(np.mean(ndcg)), 100 * float(np.mean(recall))


def min_max(x):
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    return (x - low) / np.maximum(high - low, 1e-9)


FUSIONS = {
    "min-max": lambda lexical, semantic: (min_max(lexical), min_max(semantic)),
    "plain": lambda lexical, semantic: (lexical / np.maximum(lexical.max(axis=1, keepdims=True), 1e-9), np.maximum(semantic, 0)),
}


def read_set(queries_file, qrels_file, number):
    """Queries and, for each, its right documents."""
    right = {}
    for line in qrels_file.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if float(score) > 0:
            right.setdefault(query, []).append(number[document])
    queries = [query for query in read_jsonl(queries_file) if query["_id"] in right]
    return [query["text"] for query in queries], [right[query["_id"]] for query in queries]


def folder_sets(folder, questions):
    """The documents, and name, queries and right documents of each query set."""
    corpus = read_jsonl(folder / "corpus.jsonl")
    number = {document["_id"]: at for at, document in enumerate(corpus)}
    documents = [(document["title"] + " " + document["text"]).strip() for document in corpus]
    sets = [(folder.name + suffix, *read_set(folder / f"queries{suffix}.jsonl", folder / f"qrels{suffix}.tsv", number)) for suffix in ("", "-leaf")]
    if questions:
        sets.append(("questions", *read_set(questions / "questions.jsonl", questions / "qrels-questions.tsv", number)))
    return documents, sets


def pair_sets(path, sources):
    """As `folder_sets`: 3,000 sections of some sources, asked for by heading path, by last heading and by a question made from the heading, 1,500 queries each at most.

    Lines are source number, heading path, last heading, section, tab separated.
    """
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t") for line in lines]
    pairs = [pair for pair in pairs if len(pair) == 4 and pair[0] in sources and len(pair[3].split()) >= 25]
    random.Random(7).shuffle(pairs)
    pairs = pairs[:3000]
    paths = [(at, pair[1]) for at, pair in enumerate(pairs)]
    leaves = [(at, pair[2]) for at, pair in enumerate(pairs) if pair[2] != pair[1] and len(pair[2].split()) >= 2]
    asked = [(at, heading_question(pair[1], pair[2], int(pair[0]), zlib.crc32(f"{pair[1]}|{pair[3][:80]}".encode()))) for at, pair in enumerate(pairs)]
    kinds = {"paths": paths, "headings": leaves, "made": [(at, question) for at, question in asked if question]}
    sets = [(name, [query for _, query in some[:1500]], [[at] for at, _ in some[:1500]]) for name, some in kinds.items()]
    return [pair[3] for pair in pairs], sets


def load_static(path):
    if path.read_bytes()[:8] == b"SECTEMB1":
        return reference.Model(path)
    from reference_static import Static

    return Static(path)


def load_transformer(path):
    from reference_transformer import Transformer

    return Transformer.read(path)


class TorchEncoder:
    """The reference's tokens, train.py's encoder."""

    def __init__(self, model):
        import torch

        import train

        self.model, self.train = model, train
        self.weights = {name: torch.from_numpy(np.array(values, np.float32)).to(train.DEVICE) for name, values in model.tensors.items()}

    def vectors(self, texts):
        ids = [self.model.ids(text) for text in texts]
        tokens = self.train.Texts(np.concatenate(ids), np.cumsum([len(one) for one in ids]))
        with self.train.torch.no_grad():
            return self.train.encode(self.weights, self.model.layers, tokens, np.arange(len(ids))).cpu().numpy()


def load_torch(path):
    return TorchEncoder(load_transformer(path))


def load_minilm(_path):
    from make import teacher_files
    from reference_transformer import Transformer
    from teacher import teacher_tensors

    return Transformer(teacher_files()[1].read_text(encoding="utf-8").splitlines(), teacher_tensors(), 6, 12, is_yardstick=True)


def unit_vectors(key, load, texts):
    """Unit vectors of texts, from the cache where they are known. `key` stands for the model."""
    name = hashlib.sha256(key + "\0".join(texts).encode()).hexdigest()[:24]
    file = CACHE / f"{name}.npy"
    if not file.exists():
        model = load()
        vectors = model.vectors(texts) if hasattr(model, "vectors") else np.array([model.vector(text) for text in texts], np.float32)
        CACHE.mkdir(parents=True, exist_ok=True)
        np.save(file, vectors)
    vectors = np.load(file).astype(np.float64)
    return vectors / np.maximum(np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)), 1e-9)


def key_of(path):
    """What vectors depend on: the whole file but its fusion weight and the discount of it (bytes 40 to 47 of the header)."""
    data = path.read_bytes()
    return data[:40] + data[48:]


def show(name, figures):
    print(f"{name:<44}" + "".join(f"{ndcg:9.1f} /{recall:6.1f}" for ndcg, recall in figures), flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("path", type=Path)
    arguments.add_argument("--static", type=Path, nargs="*", default=[])
    arguments.add_argument("--transformer", type=Path, nargs="*", default=[])
    arguments.add_argument("--minilm", action="store_true")
    arguments.add_argument("--questions", type=Path)
    arguments.add_argument("--sources", default="6,10,11", help="of pairs: the sources asked; a model trained on them is no fair test")
    arguments.add_argument("--torch", action="store_true")
    options = arguments.parse_args()
    documents, sets = folder_sets(options.path, options.questions) if options.path.is_dir() else pair_sets(options.path, options.sources.split(","))
    print(f"{'nDCG@10 / recall@10':<44}" + "".join(f"{name + f' ({len(queries)})':>17}" for name, queries, _ in sets))
    lexical = [bm25(documents, queries) for _, queries, _ in sets]
    show("BM25", [measures(scores, right) for scores, (_, _, right) in zip(lexical, sets)])
    systems = [(path, load_static, key_of(path)) for path in options.static]
    load, mark = (load_torch, b"torch") if options.torch else (load_transformer, b"")
    systems += [(path, load, mark + key_of(path)) for path in options.transformer]
    systems += [(Path("MiniLM f32"), load_minilm, b"MiniLM f32")] if options.minilm else []
    for path, load, key in systems:
        loaded = []

        def model(load=load, path=path, loaded=loaded):
            loaded[:] = loaded or [load(path)]
            return loaded[0]

        found = unit_vectors(key, model, documents)
        semantic = [unit_vectors(key, model, queries) @ found.T for _, queries, _ in sets]
        show(path.name + " alone", [measures(scores, right) for scores, (_, _, right) in zip(semantic, sets)])
        for fusion, sides in FUSIONS.items():
            parts = [sides(left, other) for left, other in zip(lexical, semantic)]

            def fused(at, weight, parts=parts):
                return measures((1 - weight) * parts[at][0] + weight * parts[at][1], sets[at][2])

            weight = max(WEIGHTS, key=lambda weight: fused(0, weight)[0])
            show(f"{path.name} + BM25, {fusion}, w {weight}", [fused(at, weight) for at in range(len(sets))])


if __name__ == "__main__":
    main()
