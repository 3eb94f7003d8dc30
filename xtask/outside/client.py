"""Exercise a server with the Python SDK's client; print one JSON line per check.

Usage: client.py WORLD ERA NOTE SENTINELS TARGET...
TARGET is a URL, or the command line of a stdio server. NOTE is the document to work with; it is empty where the server
serves a single one, and the folder that is served for the notebook world, which also needs the program in the environment
variable PROGRAM. The hosted world needs the header of a signed-in user in AUTHORIZATION. SENTINELS are texts, joined by commas, that no answer of the vault world may hold.
"""

import functools
import os
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import Implementation

import desk_checks
import docs_checks
import editor_checks
import hosted_checks
import notebook_checks
import vault_checks
from checks import VERSIONS, expect, has_failed

WORLDS = {
    "vault": vault_checks.check,
    "desk": desk_checks.check,
    "editor": editor_checks.check,
    "docs": docs_checks.check,
    "notebook": notebook_checks.check,
}
SECONDS = 100
# A host that says who it is: under the SDK's own name, errors of the editor world come as results.
NAMED = Implementation(name="sectile-checks", version="1")


async def main(world, era, note, sentinels, target):
    server = target[0]
    mode = "legacy" if era == "legacy" else "auto"
    if world == "hosted":
        connect = hosted_checks.connector(server, os.environ["AUTHORIZATION"], mode)
        check = functools.partial(hosted_checks.check, url=server, mode=mode)
        return await exercise(connect, check, era, note, sentinels)
    if not server.startswith("http://"):
        server = StdioServerParameters(command=target[0], args=target[1:])
    connect = functools.partial(Client, server, mode=mode, read_timeout_seconds=30, client_info=NAMED)
    await exercise(connect, WORLDS[world], era, note, sentinels)


async def exercise(connect, check, era, note, sentinels):
    with anyio.fail_after(SECONDS):
        async with connect() as client:
            expect("the era is the wanted one", client.protocol_version == VERSIONS[era], client.protocol_version)
            info = client.server_info
            expect("the server gives its name", info is not None and info.name == "sectile", info)
        await check(connect, era, note, sentinels)


if __name__ == "__main__":
    world, era, note, sentinels, *target = sys.argv[1:]
    anyio.run(main, world, era, note, sentinels.split(","), target)
    sys.exit(1 if has_failed() else 0)
