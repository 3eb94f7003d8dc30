"""The notebook world: a walk from the list of collections to the provenance of a quote, on a folder of notes.

Usage: notebook_checks.py PROGRAM
Makes a library in a temporary folder, walks through it in both eras and prints the transcripts. As a part of client.py
the transcript goes to standard error.
"""

import contextlib
import functools
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import anyio
from mcp import Client, StdioServerParameters

from checks import VERSIONS, expect, has_failed, only_text

TOOLS = [
    "begin_result_stream",
    "describe_world",
    "enter_collection",
    "explain_provenance",
    "fetch_passage",
    "list_artifact_sets",
    "list_collections",
    "list_constraints",
    "next_stream_chunk",
    "retrieve_artifact",
    "semantic_search",
]
COLLECTION = "garden"
QUERY = "how do I keep blight away from the tomatoes?"
STEPS = ["reference_identifiers", "passages", "dense_sections", "artifact_links", "stream_complete"]
NOTES = {
    "garden/collection.toml": 'title = "Garden log"\ntags = ["garden", "allotment"]\nauthor = "Ada"\n',
    "garden/tomatoes.md": """\
---
title: Tomatoes
author: Ada
date: 2024-03-10
---

# Tomatoes

Two beds, twelve plants, three varieties.

## Watering

Water in the morning and at the root, never over the leaves.

### Blight

Wet leaves overnight brought blight in 2023. Since the plants stand under a roof and are watered from below, there was none.

## Harvest

The first tomatoes were ripe on 14 July. Pick when the shoulders have turned; they ripen fully on the table.
""",
    "garden/2024/summer.md": """\
# Summer 2024

## 2024-06-02

Tied up the tomatoes and took off the lower leaves, so that rain cannot splash soil onto them.

## 2024-07-20

Neighbours lost their potatoes to late blight. Ours are clean; the rows stand wider apart this year – 70 cm.
""",
    "garden/2023/blight-year.md": """\
---
title: The blight year
author: Ada
date: 2023-10-01
---

# The blight year

## What we tried

In June nothing was to be seen. The tomatoes stood in two rows against the shed, forty centimetres apart, and every evening
somebody went over them with the hose because the day had been hot. The leaves were wet when it got dark, and they were
still wet at seven in the morning. Nobody thought about that at the time, and the first fruit looked as good as ever.

In the second week of July there were three days of rain. On the fourth day the lowest leaves had brown patches with a pale
edge, on the fifth the stems. The book calls it late blight and says that it comes from the potatoes next door; the
potatoes next door had been cut down two weeks earlier, so that was probably right. We took off every leaf with a patch,
put them into a sack and burned it. For four days it looked as if that had been enough.

Then it came back on the plants at the end of the row, where the roof of the shed drips. We tried milk and water, one part
to nine, every second day for two weeks. It did nothing that we could see: sprayed plants and plants that were left alone
went at the same speed. Taking off leaves did slow it down, by about a week, but only on plants that were dry at night.

The one plant in the pot under the balcony never had it at all. It got the same water, from the same can, but at the root,
and no rain. That is the whole difference between it and the others, and that is what we go by from now on: a roof, water
from below, and room between the plants so that the wind can dry them.

By the end of August nine of eleven plants were gone. We had picked the green tomatoes on the 12th, wrapped them in paper
and laid them into the cellar. Two thirds of them turned red by October, one third rotted. Next time we will pick them
earlier, as soon as the first stem is brown, because those that rotted had the blight inside already.

What the books say about copper we did not try. It washes off in the rain that brings the blight, it has to be sprayed again
every week, and it stays in the soil. Two neighbours used it and lost their tomatoes ten days after we lost ours.
""",
    "garden/compost.md": """\
# Compost

Turn the heap every three weeks. Diseased plants do not go in: the heap is never hot enough to kill spores.
""",
    "kitchen/bread.md": "# Bread\n\nFeed the starter the evening before, and keep the dough cool overnight.\n",
}
SUMMARY = "# Against blight\n\n- Keep leaves dry: water at the root, in the morning.\n- Take off the lower leaves.\n"


