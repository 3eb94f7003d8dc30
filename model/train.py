"""Trains the retriever: the teacher, the transformer students and the static table. Needs torch; meant for one GPU, a tiny run works on a CPU.

    python train.py vectors DATA --model STEM --name NAME                # a teacher's vectors of all queries and passages
    python train.py teacher DATA --init STEM --targets NAME --out STEM   # fine-tune the teacher
    python train.py student DATA --init STEM --layers 0,2,5 --targets NAME --out FILE.npz
    python train.py static DATA --init build/sectile-static-1.bin --targets NAME --out FILE.npz

DATA is the folder pairs.py wrote, for the static table words.py too. Each stage ends when --seconds or --steps are over, whichever is first, and saves then and every
minute. The learning rate falls to zero over that span; the last 40 % of it trains with the weights rounded to 4 bits in the forward pass (students and static).
Losses: contrastive in the batch in both directions, KL of the similarity rows to the teacher's, cosine to the teacher's vectors. A batch is made of groups from one
source each, in which BM25 neighbours stand together, so that hard negatives come at no cost; --hard adds mined passages as further columns. --without leaves sources out
of the training of a static table, to see what it does with documentation it does not know.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from checkpoints import GROUP, LARGEST, dequantise, load_parts, load_quantised, save_parts, save_quantised

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NUMBER = torch.bfloat16 if DEVICE == "cuda" else torch.float32
HEADS = 12
# Padded tokens in one pass through the encoder.
CHUNK_TOKENS = 65_536
LEAST_ROWS = 256
TEMPERATURE = 0.05
# Passages that the teacher finds this near to each other are copies, not negatives.
COPY = 0.97
KINDS = ("path", "leaf", "heading question", "sentence question", "span")


class Texts:
    """Token ids of many texts, flat on the device, and their lengths on the host."""

    def __init__(self, ids, ends):
        self.lengths = np.diff(ends, prepend=0)
        self.starts = torch.from_numpy(ends - self.lengths).to(DEVICE)
        self.ids = torch.from_numpy(ids.astype(np.int32)).to(DEVICE)

    def chunks(self, chosen):
        """The chosen texts in passes of like length: places in `chosen`, ids, mask (None where all are full)."""
        lengths = self.lengths[chosen]
        order = np.argsort(-lengths, kind="stable")
        at = 0
        while at < len(order):
            width = -(-int(lengths[order[at]]) // 8) * 8
            rows = order[at : at + max(1, CHUNK_TOKENS // width)]
            # Much shorter texts wait for a later pass, but a pass of few texts is not worth its launch.
            rows = rows[: max(LEAST_ROWS, int((lengths[rows] >= width * 3 // 4 - 4).sum()))]
            size = torch.from_numpy(lengths[rows]).to(DEVICE)
            places = torch.arange(width, device=DEVICE)
            mask = places[None] < size[:, None]
            start = self.starts[torch.from_numpy(np.asarray(chosen)[rows]).to(DEVICE)]
            ids = self.ids[(start[:, None] + places[None] * mask).clamp(max=len(self.ids) - 1)] * mask
            full = bool((lengths[rows] == width).all())
            yield torch.from_numpy(rows).to(DEVICE), ids.long(), None if full else mask
            at += len(rows)


class Data:
    def __init__(self, folder, vocabulary):
        def load(name):
            return np.load(folder / f"{name}.npy")

        self.source, self.held_out, self.negatives = load("pair_source"), load("pair_held_out"), load("negatives")
        self.query_pair, self.query_passage, self.query_kind = load("query_pair"), load("query_passage"), load("query_kind")
        query_ids, query_ends = load(f"query_{vocabulary}_ids"), load(f"query_{vocabulary}_ends")
        self.query_tokens = query_ids, query_ends
        self.passage_tokens = load(f"passage_{vocabulary}_ids"), load(f"passage_{vocabulary}_ends")
        self.near_of = None
        self.of_kind = np.full((len(self.source), len(KINDS)), -1, np.int64)
        self.of_kind[self.query_pair, self.query_kind] = np.arange(len(self.query_pair))
        # Equal texts get equal numbers, to mask them as negatives of each other.
        rng = np.random.default_rng(5)
        table = rng.integers(1, 2**62, int(query_ids.max()) + 1, dtype=np.uint64)
        starts = np.concatenate([[0], query_ends[:-1]])
        place = np.arange(len(query_ids)) - np.repeat(starts, query_ends - starts)
        with np.errstate(over="ignore"):
            self.query_text = np.add.reduceat(table[query_ids] * (2 * place.astype(np.uint64) + 1), starts).astype(np.int64)

    def leave_out(self, sources):
        """Does not train on these sources (numbers, comma separated): they are for checks."""
        if sources:
            self.held_out = self.held_out | np.isin(self.source, [int(number) for number in sources.split(",")])

    def texts(self):
        return Texts(*self.query_tokens), Texts(*self.passage_tokens)

    def near(self, neighbours):
        """For each pair its hard negatives and as many pairs at most that have it as theirs."""
        near_of = [[near for near in row if near >= 0] for row in self.negatives[:, :neighbours].tolist()]
        back = [[] for _ in near_of]
        for pair, row in enumerate(near_of):
            for near in row:
                if len(back[near]) < neighbours:
                    back[near].append(pair)
        return [row + more for row, more in zip(near_of, back)]

    def groups(self, rng, size, neighbours, cluster):
        """One pass over the training pairs as groups of one source. Around a random pair its hard negatives are gathered, then theirs, until there are `cluster`."""
        groups, rest = [], []
        seen = self.held_out.tolist()
        if self.near_of is None:
            self.near_of = self.near(neighbours)
        near_of = self.near_of
        for source in np.unique(self.source):
            order = []
            for seed in rng.permutation(np.flatnonzero((self.source == source) & ~self.held_out)).tolist():
                if seen[seed]:
                    continue
                first, at = len(order), len(order)
                seen[seed] = True
                order.append(seed)
                while at < len(order) and len(order) - first < cluster:
                    for near in near_of[order[at]]:
                        if not seen[near]:
                            seen[near] = True
                            order.append(near)
                    at += 1
            whole = len(order) // size * size
            groups += [order[at : at + size] for at in range(0, whole, size)]
            rest += order[whole:]
        groups += [rest[at : at + size] for at in range(0, len(rest) // size * size, size)]
        return [groups[at] for at in rng.permutation(len(groups))] or [rest]

    def batches(self, seed, batch, group, neighbours, cluster, mix, hard):
        """Endless (queries, passages): row i of the passages answers query i; `hard` more columns a query follow."""
        rng = np.random.default_rng(seed)
        while True:
            groups = self.groups(rng, min(group, batch), neighbours, cluster)
            count = max(1, batch // group)
            for at in range(0, max(1, len(groups) - count + 1), count):
                pairs = np.concatenate(groups[at : at + count])
                there = self.of_kind[pairs] >= 0
                draw = np.log(np.maximum(mix, 1e-9))[None] + rng.gumbel(size=there.shape)
                queries = self.of_kind[pairs, np.where(there, draw, -np.inf).argmax(axis=1)]
                passages = self.query_passage[queries]
                if hard:
                    columns = np.argsort(rng.random(self.negatives[pairs].shape), axis=1)[:, :hard]
                    mined = np.take_along_axis(self.negatives[pairs], columns, axis=1).ravel()
                    passages = np.concatenate([passages, np.unique(mined[mined >= 0])])
                yield queries, passages


# The encoder: BERT, layer norm after each block, mean over the tokens.


def encode_chunk(weights, layers, ids, mask):
    def linear(x, name):
        return F.linear(x, weights[name + ".weight"].to(x.dtype), weights[name + ".bias"].to(x.dtype))

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], weights[name + ".weight"].to(x.dtype), weights[name + ".bias"].to(x.dtype), 1e-12)

    x = F.embedding(ids, weights["tokens.weight"]) + weights["positions.weight"][: ids.shape[1]]
    x = norm(x, "tokens_norm").to(NUMBER)
    batch, length, width = x.shape
    seen = None if mask is None else mask[:, None, None, :].expand(batch, 1, length, length)
    for layer in range(layers):
        parts = [linear(x, f"{layer}.{name}").view(batch, length, HEADS, -1).transpose(1, 2) for name in ("query", "key", "value")]
        mixed = F.scaled_dot_product_attention(*parts, attn_mask=seen).transpose(1, 2).reshape(batch, length, width)
        x = norm(x + linear(mixed, f"{layer}.attention_output"), f"{layer}.attention_norm")
        x = norm(x + linear(F.gelu(linear(x, f"{layer}.inner")), f"{layer}.outer"), f"{layer}.outer_norm")
    x = x.float()
    if mask is None:
        return F.normalize(x.mean(dim=1), dim=1)
    return F.normalize((x * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True), dim=1)


def encode(weights, layers, texts, chosen):
    """Unit vectors of the chosen texts."""
    rows, vectors = [], []
    for places, ids, mask in texts.chunks(chosen):
        rows.append(places)
        vectors.append(encode_chunk(weights, layers, ids, mask))
    back = torch.argsort(torch.cat(rows))
    return torch.cat(vectors)[back]


def layer_count(weights):
    return 1 + max(int(name.split(".")[0]) for name in weights if name[0].isdigit())


def load_encoder(path):
    """f32 weights of a teacher (STEM of its parts) or a quantised student (FILE.npz)."""
    if str(path).endswith(".npz"):
        tensors, _ = load_quantised(path)
        for name in [name for name in tensors if name.endswith(".codes")]:
            tensors[name[:-6]] = dequantise(tensors.pop(name), tensors.pop(name[:-6] + ".scales"))
    else:
        tensors = load_parts(path)
    return {name: torch.from_numpy(values.astype(np.float32)).to(DEVICE) for name, values in tensors.items()}


def rounded(values):
    """The values as their 4-bit form will have them; the gradient passes as if they were not rounded."""
    with torch.no_grad():
        groups = values.view(values.shape[0], -1, GROUP)
        scale = (groups.abs().amax(dim=2, keepdim=True) / LARGEST).half().float()
        codes = torch.where(scale > 0, torch.round(groups / torch.where(scale > 0, scale, 1)), 0).clamp(-LARGEST, LARGEST)
        change = (codes * scale).view_as(values) - values
    return values + change


def rounded_weights(weights):
    return {name: rounded(values) if values.dim() == 2 else values for name, values in weights.items()}


# The static table: a text's vector is the sum of its pieces' rows.


def static_texts(tokens, row_of):
    """Flat row numbers and starts, without special pieces and punctuation."""
    ids, ends = tokens
    rows = row_of[ids]
    kept = np.concatenate([[0], np.cumsum(rows >= 0)])
    return rows[rows >= 0], kept[ends]


def encode_static(table, texts, chosen):
    lengths = torch.from_numpy(texts.lengths[chosen]).to(DEVICE)
    starts = texts.starts[torch.from_numpy(np.asarray(chosen)).to(DEVICE)]
    offsets = torch.cumsum(lengths, 0) - lengths
    owner = torch.repeat_interleave(torch.arange(len(lengths), device=DEVICE), lengths)
    places = torch.arange(int(lengths.sum()), device=DEVICE) - offsets[owner] + starts[owner]
    total = F.embedding_bag(texts.ids[places].long(), table, offsets, mode="sum")
    return F.normalize(total, dim=1)


# Losses


def losses(query, passage, targets, same, weights):
    """The weighted loss and its parts. `targets`: list of (weight of KL, teacher's query vectors, its passage vectors)."""
    count = len(query)
    scores = query @ passage.T / TEMPERATURE
    logits = scores.masked_fill(same, -1e4)
    right = torch.arange(count, device=DEVICE)
    contrastive = (F.cross_entropy(logits, right) + F.cross_entropy(logits[:, :count].T, right)) / 2
    parts = {"contrastive": contrastive}
    total = weights.contrastive * contrastive
    log_scores = F.log_softmax(scores, dim=1)
    for number, (share, teacher_query, teacher_passage) in enumerate(targets):
        wanted = F.log_softmax(teacher_query @ teacher_passage.T / TEMPERATURE, dim=1)
        parts[f"kl{number}"] = kl = F.kl_div(log_scores, wanted, reduction="batchmean", log_target=True)
        total = total + share * kl
    if weights.cosine and targets and targets[0][1].shape[1] == query.shape[1]:
        _, teacher_query, teacher_passage = targets[0]
        parts["cosine"] = cosine = 2 - (query * teacher_query).sum(1).mean() - (passage * teacher_passage).sum(1).mean()
        total = total + weights.cosine * cosine
    return total, parts


def ndcg(query, passage, right):
    scores = query @ passage.T
    own = scores.gather(1, right[:, None])
    rank = 1 + (scores > own).sum(dim=1)
    return float(torch.where(rank <= 10, 1 / torch.log2(rank + 1.0), 0).mean() * 100)


@torch.no_grad()
def check(data, vectors_of):
    """nDCG@10 on the held-out pairs by kind of query, among their passages."""
    pairs = np.flatnonzero(data.held_out)
    place = np.zeros(len(data.source), np.int64)
    place[pairs] = np.arange(len(pairs))
    passage = vectors_of("passage", pairs)
    found = []
    for kind, name in enumerate(KINDS[:4]):
        queries = data.of_kind[pairs, kind]
        queries = queries[queries >= 0]
        if len(queries):
            right = torch.from_numpy(place[data.query_pair[queries]]).to(DEVICE)
            found.append(f"{name} {ndcg(vectors_of('query', queries), passage, right):.1f}")
    return "held out: " + ", ".join(found)


def load_targets(options):
    """[(weight of KL, query vectors, passage vectors)], f16 on the device."""
    targets = []
    for name, share in ((options.targets, options.kl), (options.second_targets, options.second_kl)):
        if name:
            saved = torch.load(options.data / f"vectors-{name}.pt", map_location=DEVICE)
            targets.append((share, saved["query"], saved["passage"]))
    return targets


def run(data, options, weights, vectors_of, save, can_round):
    """The loop that all stages share. `vectors_of(weights, kind, chosen)` encodes; `save(weights)` writes the checkpoint."""
    targets = load_targets(options)
    mix = np.array([float(share) for share in options.mix.split(",")])
    batches = data.batches(options.seed, options.batch, options.group, options.neighbours, options.cluster, mix, options.hard)
    matrices = [values.requires_grad_() for values in weights.values() if values.dim() == 2]
    small = [values.requires_grad_() for values in weights.values() if values.dim() != 2]
    groups = [{"params": matrices, "weight_decay": options.decay}, {"params": small, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW([group for group in groups if group["params"]], lr=options.rate, betas=(0.9, 0.98), fused=DEVICE == "cuda")
    began = saved = checked = time.time()
    said, step = 0.0, 0
    while True:
        elapsed = time.time() - began
        progress = max(elapsed / options.seconds, step / options.steps if options.steps else 0)
        if progress >= 1:
            break
        rate = options.rate * min(1, progress / 0.04 + 0.02) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimiser.param_groups:
            group["lr"] = rate
        rounding = can_round and progress >= options.round_from
        queries, passages = next(batches)
        used = rounded_weights(weights) if rounding else weights
        query, passage = vectors_of(used, "query", queries), vectors_of(used, "passage", passages)
        at_query, at_passage = torch.from_numpy(queries).to(DEVICE), torch.from_numpy(passages).long().to(DEVICE)
        with torch.no_grad():
            drawn = [(share, q[at_query].float(), p[at_passage].float()) for share, q, p in targets]
            owner = torch.from_numpy(data.query_text[queries]).to(DEVICE)
            same = torch.zeros(len(queries), len(passages), dtype=torch.bool, device=DEVICE)
            same[:, : len(queries)] = owner[:, None] == owner[None, :]
            # The same pair as a mined column, or a passage the teacher takes for a copy.
            same |= at_passage[: len(queries), None] == at_passage[None, :]
            if drawn:
                same |= drawn[0][2][: len(queries)] @ drawn[0][2].T > COPY
            same[torch.arange(len(queries)), torch.arange(len(queries))] = False
        loss, parts = losses(query, passage, drawn, same, options)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), options.clip)
        optimiser.step()
        step += 1
        now = time.time()
        if now - said > options.say:
            said = now
            current = float(loss.detach())
            shown = " ".join(f"{name} {float(value.detach()):.3f}" for name, value in parts.items())
            print(f"{elapsed:6.1f} s step {step} loss {current:.4f} {shown} rate {rate:.1e}{' 4-bit' if rounding else ''}", flush=True)
            if not math.isfinite(current):
                raise SystemExit("the loss is not finite")
        if now - checked > options.check:
            print("   " + check(data, lambda kind, chosen: vectors_of(used, kind, chosen)), flush=True)
            checked = time.time()
        if now - saved > 60:
            save(weights)
            saved = time.time()
    with torch.no_grad():
        final = rounded_weights(weights) if can_round else weights
    if DEVICE == "cuda":
        print(f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB of GPU memory at most")
    print(f"{step} steps; " + check(data, lambda kind, chosen: vectors_of(final, kind, chosen)), flush=True)
    save(weights)


def numpy_of(weights):
    return {name: values.detach().float().cpu().numpy() for name, values in weights.items()}


def stage_vectors(options):
    """The teacher's vectors of everything, as f16."""
    target = options.data / f"vectors-{options.name}.pt"
    if target.exists():
        print("already there")
        return
    began = time.time()
    weights = load_encoder(options.model)
    cut = len(weights["tokens.weight"]) == len((options.data / "vocabulary_cut.txt").read_text(encoding="utf-8").splitlines())
    data = Data(options.data, "cut" if cut else "full")
    query_texts, passage_texts = data.texts()
    saved = {}
    with torch.no_grad():
        for kind, texts in (("query", query_texts), ("passage", passage_texts)):
            parts = []
            for at in range(0, len(texts.lengths), 65_536):
                chosen = np.arange(at, min(at + 65_536, len(texts.lengths)))
                parts.append(encode(weights, layer_count(weights), texts, chosen).half())
            saved[kind] = torch.cat(parts)
        pairs_of = {"query": saved["query"], "passage": saved["passage"]}
        print(check(data, lambda kind, chosen: pairs_of[kind][torch.from_numpy(chosen).to(DEVICE)].float()))
    torch.save(saved, target)
    print(f"{time.time() - began:.1f} s, {[tuple(values.shape) for values in saved.values()]}", flush=True)


def encoder_of(data, layers):
    texts = dict(zip(("query", "passage"), data.texts()))
    return lambda weights, kind, chosen: encode(weights, layers, texts[kind], chosen)


def stage_teacher(options):
    data = Data(options.data, "full")
    weights = load_encoder(options.init)

    def save(weights):
        save_parts(options.out, {name: values.astype(np.float16) for name, values in numpy_of(weights).items()})

    run(data, options, weights, encoder_of(data, layer_count(weights)), save, can_round=False)


def cut_encoder(weights, layers, vocabulary, pieces):
    """The chosen layers and token rows of an encoder."""
    row = {piece: at for at, piece in enumerate(vocabulary)}
    kept = {name: values for name, values in weights.items() if not name[0].isdigit()}
    kept["tokens.weight"] = weights["tokens.weight"][[row[piece] for piece in pieces]].clone()
    for new, old in enumerate(layers):
        for name, values in weights.items():
            if name.startswith(f"{old}."):
                kept[f"{new}." + name.split(".", 1)[1]] = values.clone()
    return kept


def stage_student(options):
    data = Data(options.data, "cut")
    pieces = (options.data / "vocabulary_cut.txt").read_text(encoding="utf-8").splitlines()
    weights = load_encoder(options.init)
    if not str(options.init).endswith(".npz"):
        vocabulary = options.vocabulary.read_text(encoding="utf-8").splitlines()
        weights = cut_encoder(weights, [int(layer) for layer in options.layers.split(",")], vocabulary, pieces)
    layers = layer_count(weights)
    description = {"kind": "transformer", "layers": layers, "heads": HEADS, "pieces": pieces}

    def save(weights):
        values = numpy_of(weights)
        matrices = {name: value for name, value in values.items() if value.ndim == 2}
        save_quantised(options.out, matrices, {name: value for name, value in values.items() if value.ndim != 2}, description)

    run(data, options, weights, encoder_of(data, layers), save, can_round=True)


def stage_static(options):
    from reference import CLASS_OF, Model

    data = Data(options.data, options.tokens)
    data.leave_out(options.without)
    start = Model(options.init)
    vocabulary = (options.data / f"vocabulary_{options.tokens}.txt").read_text(encoding="utf-8").splitlines()
    words = vocabulary[len(options.vocabulary.read_text(encoding="utf-8").splitlines()) :]
    pieces = list(start.ids) + words
    ids = {piece: at for at, piece in enumerate(pieces)}
    row_of = np.array([-1 if len(piece) == 1 and CLASS_OF.get(piece) == "punctuation" else ids.get(piece, -1) for piece in vocabulary])
    table = start.rows.astype(np.float32) * start.scales.astype(np.float32)[:, None]
    # A word starts as the sum of its pieces: nothing changes until it is trained.
    table = np.concatenate([table, [table[start.word_pieces(word)].sum(axis=0) for word in words]]) if words else table
    table *= 0.05 / np.sqrt((table**2).mean())
    weights = {"rows": torch.from_numpy(table).to(DEVICE)}
    texts = {"query": Texts(*static_texts(data.query_tokens, row_of)), "passage": Texts(*static_texts(data.passage_tokens, row_of))}

    def save(weights):
        save_quantised(options.out, numpy_of(weights), {}, {"kind": "static", "pieces": pieces})

    run(data, options, weights, lambda weights, kind, chosen: encode_static(weights["rows"], texts[kind], chosen), save, can_round=True)


def main():
    top = argparse.ArgumentParser()
    stages = top.add_subparsers(dest="stage", required=True)

    def stage(name, run_stage, **defaults):
        arguments = stages.add_parser(name)
        arguments.add_argument("data", type=Path)
        arguments.add_argument("--vocabulary", type=Path, help="the teacher's vocab.txt")
        arguments.set_defaults(run_stage=run_stage)
        if name == "vectors":
            arguments.add_argument("--model", type=Path, required=True)
            arguments.add_argument("--name", required=True)
            return
        arguments.add_argument("--init", type=Path, required=True)
        arguments.add_argument("--out", type=Path, required=True)
        arguments.add_argument("--targets", help="name of the vectors to learn from", default="")
        arguments.add_argument("--second-targets", default="")
        arguments.add_argument("--layers", default="0,1,2,3,4,5", help="which of the starting model's layers a student keeps")
        arguments.add_argument("--mix", default="0.35,0.40,0.12,0.15,0.15", help="shares of the kinds of queries: " + ", ".join(KINDS))
        settings = dict(
            seconds=300.0, steps=0, batch=4096, group=1024, neighbours=3, cluster=64, hard=0, seed=1, contrastive=1.0, kl=1.0, second_kl=0.0, cosine=0.0,
            rate=6e-4, decay=0.01, clip=1.0, round_from=0.6, say=5.0, check=60.0,
            without="",
        )
        settings.update(defaults)
        for key, value in settings.items():
            arguments.add_argument("--" + key.replace("_", "-"), type=type(value), default=value)

    stage("vectors", stage_vectors)
    stage("teacher", stage_teacher, rate=2e-4, kl=0.4, cosine=0.4)
    stage("student", stage_student, cosine=2.0)
    stage("static", stage_static, tokens="static", batch=8192, hard=1, rate=1e-2, decay=0.0)
    options = top.parse_args()
    # It would make a plan for every length of a batch, which takes longer than the batch.
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    print(json.dumps({key: str(value) for key, value in vars(options).items() if key != "run_stage"}), flush=True)
    if getattr(options, "out", None):
        options.out.parent.mkdir(parents=True, exist_ok=True)
    options.run_stage(options)


if __name__ == "__main__":
    main()
