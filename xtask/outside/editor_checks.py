"""The editor world: the calls of its contract exactly as the contract writes them, and what the contract promises."""

import json
import warnings
from contextlib import AsyncExitStack

import anyio
from mcp import MCPDeprecationWarning
from mcp_types import ElicitResult, PromptReference, ResourceUpdatedNotification

from checks import INVALID_PARAMS, METHOD_NOT_FOUND, expect, only_text, refused, report

# The way to subscribe with a handshake is deprecated, and checked here all the same.
warnings.simplefilter("ignore", MCPDeprecationWarning)

TOOLS = {
    "insert_section",
    "delete_section",
    "update_section",
    "move_section",
    "get_section",
    "list_sections",
    "undo",
    "redo",
    "get_document",
}
READING = {"get_section", "list_sections", "get_document"}
APPLICATION_ERROR = -32000
RESOURCE_NOT_FOUND = {"modern": INVALID_PARAMS, "legacy": -32002}
# More than `editor.confirm_delete_bytes` in the settings that the servers are started with.
LARGE = "A long line of text, many times.\n" * 3000


class Document:
    """A document behind a client, called as the contract does: without naming it, wherever that can be."""

    def __init__(self, client, note):
        self.client = client
        self.note = note
        self.named = {"path": note} if note else {}

    async def open(self):
        """Make the document of a folder the default one, if the connection can remember that."""
        if self.note and (await self.ask("open_document", {"path": self.note}))["is_default"]:
            self.named = {}

    def call(self, tool, arguments=None):
        # An id says by itself which document it is in.
        named = {} if "section_id" in (arguments or {}) else self.named
        return self.client.call_tool(tool, {**(arguments or {}), **named})

    async def ask(self, tool, arguments=None):
        """The answer to a call, which has to be the same as text and as structured content."""
        result = await self.call(tool, arguments)
        answer = json.loads(only_text(result))
        assert not result.is_error and result.structured_content == answer, f"{tool}: {result!r}"
        return answer

    async def says(self, message, tool, arguments=None):
        """Check that a call answers with this message."""
        answer = await self.ask(tool, arguments)
        expect(f"{tool}: says {message!r}", answer["message"] == message, answer)
        return answer

    async def text(self):
        return (await self.ask("get_document"))["document"]

    def uri(self, resource):
        return f"sectile://editor/{resource}" + (f"/{self.note}" if self.note else "")