def make_library(root, program):
    """Write the notes, and add an artifact that says what it was made from. What is there already stays."""
    for name, text in NOTES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(text, encoding="utf-8")
    if (root / COLLECTION / "_artifacts").exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        summary = pathlib.Path(folder, "summary.md")
        summary.write_text(SUMMARY, encoding="utf-8")
        command = [program, "notebook", "artifact", "add", root, COLLECTION, "blight", summary, "--type", "summary"]
        command += ["--source", "tomatoes.md", "--source", "2024/summer.md", "--step", "tool=summarise;model=small"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def tree(root):
    """Every file of the library with its bytes."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


class Walk:
    """A client that writes down what it asks and what it is told."""

    def __init__(self, client, root, out):
        self.client = client
        self.root = root
        self.out = out
        self.handle = {}

    def say(self, line):
        print(line, file=self.out)

    async def raw(self, tool, **arguments):
        self.say(f"-> {tool} {json.dumps(arguments, ensure_ascii=False)}")
        return await self.client.call_tool(tool, {**arguments, **self.handle})

    async def ask(self, tool, *shown, **arguments):
        """The answer to a call; of it, what `shown` names is written down."""
        result = await self.raw(tool, **arguments)
        answer = json.loads(only_text(result))
        expect(f"{tool}: answers", not result.is_error, answer)
        expect(f"{tool}: structured content is the text", result.structured_content == answer, result)
        meta = result.meta or {}
        expect(f"{tool}: says that it can be checked", meta.get("provenance_available") is True, meta)
        for path in shown:
            self.say(f"<- {path} = {json.dumps(at(answer, path), ensure_ascii=False)}")
        return answer

    async def fails(self, kind, tool, **arguments):
        """A call that must answer with this type of error."""
        result = await self.raw(tool, **arguments)
        error = json.loads(only_text(result))["error"]
        self.say(f"<- error {error['type']}: {error['message']}")
        expect(f"{tool}: answers {kind}", result.is_error and error["type"] == kind, error)
        return error

    def bytes_of(self, source_id):
        """The bytes that an id names, and the digits that it carries, without any help of the server."""
        path, _, rest = source_id.rpartition("@")
        span, _, digits = rest.partition(":")
        start, end = map(int, span.split("-"))
        return (self.root / path).read_bytes()[start:end], digits

    def check_quote(self, source_id, text, checksum):
        """Hash the file ourselves."""
        quoted, digits = self.bytes_of(source_id)
        digest = hashlib.sha256(quoted).hexdigest()
        holds = quoted == text.encode() and digest == checksum and digest.startswith(digits)
        expect("a quote is what the file says", holds, (source_id, text, checksum))
        return digest


def at(answer, path):
    """The part of an answer that a path such as `results[0].line` names."""
    for step in path.replace("[", ".").replace("]", "").split("."):
        answer = answer[int(step)] if step.isdigit() else answer[step]
    return answer


async def check_start(walk):
    """Before a collection is entered nothing can be read."""
    listed = (await walk.client.list_tools()).tools
    expect("exactly the eleven tools are listed", sorted(tool.name for tool in listed) == TOOLS, listed)
    for tool in listed:
        expect(f"{tool.name}: says that it only reads", tool.annotations.read_only_hint is True, tool)
        expect(f"{tool.name}: says that it changes nothing", (tool.meta or {}).get("mutation") is False, tool)
    await walk.fails("no_collection_context", "semantic_search", query=QUERY)
    collections = (await walk.ask("list_collections"))["collections"]
    for one in collections:
        counts = f"notebooks: {one['notebook_count']}, artifacts: {one['artifact_count']}"
        walk.say(f"<- {one['collection_id']}: {one['title']}, {counts}")
    names = [one["collection_id"] for one in collections]
    expect("both collections are listed", {COLLECTION, "kitchen"} <= set(names), names)


async def enter(walk, era):
    entered = await walk.ask("enter_collection", "title", "context_established", collection_id=COLLECTION)
    handle = entered["context_handle"]
    is_right = (handle is None) == (era == "legacy")
    expect("a handle is given exactly where no connection keeps the collection", is_right, entered)
    if handle is not None:
        await walk.fails("no_collection_context", "semantic_search", query=QUERY)
        walk.handle = {"context_handle": handle}
        walk.say("   (from here on every call carries the context_handle)")


async def search_and_fetch(walk):
    shown = ["results[0].reference_id", "results[0].heading_path", "results[0].scores", "results[0].matched_terms"]
    found = await walk.ask("semantic_search", *shown, query=QUERY, k=3)
    source_id = found["results"][0]["reference_id"]
    expect("the best passage is the one about blight", found["results"][0]["heading_path"][-1] == "Blight", found)
    shown = ["passage.exact_text", "provenance.line", "integrity"]
    fetched = await walk.ask("fetch_passage", *shown, source_id=source_id)
    digest = walk.check_quote(source_id, fetched["passage"]["exact_text"], fetched["integrity"]["checksum"])
    walk.say(f"   (hashed by this script from the file: {digest})")
    return source_id


async def pull(walk):
    """Pull a stream to its end."""
    begun = await walk.ask("begin_result_stream", "metadata.estimated_chunks", "metadata.references", query=QUERY)
    token = {"stream_token": begun["stream_token"]}
    kinds, items = [], []
    more = True
    while more:
        result = await walk.client.call_tool("next_stream_chunk", {**token, **walk.handle})
        chunk = json.loads(only_text(result))
        expect("next_stream_chunk: answers", not result.is_error, chunk)
        kinds.append(chunk["chunk_type"])
        told = chunk.get("stream_metadata")
        told = f"{told['what_changed']} {told['why']}" if told else json.dumps(chunk["summary"])
        walk.say(f"-> next_stream_chunk {{\"stream_token\": ...}}\n<- {chunk['chunk_type']}: {told}")
        items += chunk.get("payload", {}).get("items", [])
        more = chunk["continuation"]["has_more"]
    for item in items:
        if "exact_text" in item:
            walk.check_quote(item["reference_id"], item["exact_text"], item["checksum"])
    expect("the long section is dense", any("hits" in item for item in items), items)
    expect("the four steps come in order, then the end", list(dict.fromkeys(kinds)) == STEPS, kinds)
    counts = (len(kinds) - 1, chunk["summary"]["total_chunks"], begun["metadata"]["estimated_chunks"])
    expect("the number of chunks was exact", len(set(counts)) == 1, counts)
    error = await walk.fails("stream_token_invalid", "next_stream_chunk", **token)
    expect("a finished stream is told apart", error["context"]["reason"] == "finished", error)


async def artifact_and_provenance(walk, source_id):
    sets = await walk.ask("list_artifact_sets", "artifact_sets[0].artifact_ids", "artifact_sets[0].source_notebooks")
    artifact_id = sets["artifact_sets"][0]["artifact_ids"][0]
    shown = ["contents", "status", "synthesis_metadata.staleness_indicator", "disclaimer"]
    artifact = await walk.ask("retrieve_artifact", *shown, artifact_id=artifact_id)
    payload = (walk.root / COLLECTION / "_artifacts" / artifact_id).read_bytes()
    digest = hashlib.sha256(payload).hexdigest()
    same = payload == artifact["contents"].encode() and digest == artifact["integrity"]["checksum"]
    expect("an artifact is what its file says", same, artifact)
    for identifier, kind in [(source_id, "source"), (artifact_id, "artifact")]:
        told = await walk.ask("explain_provenance", id=identifier, id_type=kind)
        for link in told["chain"]:
            walk.say(f"<- {link['level']} {link['name']}: {link['statement']}")
        expect(f"every link holds, of the {kind}", all(link["holds"] for link in told["chain"]), told)
    root = told["chain"][-1]["today"]
    walk.say(f"<- root of the collection = {root}")
    expect("the root is what sha256sum gives", root == root_of(walk.root / COLLECTION), root)


def root_of(collection):
    """The root of a collection, computed as the manual says."""
    notebooks = (path for path in collection.rglob("*.md") if path.relative_to(collection).parts[0] != "_artifacts")
    names = sorted(f"./{path.relative_to(collection).as_posix()}".encode() for path in notebooks)
    digests = [hashlib.sha256((collection / os.fsdecode(name)).read_bytes()).hexdigest() for name in names]
    lines = (digest.encode() + b"  " + name + b"\n" for digest, name in zip(digests, names))
    return hashlib.sha256(b"".join(lines)).hexdigest()


async def check_changes(walk, source_id):
    """A passage that moved, changed or went is never quoted from memory."""
    notebook = walk.root / source_id.rpartition("@")[0]
    before = notebook.read_bytes()
    try:
        notebook.write_bytes(before.replace(b"# Tomatoes\n", b"# Tomatoes\n\nA new line.\n"))
        error = await walk.fails("source_not_found", "fetch_passage", source_id=source_id)
        moved = error["context"]["new_source_id"]
        walk.say(f"<- context = {json.dumps(error['context'])}")
        expect("a passage that moved has a new id for the same text", moved[-16:] == source_id[-16:], error)
        fetched = await walk.ask("fetch_passage", source_id=moved)
        walk.check_quote(moved, fetched["passage"]["exact_text"], fetched["integrity"]["checksum"])
        notebook.write_bytes(before.replace(b"under a roof", b"under a tree"))
        error = await walk.fails("source_not_found", "fetch_passage", source_id=source_id)
        expect("a passage that changed is not quoted", error["context"]["reason"] == "changed", error)
    finally:
        notebook.write_bytes(before)


async def check_refusals(walk, source_id):
    await walk.fails("operation_forbidden", "write_notebook", text="x")
    await walk.fails("source_outside_collection", "fetch_passage", source_id="kitchen/bread.md@0-7:" + "0" * 16)
    error = await walk.fails("ambiguous_request", "semantic_search", query=QUERY, k=51)
    expect("the wrong argument is named", error["context"]["argument"] == "k", error)
    forged = source_id[:-1] + ("0" if source_id[-1] != "0" else "1")
    await walk.fails("source_not_found", "fetch_passage", source_id=forged)


async def walk_through(connect, era, root, out):
    before = tree(root)
    async with connect() as client:
        walk = Walk(client, root, out)
        walk.say(f"# {client.protocol_version}")
        await check_start(walk)
        await enter(walk, era)
        source_id = await search_and_fetch(walk)
        await pull(walk)
        await artifact_and_provenance(walk, source_id)
        await check_changes(walk, source_id)
        await check_refusals(walk, source_id)
    async with connect() as client:
        await Walk(client, root, out).fails("no_collection_context", "fetch_passage", source_id=source_id)
    expect("the library is as it was, byte for byte", tree(root) == before, "it changed")


async def check(connect, era, note, sentinels):
    root = pathlib.Path(note)
    make_library(root, os.environ["PROGRAM"])
    await walk_through(connect, era, root, sys.stderr)


def main(program):
    transcript, reports = sys.stdout, io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(reports):
        root = pathlib.Path(folder, "library")
        make_library(root, program)
        server = StdioServerParameters(command=program, args=["serve", "notebook", str(root)])
        for era in VERSIONS:
            mode = "legacy" if era == "legacy" else "auto"
            connect = functools.partial(Client, server, mode=mode, read_timeout_seconds=30)
            anyio.run(walk_through, connect, era, root, transcript)
    for line in reports.getvalue().splitlines():
        if json.loads(line)["failed"] is not None:
            print(line)
    sys.exit(1 if has_failed() else 0)


if __name__ == "__main__":
    main(sys.argv[1])
