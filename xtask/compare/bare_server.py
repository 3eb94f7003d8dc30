"""A FastMCP server on stdio with one tool that does nothing."""

from fastmcp import FastMCP

server = FastMCP("bare")


@server.tool
def nothing() -> str:
    """Does nothing."""
    return ""


server.run(show_banner=False)
