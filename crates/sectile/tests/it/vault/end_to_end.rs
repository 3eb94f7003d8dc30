//! End-to-end tier: a real MCP client against the real binary.
