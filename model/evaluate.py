"""Measures the model on a retrieval test set, alone and fused with BM25, and prints nDCG@10.

    python evaluate.py FOLDER           # holds corpus.jsonl, queries.jsonl, qrels.tsv, and a second query set: queries-leaf.jsonl, qrels-leaf.tsv
    python evaluate.py PAIRS.tsv.xz     # heading and section pairs; a sample of them is the set on which the constants were chosen

Uses the integer vectors of reference.py, as Sectile does. Each query has one right document.
"""

import json
import lzma
import random
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import snowballstemmer

from reference import Model

K1, B = 1.2, 0.75
WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
STOP_WORDS = set(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with".split()
)


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def terms(text, stemmer):
    return stemmer.stemWords([word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS])


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


def cosine(model, documents, queries):
    def unit(texts):
        vectors = np.array([model.vector(text) for text in texts], float)
        length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        return vectors / np.maximum(length, 1)

    return unit(queries) @ unit(documents).T


def ndcg(scores, right):
    """nDCG@10 in percent, for one right document a query. Ties go to the earlier document."""
    own = scores[np.arange(len(right)), right][:, None]
    earlier = np.arange(scores.shape[1])[None, :] < np.array(right)[:, None]
    rank = 1 + (scores > own).sum(axis=1) + ((scores == own) & earlier).sum(axis=1)
    return 100 * np.where(rank <= 10, 1 / np.log2(rank + 1), 0).mean()


def min_max(x):
    """Over all documents, for each query."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    return (x - low) / np.maximum(high - low, 1e-9)


def by_max(x):
    return x / np.maximum(x.max(axis=1, keepdims=True), 1e-9)


def union_min_max(lexical, semantic, top=100):
    """Min-max over the union of each side's best; documents outside it get nothing."""
    keep = np.zeros(lexical.shape, bool)
    for side in (lexical, semantic):
        best = np.argsort(-side, axis=1, kind="stable")[:, :top]
        np.put_along_axis(keep, best, True, axis=1)
    sides = []
    for side in (lexical, semantic):
        low = np.where(keep, side, np.inf).min(axis=1, keepdims=True)
        high = np.where(keep, side, -np.inf).max(axis=1, keepdims=True)
        sides.append(np.where(keep, (side - low) / np.maximum(high - low, 1e-9), -1))
    return sides


def fusions(lexical, semantic):
    """Name and the two sides of each weighted sum (1 - w) * lexical + w * semantic."""
    positive = np.maximum(semantic, 0)
    yield "min-max, all documents", min_max(lexical), min_max(semantic)
    yield "min-max, union of top 100", *union_min_max(lexical, semantic)
    yield "both by the query's best", by_max(lexical), by_max(positive)
    yield "lexical by best, plain cosine", by_max(lexical), positive


def folder_sets(folder):
    """Name, documents, queries and the right document of each query, for both query sets of a folder."""
    documents = read_jsonl(folder / "corpus.jsonl")
    number = {document["_id"]: at for at, document in enumerate(documents)}
    texts = [(document["title"] + " " + document["text"]).strip() for document in documents]
    for suffix in ("", "-leaf"):
        queries = read_jsonl(folder / f"queries{suffix}.jsonl")
        pairs = [line.split("\t") for line in (folder / f"qrels{suffix}.tsv").read_text().splitlines()[1:]]
        answers = {query: number[document] for query, document, _ in pairs}
        yield f"queries{suffix}", texts, [q["text"] for q in queries], [answers[q["_id"]] for q in queries]


def pair_sets(path):
    """As `folder_sets`: 3,000 sections of a few documentation sites, asked for by heading path and by last heading.

    Lines are source number, heading path, last heading, section, tab separated; these sources are the ones nearest to a software manual.
    """
    by_source = {}
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            pair = line.rstrip("\n").split("\t")
            if pair[0] in ("6", "7", "9", "10", "11", "15") and len(pair[3].split()) >= 25:
                by_source.setdefault(pair[0], []).append(pair)
    pairs = [pair for source in sorted(by_source) for pair in by_source[source]]
    random.Random(7).shuffle(pairs)
    texts = [pair[3] for pair in pairs[:3000]]
    yield "heading paths", texts, [pair[1] for pair in pairs[:800]], list(range(800))
    leaves = [at for at in range(1500) if len(pairs[at][2].split()) >= 2][:800]
    yield "last headings", texts, [pairs[at][2] for at in leaves], leaves


def main():
    path = Path(sys.argv[1])
    model = Model()
    for title, texts, asked, right in folder_sets(path) if path.is_dir() else pair_sets(path):
        lexical, semantic = bm25(texts, asked), cosine(model, texts, asked)
        print(f"{title}: {len(asked)}   BM25 {ndcg(lexical, right):.1f}   static {ndcg(semantic, right):.1f}")
        print("  w".ljust(32) + "".join(f"{w:>7}" for w in WEIGHTS))
        for name, left, other in fusions(lexical, semantic):
            print(f"  {name:<30}" + "".join(f"{ndcg((1 - w) * left + w * other, right):7.1f}" for w in WEIGHTS))


if __name__ == "__main__":
    main()
