"""The hosted world: the tools of the vault world for somebody who signed in, and nothing for anybody else."""

import functools
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import vault_checks
from checks import expect, report


def connector(url, authorization, mode):
    """Connects as whoever has this Authorization header, or as nobody."""
    headers = {"Authorization": authorization} if authorization else {}

    def connect():
        http = httpx2.AsyncClient(headers=headers, timeout=30)
        return Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=30)

    return connect


async def check_refused(check, connect):
    """Nobody comes in this way."""
    try:
        async with connect() as client:
            await client.list_tools()
    except Exception:  # The client says it in its own way; what was refused, and how, is checked below.
        report(check)
        return
    report(check, "somebody without a good token was let in")


async def check(connect, era, note, sentinels, url, mode):
    vault_checks.ERROR_CODE = "UPSTREAM_ERROR"
    await vault_checks.check(connect, era, note, sentinels)
    nobody = functools.partial(connector, url, mode=mode)
    await check_refused("nobody comes in without a token", nobody(authorization=None))
    await check_refused("nobody comes in with a bad token", nobody(authorization=os.environ["AUTHORIZATION"] + "x"))
    async with httpx2.AsyncClient() as http:
        answer = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        expect("the refusal is a 401 with a challenge", answer.status_code == 401, answer.status_code)
        challenge = answer.headers.get("www-authenticate", "")
        expect("the challenge names the metadata", "resource_metadata=" in challenge, challenge)
        place = challenge.split('resource_metadata="')[-1].split('"')[0]
        metadata = (await http.get(place)).json()
        expect("the metadata is of this server", metadata.get("resource") == url, metadata)