async def check_listing(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    expect("the contract's tools are listed", TOOLS <= set(listed), sorted(listed))
    for name, tool in listed.items():
        expect(f"{name}: has an output schema", tool.output_schema is not None, tool)
    for name in TOOLS & set(listed):
        hints = listed[name].annotations
        expect(f"{name}: says whether it reads", hints.read_only_hint is (name in READING), hints)
    capabilities = client.server_capabilities.model_dump(exclude_none=True)
    declared = sorted(capabilities)
    expect("what is there is declared", declared == ["completions", "prompts", "resources", "tools"], declared)
    expect("subscriptions are declared", capabilities["resources"].get("subscribe") is True, capabilities)


async def check_contract(document):
    """Every call of the contract, with the fields that it has in the answer."""
    before = await document.text()
    sections = (await document.ask("list_sections"))["sections"]
    shaped = all({"section_id", "heading", "position"} <= set(section) for section in sections)
    positions = [section["position"] for section in sections]
    expect("list_sections: gives ids, headings and positions", shaped and sections, sections)
    expect("list_sections: counts from 0", positions == list(range(len(sections))), positions)

    example = {"heading": "Introduction", "content": "This is the intro.", "position": 0}
    inserted = await document.says("Section inserted.", "insert_section", example)
    named = {"section_id": inserted["section_id"]}
    found = await document.ask("get_section", named)
    read = {key: found[key] for key in example}
    expect("get_section: gives what was inserted", read == example, found)

    await document.says("Section updated.", "update_section", {**named, "content": "Another intro."})
    found = await document.ask("get_section", named)
    expect("update_section: changes the text", found["content"] == "Another intro.", found)
    await document.says("Section moved.", "move_section", {**named, "new_position": len(sections)})
    found = await document.ask("get_section", named)
    expect("move_section: changes the position", found["position"] == len(sections), found)
    await document.says("Undo successful.", "undo")
    found = await document.ask("get_section", named)
    expect("undo: takes the move back", found["position"] == 0, found)
    await document.says("Redo successful.", "redo")
    found = await document.ask("get_section", named)
    expect("redo: makes the move again", found["position"] == len(sections), found)

    await document.says("Section deleted.", "delete_section", named)
    heading = {"heading": "Only once"}
    await document.ask("insert_section", {**heading, "content": "", "position": 0})
    await document.says("Section deleted.", "delete_section", heading)
    after = await document.text()
    expect("get_document: is as before, byte by byte", after == before, after)


async def check_errors(document):
    """The contract's codes, with data that says more."""
    some = (await document.ask("list_sections"))["sections"][0]["section_id"]
    cases = [
        ("an unknown tool", METHOD_NOT_FOUND, "no_such_tool", {}),
        ("missing fields", INVALID_PARAMS, "insert_section", {"heading": "x"}),
        ("a wrong type", INVALID_PARAMS, "insert_section", {"heading": "x", "content": "y", "position": "first"}),
        ("an unknown field", INVALID_PARAMS, "list_sections", {"extra": True}),
        ("a heading with a line break", INVALID_PARAMS, "insert_section", {"heading": "a\nb", "content": "", "position": 0}),
        ("a section that is not there", APPLICATION_ERROR, "get_section", {"section_id": "abc123"}),
        ("a position out of range", APPLICATION_ERROR, "move_section", {"section_id": some, "new_position": 9999}),
        ("text that ends its section", APPLICATION_ERROR, "update_section", {"section_id": some, "content": "# Other"}),
    ]
    for what, expected, tool, arguments in cases:
        code, message, data = await refused(document.call(tool, arguments))
        expect(f"{tool}: {what} gets {expected}", code == expected, (code, message))
        if expected != METHOD_NOT_FOUND:
            explained = isinstance(data, dict) and {"kind", "recovery"} <= set(data)
            expect(f"{tool}: {what} is explained", explained, data)
    code, message, data = await refused(document.call("get_section", {"section_id": "abc123"}))
    seen = message.startswith("Section not found. ") and data["section_id"] == "abc123"
    expect("the contract's example error is answered", seen, (message, data))
    expect("the message says what to do next", message.endswith(data["recovery"]) and len(message) <= 400, message)
    for path in ["../outside.md", "/etc/passwd"] if document.note else []:
        code, message, data = await refused(document.client.call_tool("get_document", {"path": path}))
        is_silent = path not in f"{message}{data}"
        expect(f"get_document: refuses {path}", code == INVALID_PARAMS and is_silent, (code, message, data))


async def check_resources(document, era):
    client = document.client
    listed = [resource.uri for resource in (await client.list_resources()).resources]
    expect("resources/list: has the document", document.uri("document") in listed, listed)
    templates = [template.name for template in (await client.list_resource_templates()).resource_templates]
    wanted = ["document", "history", "metadata"] if document.note else []
    expect("resources/templates/list: is as it should be", templates == wanted, templates)

    async def read(resource):
        [content] = (await client.read_resource(document.uri(resource), cache_mode="bypass")).contents
        return json.loads(content.text)

    found = await read("document")
    expect("document: is the text", found == {"document": await document.text()}, found)
    found = await read("history")
    shaped = all({"operation", "timestamp", "details"} == set(entry) for entry in found["history"])
    expect("history: has the contract's fields", shaped and found["history"], found)
    found = await read("metadata")
    expect("metadata: has the contract's fields", set(found) == {"title", "author", "created", "modified"}, found)
    for uri in [document.uri("document") + "/nothing.md", document.uri("nothing"), "file:///etc/passwd"]:
        code, message, _ = await refused(client.read_resource(uri))
        expect(f"resources/read: {uri} is not found", code == RESOURCE_NOT_FOUND[era], (code, message))


async def check_prompts(document):
    client = document.client
    names = [prompt.name for prompt in (await client.list_prompts()).prompts]
    templates = {
        "summarize_section": ("section_content", "Summarize the following section:\n"),
        "rewrite_section": ("section_content", "Rewrite the following section for clarity and conciseness:\n"),
        "generate_outline": ("document", "Generate an outline for the following document:\n"),
    }
    expect("the contract's prompts are listed", names == list(templates), names)
    for name, (argument, template) in templates.items():
        [message] = (await client.get_prompt(name, {argument: "# A\n\n{b}"})).messages
        expect(f"{name}: fills the contract's template", message.content.text == template + "# A\n\n{b}", message)
    section = (await document.ask("get_section", {"heading": "First"}))["section_id"]
    [message] = (await client.get_prompt("summarize_section", {"section_id": section})).messages
    expect("summarize_section: finds a section by its id", "SENTINEL-BODY" in message.content.text, message)
    code, text, data = await refused(client.get_prompt("no_such_prompt"))
    expect("an unknown prompt is refused", code == INVALID_PARAMS, (code, text, data))
    code, text, data = await refused(client.get_prompt("summarize_section", {"section_id": "abc123"}))
    expect("a prompt about no section is refused", code == APPLICATION_ERROR, (code, text, data))
    if document.note:
        reference = PromptReference(name="generate_outline")
        values = (await client.complete(reference, {"name": "path", "value": document.note[:3]})).completion.values
        expect("a path is completed", document.note in values, values)


async def check_results(connect, note):
    """A host that does not say who it is shows its model no more of an error than the message."""
    async with connect(client_info=None) as client:
        result = await Document(client, note).call("get_section", {"section_id": "abc123"})
    error = json.loads(only_text(result))
    seen = result.is_error and error["code"] == APPLICATION_ERROR and error["data"]["section_id"] == "abc123"
    expect("an error is a result for a host that hides protocol errors", seen, result)


async def check_subscription(connect, era, note):
    """A change is told to whoever subscribed to the document."""
    told = anyio.Event()

    async def hear(message):
        if isinstance(message, ResourceUpdatedNotification) and message.params.uri == document.uri("document"):
            told.set()

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(message_handler=hear))
        document = Document(client, note)
        uri = document.uri("document")
        if era == "legacy":
            await client.subscribe_resource(uri)
            wait = told.wait
        else:
            subscription = await stack.enter_async_context(client.listen(resource_subscriptions=[uri]))
            wait = aiter(subscription).__anext__
        await document.ask("insert_section", {"heading": "News", "content": "", "position": 0})
        with anyio.move_on_after(20) as limit:
            await wait()
        expect("a change of the document is told", not limit.cancelled_caught, "nothing was heard for 20 s")
        await document.ask("undo")


