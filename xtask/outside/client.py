"""Exercise the server with the Python SDK's client; print one JSON line per check.

Usage: client.py ERA NOTE SENTINELS TARGET...
TARGET is a URL, or the command line of a stdio server. SENTINELS are texts, joined by commas, that no answer may hold.
"""

import json
import sys

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import PromptReference

TOOLS = ["get_document_tree", "get_metadata_facets", "get_note_outline", "get_section_source"]
VERSIONS = {"modern": "2026-07-28", "legacy": "2025-11-25"}
UNSAFE_PATHS = ["../outside.md", "/etc/passwd", "inbox/../../outside.md", "a\0b"]
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
SECONDS = 60

failed = False


def report(check, why=None):
    """Say that a check passed, or why it failed."""
    global failed
    failed = failed or why is not None
    print(json.dumps({"check": check, "failed": why}), flush=True)


def expect(check, condition, why):
    """Report `check`, with `why` unless the condition holds."""
    report(check, None if condition else str(why)[:2000])


async def refused(request):
    """The code and message of the protocol error that a request gets, or what it gets instead."""
    try:
        return None, await request
    except MCPError as error:
        return error.error.code, error.error.message


def only_text(result):
    """The text of a result that holds nothing but one text block."""
    [block] = result.content
    return block.text


def error_of(result):
    """The JSON object in a tool's error result."""
    assert result.is_error, f"no error: {result!r}"
    found = json.loads(only_text(result))
    assert set(found) >= {"error", "code"}, f"not the world's error: {found!r}"
    return found


async def check_error(client, check, tool, arguments, code=None):
    """A call must answer with the world's own error object, whatever is wrong with it."""
    try:
        found = error_of(await client.call_tool(tool, arguments))
    except Exception as error:  # Any other outcome is a failed check, whatever it is.
        report(check, repr(error))
        return
    echoes = arguments.get("path") in UNSAFE_PATHS and arguments["path"] in found["error"]
    expect(check, (code is None or found["code"] == code) and not echoes, found)


async def check_listing(client):
    listed = (await client.list_tools()).tools
    expect("the four tools are listed", sorted(tool.name for tool in listed) == TOOLS, [tool.name for tool in listed])
    for tool in listed:
        hints = tool.annotations
        expect(f"{tool.name}: has an output schema", tool.output_schema is not None, tool)
        expect(f"{tool.name}: says that it only reads", hints is not None and hints.read_only_hint is True, hints)


async def check_calls(client, note, sentinels):
    for tool in TOOLS:
        for path in [note, "日本語/メモ.md"]:
            result = await client.call_tool(tool, {"path": path})
            check = f"{tool}: answers for {path}"
            if result.is_error:
                report(check, repr(result))
                continue
            text = only_text(result)
            expect(check, json.loads(text)["path"] == path, text)
            same = result.structured_content == json.loads(text)
            expect(f"{tool}: structured content is the text, for {path}", same, result)
            whole = result.model_dump_json()
            found = [sentinel for sentinel in sentinels if sentinel in whole]
            expect(f"{tool}: no text of the note, for {path}", not found, found)


async def check_refusals(client, note):
    for tool in TOOLS:
        for path in [*UNSAFE_PATHS, "inbox/missing.md"]:
            await check_error(client, f"{tool}: refuses {path!r}", tool, {"path": path}, "RUNTIME_ERROR")
        await check_error(client, f"{tool}: refuses a missing path", tool, {})
        await check_error(client, f"{tool}: refuses a path that is no string", tool, {"path": 7})
        await check_error(client, f"{tool}: refuses an unknown argument", tool, {"path": note, "extra": True})

    code, message = await refused(client.call_tool("no_such_tool", {"path": note}))
    expect("an unknown tool is refused", code == INVALID_PARAMS, (code, message))
    undeclared = {
        "resources/list": client.list_resources,
        "resources/templates/list": client.list_resource_templates,
        "resources/read": lambda: client.read_resource("file:///inbox/example.md"),
        "prompts/list": client.list_prompts,
        "prompts/get": lambda: client.get_prompt("any"),
        "completion/complete": lambda: client.complete(PromptReference(name="any"), {"name": "a", "value": "b"}),
    }
    if client.protocol_version == VERSIONS["legacy"]:
        undeclared["logging/setLevel"] = lambda: client.set_logging_level("debug")
    for method, request in undeclared.items():
        code, message = await refused(request())
        expect(f"{method} is not found", code == METHOD_NOT_FOUND, (code, message))


async def check_parallel(client, note):
    answers = []

    async def call(tool):
        answers.append((tool, only_text(await client.call_tool(tool, {"path": note}))))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            for tool in TOOLS:
                tasks.start_soon(call, tool)
    expect("the same question gives the same bytes", len(set(answers)) == len(TOOLS), set(answers))


async def main(era, note, sentinels, target):
    server = target[0]
    if not server.startswith("http://"):
        server = StdioServerParameters(command=target[0], args=target[1:])
    mode = "legacy" if era == "legacy" else "auto"
    with anyio.fail_after(SECONDS):
        async with Client(server, mode=mode, read_timeout_seconds=20) as client:
            expect("the era is the wanted one", client.protocol_version == VERSIONS[era], client.protocol_version)
            info = client.server_info
            expect("the server gives its name", info is not None and info.name == "sectile", info)
            capabilities = client.server_capabilities
            declared = [name for name, value in capabilities.model_dump(exclude_none=True).items() if value is not None]
            expect("only tools are declared", declared == ["tools"], declared)
            await check_listing(client)
            await check_calls(client, note, sentinels.split(","))
            await check_refusals(client, note)
            await check_parallel(client, note)


if __name__ == "__main__":
    era, note, sentinels, *target = sys.argv[1:]
    anyio.run(main, era, note, sentinels, target)
    sys.exit(1 if failed else 0)
