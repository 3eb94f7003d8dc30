"""How fast ONNX Runtime is, with 32-bit floats and one thread, on the shape of a packed transformer or of all-MiniLM-L6-v2. The yardstick for Sectile's own encoder.

    python onnx_yardstick.py [MODEL.bin] [--layers N] [--minilm] [--tokens 128] --seconds N    # prints JSON, a line for one document at a time and one for batches of 8
    python onnx_yardstick.py [MODEL.bin] [--layers N] [--minilm] [--tokens 128]                # takes turns as told

Taking turns: prints `ready` after a warm-up. For each line `run MILLISECONDS BATCH` on its input it encodes batches of so many documents until the time is over, and prints
how many documents that were and how many nanoseconds it took: `DOCUMENTS NANOSECONDS`. It ends with its input. So another program can let both sides work by turns.

--layers takes the first N layers of MODEL.bin (sectile-transformer-1.bin). --minilm is 6 layers with 30,522 pieces and random weights: speed does not hang on the values.
A document is --tokens random tokens, so nothing is padded and there is no mask; that is the least work for ONNX Runtime. --check compares its vectors with the reference's.
Python packages: requirements-bench.txt.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from checkpoints import dequantise
from packed import Packed

MODEL = Path(__file__).parent / "transformer/sectile-transformer-1.bin"
BATCHES = (1, 8)
# Gelu came with opset 20.
OPSET = 20


def packed_tensors(path):
    packed = Packed(path)
    tensors = {name: dequantise(*values) if isinstance(values, tuple) else values.astype(np.float32) for name, values in packed.tensors.items()}
    return tensors, packed.layers, packed.heads


def random_tensors(pieces=30_522, width=384, inner=1536, positions=128, layers=6):
    rng = np.random.default_rng(1)

    def matrix(rows, columns):
        return rng.normal(0, 0.04, (rows, columns)).astype(np.float32)

    tensors = {"tokens.weight": matrix(pieces, width), "positions.weight": matrix(positions, width)}
    norms = ["tokens_norm"]
    for layer in range(layers):
        shapes = {"query": (width, width), "key": (width, width), "value": (width, width), "attention_output": (width, width), "inner": (inner, width), "outer": (width, inner)}
        for name, shape in shapes.items():
            tensors[f"{layer}.{name}.weight"] = matrix(*shape)
            tensors[f"{layer}.{name}.bias"] = np.zeros(shape[0], np.float32)
        norms += [f"{layer}.attention_norm", f"{layer}.outer_norm"]
    for name in norms:
        tensors[name + ".weight"], tensors[name + ".bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)
    return tensors, layers, 12


class Graph:
    """Nodes and constants under construction; each method returns the name of what it makes."""

    def __init__(self, tensors):
        self.tensors, self.nodes, self.constants = tensors, [], {}

    def constant(self, name, values):
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name + "_node", **attributes))
        return name

    def linear(self, x, name):
        weight = self.constant(name + ".weight", self.tensors[name + ".weight"].T)
        return self.node("Add", self.node("MatMul", x, weight), self.constant(name + ".bias", self.tensors[name + ".bias"]))

    def norm(self, x, name):
        parts = [self.constant(f"{name}.{part}", self.tensors[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self.node("LayerNormalization", x, *parts, axis=-1, epsilon=1e-12)

    def attention(self, x, layer, heads, width):
        split = self.constant("split", np.array([0, 0, heads, width // heads], np.int64))
        joined = self.constant("joined", np.array([0, 0, width], np.int64))
        query, key, value = (self.node("Reshape", self.linear(x, f"{layer}.{name}"), split) for name in ("query", "key", "value"))
        query, value = (self.node("Transpose", part, perm=[0, 2, 1, 3]) for part in (query, value))
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 2, 3, 1]))
        scores = self.node("Mul", scores, self.constant("scale", np.array(1 / np.sqrt(width // heads), np.float32)))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        mixed = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
        return self.norm(self.node("Add", x, self.linear(mixed, f"{layer}.attention_output")), f"{layer}.attention_norm")


def build(tensors, layers, heads, tokens):
    """The model as bytes: `ids` (batch, tokens) to unit vectors."""
    graph = Graph(tensors)
    width = tensors["tokens.weight"].shape[1]
    x = graph.node("Gather", graph.constant("tokens", tensors["tokens.weight"]), "ids", axis=0)
    x = graph.norm(graph.node("Add", x, graph.constant("positions", tensors["positions.weight"][:tokens])), "tokens_norm")
    for layer in range(layers):
        x = graph.attention(x, layer, heads, width)
        x = graph.norm(graph.node("Add", x, graph.linear(graph.node("Gelu", graph.linear(x, f"{layer}.inner")), f"{layer}.outer")), f"{layer}.outer_norm")
    mean = graph.node("ReduceMean", x, graph.constant("place", np.array([1], np.int64)), keepdims=0)
    length = graph.node("ReduceL2", mean, graph.constant("value", np.array([1], np.int64)), keepdims=1)
    graph.nodes.append(helper.make_node("Div", [mean, length], ["vectors"], name="unit"))
    made = helper.make_graph(
        graph.nodes, "encoder",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", tokens])],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", width])],
        list(graph.constants.values()),
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10).SerializeToString()


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def measure(session, ids, batch, nanoseconds):
    """Documents encoded and the nanoseconds it took, at least so many."""
    done, began = 0, time.perf_counter_ns()
    while True:
        at = done % (len(ids) - batch + 1)
        session.run(["vectors"], {"ids": ids[at : at + batch]})
        done += batch
        spent = time.perf_counter_ns() - began
        if spent >= nanoseconds:
            return done, spent


def check(session, path, layers, ids):
    """The least cosine between ONNX Runtime's vectors and the reference's, in batches of both sizes."""
    from reference_transformer import Transformer

    model = Transformer.read(path)
    model.layers = layers
    wanted = np.array([model.vector_of(row) for row in ids])
    found = np.concatenate([session.run(["vectors"], {"ids": ids[:1]})[0], session.run(["vectors"], {"ids": ids[1:]})[0]])
    return float((wanted * found).sum(axis=1).min())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("model", type=Path, nargs="?", default=MODEL)
    arguments.add_argument("--layers", type=int, help="only the first so many")
    arguments.add_argument("--minilm", action="store_true", help="the shape of all-MiniLM-L6-v2 instead of MODEL's")
    arguments.add_argument("--tokens", type=int, default=128)
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    tensors, layers, heads = random_tensors() if options.minilm else packed_tensors(options.model)
    layers = min(layers, options.layers or layers)
    session = session_of(build(tensors, layers, heads, options.tokens))
    ids = np.random.default_rng(2).integers(4, len(tensors["tokens.weight"]), (64, options.tokens), dtype=np.int64)
    if options.check and not options.minilm:
        print(f"least cosine {check(session, options.model, layers, ids[:9]):.7f}")
        return
    for batch in BATCHES:
        measure(session, ids, batch, 300_000_000)
    if options.seconds:
        for batch in BATCHES:
            documents, spent = measure(session, ids, batch, int(options.seconds * 1e9))
            found = {"docs_per_second": round(documents * 1e9 / spent, 2), "batch": batch, "tokens": options.tokens, "layers": layers}
            print(json.dumps(found | {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__}), flush=True)
        return
    print("ready", flush=True)
    for line in sys.stdin:
        word, *numbers = line.split() or [""]
        if word != "run" or len(numbers) != 2:
            raise SystemExit("a line must be: run MILLISECONDS BATCH")
        documents, spent = measure(session, ids, int(numbers[1]), int(numbers[0]) * 1_000_000)
        print(documents, spent, flush=True)


if __name__ == "__main__":
    main()