async def check_confirmation(connect, note):
    """A large deletion asks the person at the client, where there is one."""
    questions = []

    def answering(result):
        async def answer(context, params):
            questions.append(params)
            return result

        return answer

    callbacks = {
        "nobody to ask": None,
        "declined": answering(ElicitResult(action="decline")),
        "cancelled": answering(ElicitResult(action="cancel")),
        "not ticked": answering(ElicitResult(action="accept", content={"confirm": False})),
        "accepted": answering(ElicitResult(action="accept", content={"confirm": True})),
    }
    async with connect() as client:
        document = Document(client, note)
        before = await document.text()
        large = await document.ask("insert_section", {"heading": "Large", "content": LARGE, "position": 0})
    for what, callback in callbacks.items():
        questions.clear()
        async with connect(elicitation_callback=callback) as client:
            document = Document(client, note)
            code, said, data = await refused(document.call("delete_section", {"section_id": large["section_id"]}))
            text = await document.text()
        asked = [question.message for question in questions]
        expect(f"a large deletion, {what}: asks once", len(asked) == (0 if callback is None else 1), asked)
        if what == "accepted":
            expect(f"a large deletion, {what}: is done", code is None and text == before, (code, said))
        else:
            is_refused = code == APPLICATION_ERROR and data["kind"] == "not_confirmed" and "# Large\n" in text
            expect(f"a large deletion, {what}: is not done", is_refused, (code, said, data))


async def check(connect, era, note, _sentinels):
    async with connect() as client:
        document = Document(client, note)
        await document.open()
        parts = [
            ("tools/list", lambda: check_listing(client)),
            ("contract", lambda: check_contract(document)),
            ("errors", lambda: check_errors(document)),
            ("resources", lambda: check_resources(document, era)),
            ("results", lambda: check_results(connect, note)),
            ("prompts", lambda: check_prompts(document)),
            ("subscription", lambda: check_subscription(connect, era, note)),
            ("confirmation", lambda: check_confirmation(connect, note)),
        ]
        for name, part in parts:
            try:
                await part()
            except Exception as error:  # A part that ends early is one failed check; the others still run.
                report(name, repr(error)[:2000])
