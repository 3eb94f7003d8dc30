"""Turns heading and section pairs into what training needs: tokens of queries and passages, and hard negatives.

    python pairs.py PAIRS.tsv.xz VOCABULARY.txt OUT [--limit N] [--workers N] [--pieces N]

PAIRS.tsv.xz has one pair a line, tab separated: source number, heading path, last heading (may be empty), passage. VOCABULARY.txt is that of
all-MiniLM-L6-v2 (teacher.py writes it). OUT gets numpy files; nothing is computed again that lies there already.

Queries of a pair, by kind: 0 heading path, 1 last heading, 2 question made from the heading, 3 question made from a sentence of the passage, 4 a sentence of the
passage (taken out of the passage in every other pair). Tokens are kept twice: `full` with the whole vocabulary (teacher, static model) and `cut` with the pieces
most frequent in the passages (transformer students). Hard negatives are other passages of the same source that BM25 over word pieces ranks high for the heading
path, near copies of the right passage left out.

Held out for checks during training: 500 pairs each of four sources nearest to a software manual.
"""

import argparse
import lzma
import os
import time
import zlib
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy import sparse

# Workers are processes here; threads of the tokeniser's own would get in their way.
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import BertWordPieceTokenizer

from questions import heading_question, sentence_question, sentences

QUERY_TOKENS, PASSAGE_TOKENS = 64, 128
PIECES = 17_500
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
NEGATIVES = 7
CANDIDATES = 16
# Above this share of equal pieces a candidate counts as a copy of the right passage.
COPY = 0.7
HELD_OUT_SOURCES, HELD_OUT_EACH = (6, 9, 10, 11), 500
K1, B = 1.2, 0.75


def read_pairs(path, limit):
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t") for line in lines]
    pairs = [pair for pair in pairs if len(pair) == 4 and pair[3]]
    if limit and limit < len(pairs):
        keep = np.random.default_rng(1).permutation(len(pairs))[:limit]
        pairs = [pairs[at] for at in np.sort(keep)]
    return pairs


