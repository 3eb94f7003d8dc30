"""Ask a server one question, as a client of the Python SDK does, and print the answer.

Usage: ask.py COMMAND...
The command starts a server on stdio for a folder with the note that `cargo xtask dist --check` writes.
"""

import sys

import anyio
from mcp import Client, StdioServerParameters

SECONDS = 60


async def main(command):
    server = StdioServerParameters(command=command[0], args=command[1:])
    with anyio.fail_after(SECONDS):
        async with Client(server, mode="auto", read_timeout_seconds=SECONDS) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert "search" in tools and "undo" in tools, tools
            answer = await client.call_tool("search", {"query": "what does the ferry cost?"})
            assert not answer.is_error, answer
            print(answer.content[0].text)


anyio.run(main, sys.argv[1:])
