//! Sectile: Markdown for AI agents, one section at a time, over MCP.
//!
//! [`cli`] is the program. [`mcp`] is the frame: tool tables, the call pipeline, policies and transports. The worlds hang
//! on it; each reads notes through `sectile-vault` and understands them through `sectile-markdown`.

pub mod access;
pub mod cli;
mod config;
mod files;
pub mod mcp;
mod observe;
mod settings;
mod structure;
mod telemetry;
mod worlds;
