//! The MCP protocol itself: eras, malformed messages, limits, shutdown.
