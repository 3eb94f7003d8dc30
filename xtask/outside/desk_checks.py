"""The desk: list, search, fetch, edit, conflict, undo, as a host does it."""

import json

import anyio

from checks import INVALID_PARAMS, expect, only_text, refused

TOOLS = ["search", "fetch", "outline", "links", "changes", "create", "edit", "set_fields", "rename", "delete", "undo"]
READING = TOOLS[:5]
NEW = "inbox/harbour.md"
TEXT = "# Harbour\n\nThe quay needs paint.\n\n## Budget\n\nForty euros for ropes, see [[example]].\n"


async def ask(client, tool, **arguments):
    """The answer to a call, which has to be the same as text and as structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, f"{tool}: {result!r}"
    answer = json.loads(only_text(result))
    assert result.structured_content == answer, f"{tool}: {result!r}"
    return answer


async def read(client, **arguments):
    """The head line and the text that `fetch` answers, which are text alone."""
    result = await client.call_tool("fetch", arguments)
    assert not result.is_error and result.structured_content is None, f"fetch: {result!r}"
    return only_text(result).split("\n", 1)


async def fails(client, check, code, tool, **arguments):
    """Check that a call is refused with this code and says what to do next. Returns its text."""
    result = await client.call_tool(tool, arguments)
    text = only_text(result)
    is_it = result.is_error and result.structured_content is None and text.startswith(f"{code}: ")
    expect(check, is_it and len(text.splitlines()) >= 2, result)
    return text


def base_of(head):
    """The base in a head line."""
    return head.split("| base ")[1].split(" ")[0]


async def check_list(client):
    listed = (await client.list_tools()).tools
    expect("the eleven tools are listed in their order", [tool.name for tool in listed] == TOOLS, listed)
    reading = [tool.name for tool in listed if tool.annotations.read_only_hint]
    expect("the first five only read", reading == READING, reading)
    seen = json.dumps([[tool.name, tool.description, tool.input_schema] for tool in listed], separators=(",", ":"), ensure_ascii=False)
    expect("the list is short", len(seen.encode()) <= 8000, len(seen))


async def check_walk(client, note):
    made = await ask(client, "create", path=NEW, text=TEXT, fields={"status": "open"})
    expect("a note is created", made["id"] == NEW and made["change"], made)
    found = await ask(client, "search", query="budget for ropes status:open")
    first = found["results"][0]
    expect("it is found at once", first["id"].startswith(f"{NEW}#budget-") and first["url"], found)
    head, text = await read(client, id=first["id"])
    expect("its section is fetched as it is", text == TEXT[TEXT.index("## Budget") :], text)
    base = base_of(head)
    links = await ask(client, "links", id=NEW, direction="out")
    expect("its link is resolved", links["links"][0]["to"] == note, links)
    edited = await ask(client, "edit", id=first["id"], old="Forty", new="Fifty", base=base)
    expect("a passage is edited", "+Fifty euros" in edited["diff"], edited)
    again = await ask(client, "search", query='"Fifty euros"')
    expect("the next search sees it", again["results"][0]["id"] == first["id"], again)
    stale = dict(id=first["id"], new="Sixty euros for ropes.", base=base)
    text = await fails(client, "a stale base is a conflict with both texts", "conflict", "edit", **stale)
    expect("both texts are there", "Sixty euros" in text and "Fifty euros" in text, text)
    undone = await ask(client, "undo", change=edited["change"])
    _, text = await read(client, id=first["id"])
    expect("the edit is undone", "Forty euros" in text and undone["change"], text)
    await ask(client, "undo", change=undone["change"])
    _, text = await read(client, id=first["id"])
    expect("undoing that is redo", "Fifty euros" in text, text)
    await ask(client, "set_fields", id=NEW, set={"status": "done"})
    found = await ask(client, "search", query="status:done")
    expect("a field is set and found", [one["id"] for one in found["results"]] == [NEW], found)
    renamed = await ask(client, "rename", id=NEW, to="inbox/quay.md")
    expect("a note is renamed", renamed["id"] == "inbox/quay.md", renamed)
    rows = (await ask(client, "outline", id="inbox/"))["items"]
    expect("the outline shows the new name", "inbox/quay.md" in [row["id"] for row in rows], rows)
    changes = (await ask(client, "changes", id="inbox/quay.md"))["changes"]
    expect("the history is whole", {"rename", "set_fields", "undo", "edit"} <= {one["tool"] for one in changes}, changes)
    head, _ = await read(client, id="inbox/quay.md")
    await ask(client, "delete", id="inbox/quay.md", base=base_of(head))
    await fails(client, "what is deleted is not there", "not_found", "fetch", id="inbox/quay.md")


async def check_refusals(client, note):
    await fails(client, "an unknown name is refused", "not_found", "fetch", id="inbox/exampel.md")
    await fails(client, "an unknown argument is refused", "invalid_arguments", "search", query="x", limits=3)
    await fails(client, "a path that escapes is refused", "malformed_id", "fetch", id="../outside.md")
    code, message, _ = await refused(client.call_tool("no_such_tool", {"query": "x"}))
    expect("an unknown tool is refused", code == INVALID_PARAMS, (code, message))


async def check_parallel(client):
    answers = set()

    async def call():
        answers.add(only_text(await client.call_tool("search", {"query": "example"})))

    async with anyio.create_task_group() as tasks:
        for _ in range(16):
            tasks.start_soon(call)
    expect("the same question gives the same bytes", len(answers) == 1, answers)


async def check(connect, era, note, sentinels):
    async with connect() as client:
        expect("the instructions are for this folder", "What is here" in (client.instructions or ""), client.instructions)
        await check_list(client)
        await check_walk(client, note)
        await check_refusals(client, note)
        await check_parallel(client)
