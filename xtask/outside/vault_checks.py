"""The vault world: four tools that give structure without text."""

import json

import anyio
from mcp_types import PromptReference

from checks import INVALID_PARAMS, METHOD_NOT_FOUND, VERSIONS, expect, only_text, refused, report

ERROR_CODE = "RUNTIME_ERROR"
TOOLS = ["get_document_tree", "get_metadata_facets", "get_note_outline", "get_section_source"]
UNSAFE_PATHS = ["../outside.md", "/etc/passwd", "inbox/../../outside.md", "a\0b"]


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
            await check_error(client, f"{tool}: refuses {path!r}", tool, {"path": path}, ERROR_CODE)
        await check_error(client, f"{tool}: refuses a missing path", tool, {})
        await check_error(client, f"{tool}: refuses a path that is no string", tool, {"path": 7})
        await check_error(client, f"{tool}: refuses an unknown argument", tool, {"path": note, "extra": True})

    code, message, _ = await refused(client.call_tool("no_such_tool", {"path": note}))
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
        code, message, _ = await refused(request())
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


async def check(connect, era, note, sentinels):
    async with connect() as client:
        capabilities = client.server_capabilities
        declared = [name for name, value in capabilities.model_dump(exclude_none=True).items() if value is not None]
        expect("only tools are declared", declared == ["tools"], declared)
        await check_listing(client)
        await check_calls(client, note, sentinels)
        await check_refusals(client, note)
        await check_parallel(client, note)
