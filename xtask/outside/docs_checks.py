"""The docs world: one tool that searches, and documents as resources."""

import json

import anyio

from checks import INVALID_PARAMS, expect, only_text, refused

TOOL = "sectile_docs_search"


async def search(client, query, **more):
    result = await client.call_tool(TOOL, {"query": query, **more})
    assert not result.is_error, f"an error: {result!r}"
    found = json.loads(only_text(result))
    expect(f"structured content is the text, for {query!r}", result.structured_content == found, result)
    return found


async def check_search(client):
    listed = (await client.list_tools()).tools
    expect("the tool is listed", [tool.name for tool in listed] == [TOOL], listed)
    expect("it says that it only reads", listed[0].annotations.read_only_hint is True, listed)
    overview = await search(client, "")
    roles = [section["doc_role"] for section in overview["sections"]]
    expect("an empty query gives one section per role", roles == ["reasoning", "decision", "ontology", "pattern"], roles)
    found = await search(client, "how do I undo an edit?", max_sections=2, explain=True)
    expect("two sections are found", len(found["sections"]) == 2, found)
    expect("a score is explained", found["sections"][0]["score"]["total"] > 0, found)
    expect("documents of the operator are found", (await search(client, "背景"))["total_matches"] > 0, "nothing")
    nothing = await search(client, "qwrtzpsdfg")
    expect("there is help when nothing fits", nothing["help"]["closest_headings"], nothing)
    for wrong in [{}, {"query": 7}, {"query": "x", "max_sections": 11}, {"query": "x", "extra": 1}]:
        result = await client.call_tool(TOOL, wrong)
        expect(f"refuses {str(wrong)[:40]}", result.is_error and "code" in json.loads(only_text(result)), result)
    long = await search(client, "undo " + " ".join(f"filler{number}" for number in range(99)))
    expect("a long question is answered", long["sections"] and long["dropped_terms"], long)
    code, message, _ = await refused(client.call_tool("no_such_tool", {"query": "x"}))
    expect("an unknown tool is refused", code == INVALID_PARAMS, (code, message))
    return found


async def check_resources(client, found):
    listed = (await client.list_resources()).resources
    expect("the manual is listed", "sectile://docs/recipes" in [str(one.uri) for one in listed], listed)
    expect("every resource has a size and a title", all(one.size and one.title for one in listed), listed)
    for section in found["sections"]:
        [content] = (await client.read_resource(section["uri"])).contents
        expect(f"{section['uri']} holds what was found", section["content"] in content.text, content)
    templates = (await client.list_resource_templates()).resource_templates
    expect("two templates are listed", [one.name for one in templates] == ["document", "section"], templates)
    code, message, _ = await refused(client.read_resource("sectile://docs/nope"))
    expect("an unknown resource is refused", code is not None, (code, message))


async def check_parallel(client):
    answers = set()

    async def call():
        answers.add(only_text(await client.call_tool(TOOL, {"query": "stale hash"})))

    async with anyio.create_task_group() as tasks:
        for _ in range(16):
            tasks.start_soon(call)
    expect("the same question gives the same bytes", len(answers) == 1, answers)


async def check(connect, era, note, sentinels):
    async with connect() as client:
        await check_resources(client, await check_search(client))
        await check_parallel(client)
