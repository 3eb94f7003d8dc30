"""Adds whole words to the vocabulary of the static table and tokenises the pairs with it.

    python words.py PAIRS.tsv.xz VOCABULARY.txt DATA [--words N] [--without SOURCES] [--name NAME]

BERT's vocabulary knows few words of software manuals: `configure` is four pieces, `config` three, `namespace` two. A table that sums rows cannot tell such pieces from the
same pieces in other words, so the words that are most frequent in the pairs and have more than one piece get rows of their own. Nothing else changes: the longest piece
is taken as before. DATA is the folder that pairs.py wrote; it gets vocabulary_NAME.txt (the old pieces, then the words), query_NAME and passage_NAME.
"""

import argparse
import os
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np

from pairs import PASSAGE_TOKENS, QUERY_TOKENS, in_pool, make_variants, read_pairs, tokenise
from reference import Model

# A word counts at most so often for one source, and must be in so many of them: no source shall choose the words alone.
MOST, LEAST_SOURCES = 400, 3


def count_words(pairs):
    """How many pairs of each source a word is in."""
    found = {}
    for source, path, _, passage in pairs:
        found.setdefault(source, Counter()).update(set(re.findall(r"[a-z0-9]{2,}", (path + " " + passage).lower())))
    return found


def choose(pairs, known, count, workers):
    """The words to add, the most frequent first; of equally frequent ones, in order of the alphabet."""
    total, sources = Counter(), Counter()
    by_source = {}
    for part in in_pool(count_words, [pairs[at : at + 20_000] for at in range(0, len(pairs), 20_000)], workers):
        for source, words in part.items():
            by_source.setdefault(source, Counter()).update(words)
    for words in by_source.values():
        for word, times in words.items():
            total[word] += min(times, MOST)
            sources[word] += 1
    fit = [word for word in total if word not in known and not word.isdigit() and sources[word] >= LEAST_SOURCES]
    return sorted(fit, key=lambda word: (-total[word], word))[:count]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pairs", type=Path)
    arguments.add_argument("vocabulary", type=Path)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--words", type=int, default=3400)
    arguments.add_argument("--without", default="", help="sources that have no say in the choice")
    arguments.add_argument("--name", default="static")
    arguments.add_argument("--workers", type=int, default=os.cpu_count())
    options = arguments.parse_args()
    began = time.time()
    pairs = read_pairs(options.pairs, 0)
    without = options.without.split(",")
    vocabulary = options.vocabulary.read_text(encoding="utf-8").splitlines()
    words = choose([pair for pair in pairs if pair[0] not in without], set(Model().ids), options.words, options.workers)
    pieces = vocabulary + words
    (options.data / f"vocabulary_{options.name}.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    queries = make_variants(pairs, options.workers)
    texts = [pair[3] for pair in pairs] + [removed for _, _, _, removed in queries if removed]
    numbers = {piece: at for at, piece in enumerate(pieces)}
    for kind, some, most in (("query", [query[2] for query in queries], QUERY_TOKENS), ("passage", texts, PASSAGE_TOKENS)):
        ids, ends = tokenise(some, numbers, most, options.workers)
        np.save(options.data / f"{kind}_{options.name}_ids.npy", ids)
        np.save(options.data / f"{kind}_{options.name}_ends.npy", ends)
    print(f"{time.time() - began:6.1f} s  {len(words)} words added: {' '.join(words[:12])} ... {' '.join(words[-6:])}", flush=True)


if __name__ == "__main__":
    main()
