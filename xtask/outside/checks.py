"""How a check is reported: one JSON line each."""

import json

from mcp import MCPError

VERSIONS = {"modern": "2026-07-28", "legacy": "2025-11-25"}
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

failed = False


def report(check, why=None):
    """Say that a check passed, or why it failed."""
    global failed
    failed = failed or why is not None
    print(json.dumps({"check": check, "failed": why}), flush=True)


def expect(check, condition, why):
    """Report `check`, with `why` unless the condition holds."""
    report(check, None if condition else str(why)[:2000])


def has_failed():
    """Whether any check has failed."""
    return failed


async def refused(request):
    """The code, message and data of the protocol error that a request gets, or what it gets instead."""
    try:
        return None, await request, None
    except MCPError as error:
        return error.error.code, error.error.message, error.error.data


def only_text(result):
    """The text of a result that holds nothing but one text block."""
    [block] = result.content
    return block.text
