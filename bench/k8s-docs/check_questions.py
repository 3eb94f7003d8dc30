#!/usr/bin/env python3
"""Check questions.jsonl + qrels-questions.tsv against the corpus. Exit 1 on any broken rule.
usage: check_questions.py [corpus.jsonl [questions.jsonl [qrels-questions.tsv]]]; needs snowballstemmer."""
import json, os, re, sys
from collections import Counter
import snowballstemmer

HERE = os.path.dirname(os.path.abspath(__file__))
a = sys.argv[1:]
CORPUS = a[0] if len(a) > 0 else 'corpus.jsonl'
QUEST = a[1] if len(a) > 1 else os.path.join(HERE, 'questions.jsonl')
QRELS = a[2] if len(a) > 2 else os.path.join(HERE, 'qrels-questions.tsv')
MIN_QUESTIONS, MIN_WORDS, MAX_WORDS, RARE, COMMON, SHARE = 220, 8, 25, 0.01, 0.20, 0.40

st = snowballstemmer.stemmer('english')
def stems(text):
    text = text.lower().replace('\u2019', "'")
    return set(st.stemWords([w.strip("'") for w in re.findall(r"[a-z0-9']+", text) if w.strip("'")]))

corpus = {}
for line in open(CORPUS, encoding='utf-8'):
    d = json.loads(line)
    corpus[d['_id']] = stems(d['text'])
N = len(corpus)
df = Counter(s for c in corpus.values() for s in c)

bad, shares, seen, texts = [], [], [], set()
for line in open(QUEST, encoding='utf-8'):
    q = json.loads(line)
    qid, text = q['_id'], q['text']
    if set(q) != {'_id', 'text'} or qid[:1] != 'n' or qid[1:] not in corpus:
        bad.append((qid, 'bad line or unknown passage')); continue
    pid = qid[1:]
    seen.append(pid)
    n = len(text.split())
    if not MIN_WORDS <= n <= MAX_WORDS: bad.append((qid, f'{n} words'))
    if not text.endswith('?'): bad.append((qid, 'not a question'))
    if text.lower() in texts: bad.append((qid, 'question repeated'))
    texts.add(text.lower())
    qs, ps = stems(text), corpus[pid]
    rare = sorted(s for s in qs & ps if df[s] < RARE * N)
    if rare: bad.append((qid, 'rare stems copied: ' + ' '.join(rare)))
    content = {s for s in qs if df[s] < COMMON * N}
    share = len(content & ps) / len(content) if content else 0.0
    shares.append(share)
    if not content: bad.append((qid, 'no content stem'))
    if share > SHARE: bad.append((qid, f'overlap {len(content & ps)}/{len(content)}: ' + ' '.join(sorted(content & ps)) + ' | free: ' + ' '.join(sorted(content - ps))))
if len(set(seen)) != len(seen): bad.append(('questions', 'repeated passage'))
if [int(p) for p in seen] != sorted(int(p) for p in seen): bad.append(('questions', 'not in ascending order'))
if len(seen) < MIN_QUESTIONS: bad.append(('questions', f'only {len(seen)}'))
if os.path.exists(QRELS):
    rows = open(QRELS, encoding='utf-8').read().split('\n')
    want = ['query-id\tcorpus-id\tscore'] + [f'n{p}\t{p}\t1' for p in seen] + ['']
    if rows != want: bad.append(('qrels', 'do not match the questions'))
else:
    bad.append(('qrels', 'missing'))
for b in bad: print('FAIL', *b)
print(f'passages {N}, questions {len(seen)}, mean overlap {sum(shares)/max(1,len(shares)):.3f}, '
      f'largest {max(shares, default=0):.3f}, broken rules {len(bad)}')
sys.exit(1 if bad else 0)