def variants(numbered):
    """The queries of some pairs as (pair, kind, text, passage without the sentence or None)."""
    found = []
    for number, (source, path, leaf, passage) in numbered:
        pick = zlib.crc32(f"{path}|{passage[:80]}".encode())
        found.append((number, 0, path, None))
        if leaf and leaf != path:
            found.append((number, 1, leaf, None))
        question = heading_question(path, leaf, int(source), pick)
        if question:
            found.append((number, 2, question, None))
        spans = sentences(passage) if int(source) != 18 else []
        question = sentence_question(passage, spans, pick // 7) if spans else None
        if question:
            found.append((number, 3, question, None))
        if len(spans) >= 3:
            first, last = spans[pick // 11 % len(spans)]
            removed = passage[:first] + passage[last:] if pick // 13 % 2 else None
            found.append((number, 4, passage[first:last].strip(), removed))
    return found


def make_variants(pairs, workers):
    numbered = list(enumerate(pairs))
    chunks = [numbered[at : at + 5000] for at in range(0, len(numbered), 5000)]
    return [query for part in in_pool(variants, chunks, workers) for query in part]


# What the workers of a pool read: a fork shares it, nothing is copied.
SHARED = {}


def tokenise_range(bounds):
    tokeniser = BertWordPieceTokenizer(SHARED["vocabulary"], lowercase=True)
    tokeniser.enable_truncation(SHARED["most"])
    ids = [np.array(encoding.ids, np.uint16) for encoding in tokeniser.encode_batch(SHARED["texts"][slice(*bounds)])]
    return np.concatenate(ids), [len(one) for one in ids]


def tokenise(texts, vocabulary, most, workers):
    """Flat ids and where each text ends, [CLS] and [SEP] included."""
    SHARED.update(texts=texts, vocabulary=vocabulary, most=most)
    bounds = [(at, at + 10_000) for at in range(0, len(texts), 10_000)]
    parts = in_pool(tokenise_range, bounds, workers)
    return np.concatenate([ids for ids, _ in parts]), np.cumsum(np.concatenate([lengths for _, lengths in parts])).astype(np.int64)


def in_pool(function, tasks, workers):
    if workers == 1:
        return [function(task) for task in tasks]
    with get_context("fork").Pool(workers) as pool:
        return pool.map(function, tasks, chunksize=1)


def cut_vocabulary(vocabulary, passage_ids, pieces):
    """The special pieces, all single ASCII characters with and without `##`, then the pieces most frequent in the passages."""
    counts = np.bincount(passage_ids, minlength=len(vocabulary))
    characters = {mark + chr(code) for code in range(33, 127) for mark in ("", "##")}
    kept = {at for at, piece in enumerate(vocabulary) if piece in characters}
    for at in np.argsort(-counts, kind="stable"):
        if len(kept) >= pieces - len(SPECIAL):
            break
        if vocabulary[at] not in SPECIAL and not vocabulary[at].startswith("[") or len(vocabulary[at]) == 1:
            kept.add(int(at))
    return SPECIAL + [vocabulary[at] for at in sorted(kept)]


def as_matrix(ids, ends, columns):
    """Piece counts of each text."""
    starts = np.concatenate([[0], ends[:-1]])
    rows = np.repeat(np.arange(len(ends)), ends - starts)
    counts = sparse.csr_matrix((np.ones(len(ids), np.float32), (rows, ids.astype(np.int32))), (len(ends), columns))
    counts.sum_duplicates()
    return counts


def slice_texts(ids, ends, chosen):
    starts = np.concatenate([[0], ends[:-1]])
    parts = [ids[starts[at] : ends[at]] for at in chosen]
    return np.concatenate(parts), np.cumsum([len(part) for part in parts])


def mine_source(task):
    """Hard negatives of some pairs of one source: the numbers of other pairs, -1 where there are fewer."""
    members, first, last = task
    columns = SHARED["columns"]
    counts, asked = as_matrix(*slice_texts(*SHARED["passage"], members), columns), as_matrix(*slice_texts(*SHARED["query"], members), columns)
    asked.data[:] = 1
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    idf = np.log(1 + (len(members) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    # Frequent pieces say little and cost most of the time.
    idf[frequency > max(1000, 0.03 * len(members))] = 0
    idf[[0, 101, 102]] = 0
    presence = counts.copy()
    presence.data[:] = 1
    norm = np.repeat(K1 * (1 - B + B * lengths / lengths.mean()), np.diff(counts.indptr)).astype(np.float32)
    weights = counts.copy()
    weights.data = idf[counts.indices] * counts.data * (K1 + 1) / (counts.data + norm)
    weights.eliminate_zeros()
    asked = asked.multiply(idf[None, :] > 0).tocsr()
    asked.eliminate_zeros()
    by_piece = weights.T.tocsr()
    sizes = np.asarray(presence.sum(axis=1)).ravel()
    result = np.full((last - first, NEGATIVES), -1, np.int32)
    for at in range(first, last, 2048):
        scores = asked[at : min(at + 2048, last)] @ by_piece
        best = np.full((scores.shape[0], CANDIDATES), -1, np.int64)
        for row in range(scores.shape[0]):
            low, high = scores.indptr[row], scores.indptr[row + 1]
            columns_here, values = scores.indices[low:high], scores.data[low:high]
            if len(values) > CANDIDATES:
                top = np.argpartition(-values, CANDIDATES - 1)[:CANDIDATES]
                columns_here, values = columns_here[top], values[top]
            order = np.lexsort((columns_here, -values))
            best[row, : len(order)] = columns_here[order]
        own = np.arange(at, at + len(best))
        rows = np.repeat(own, CANDIDATES)
        flat = np.maximum(best.ravel(), 0)
        shared = np.asarray(presence[rows].multiply(presence[flat]).sum(axis=1)).ravel()
        copy = shared / (sizes[rows] + sizes[flat] - shared) > COPY
        good = (best.ravel() >= 0) & (flat != rows) & ~copy
        good = good.reshape(best.shape)
        for row in range(len(best)):
            chosen = best[row][good[row]][:NEGATIVES]
            result[at - first + row, : len(chosen)] = members[chosen]
    return members[first:last], result


def mine(query, passage, source, held_out, columns, workers):
    """BM25 within each source; `query` and `passage` are (ids, ends) with one text a pair."""
    SHARED.update(query=query, passage=passage, columns=columns)
    tasks = []
    for number in np.unique(source):
        members = np.flatnonzero((source == number) & ~held_out)
        if len(members) > NEGATIVES:
            # Shares of a large source, so that all workers have something to do.
            shares = min(workers, -(-len(members) // 12_000))
            edges = np.linspace(0, len(members), shares + 1).astype(int)
            tasks += [(members, int(first), int(last)) for first, last in zip(edges, edges[1:])]
    tasks.sort(key=lambda task: -len(task[0]))
    negatives = np.full((len(source), NEGATIVES), -1, np.int32)
    for members, found in in_pool(mine_source, tasks, workers):
        negatives[members] = found
    return negatives


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pairs", type=Path)
    arguments.add_argument("vocabulary", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--limit", type=int, default=0, help="use a sample of so many pairs")
    arguments.add_argument("--workers", type=int, default=os.cpu_count())
    arguments.add_argument("--pieces", type=int, default=PIECES)
    options = arguments.parse_args()
    if (options.out / "negatives.npy").exists():
        print("already there")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.time()

    def say(what):
        print(f"{time.time() - began:6.1f} s  {what}", flush=True)

    def save(name, values):
        np.save(options.out / f"{name}.npy", values)

    pairs = read_pairs(options.pairs, options.limit)
    say(f"{len(pairs)} pairs read")
    queries = make_variants(pairs, options.workers)
    kind = np.array([query[1] for query in queries], np.uint8)
    say(f"{len(queries)} queries made, by kind {np.bincount(kind, minlength=5).tolist()}")
    source = np.array([int(pair[0]) for pair in pairs], np.int32)
    held_out = np.zeros(len(pairs), bool)
    rng = np.random.default_rng(7)
    for number in HELD_OUT_SOURCES:
        # At most a quarter of a source, so that a small sample still trains on it.
        members = rng.permutation(np.flatnonzero(source == number))
        held_out[members[: min(HELD_OUT_EACH, len(members) // 4 or 1)]] = True

    texts = [pair[3] for pair in pairs]
    query_passage = np.array([query[0] for query in queries], np.int32)
    for at, (number, _, _, removed) in enumerate(queries):
        if removed:
            query_passage[at] = len(texts)
            texts.append(removed)
    save("pair_source", source)
    save("pair_held_out", held_out)
    save("query_pair", np.array([query[0] for query in queries], np.int32))
    save("query_passage", query_passage)
    save("query_kind", kind)

    asked = [query[2] for query in queries]
    vocabulary = options.vocabulary.read_text(encoding="utf-8").splitlines()
    numbers = {piece: at for at, piece in enumerate(vocabulary)}
    query_full, passage_full = tokenise(asked, numbers, QUERY_TOKENS, options.workers), tokenise(texts, numbers, PASSAGE_TOKENS, options.workers)
    say("tokenised with the full vocabulary")
    cut = cut_vocabulary(vocabulary, passage_full[0], options.pieces)
    (options.out / "vocabulary_cut.txt").write_text("\n".join(cut) + "\n", encoding="utf-8")
    numbers = {piece: at for at, piece in enumerate(cut)}
    query_cut, passage_cut = tokenise(asked, numbers, QUERY_TOKENS, options.workers), tokenise(texts, numbers, PASSAGE_TOKENS, options.workers)
    say(f"tokenised with {len(cut)} pieces; {100 * (passage_cut[0] == 1).mean():.2f} % unknown, "
        f"{np.diff(passage_full[1], prepend=0).mean():.1f} and {np.diff(passage_cut[1], prepend=0).mean():.1f} tokens a passage")
    for name, (ids, ends) in {"query_full": query_full, "passage_full": passage_full, "query_cut": query_cut, "passage_cut": passage_cut}.items():
        save(name + "_ids", ids)
        save(name + "_ends", ends)

    paths = np.flatnonzero(kind == 0)
    negatives = mine(slice_texts(*query_full, paths), slice_texts(*passage_full, np.arange(len(pairs))), source, held_out, len(vocabulary), options.workers)
    save("negatives", negatives)
    say(f"mined: {(negatives >= 0).sum(axis=1).mean():.2f} negatives a pair")


if __name__ == "__main__":
    main()
