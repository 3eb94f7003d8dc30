//! Sectile: Markdown for AI agents, one section at a time, over MCP.
//!
//! [`cli`] is the program. `sectile-mcp` is the framework that the worlds plug into. Each world reads notes through
//! `sectile-vault` and `sectile-library` and parses them with `sectile-markdown`.

pub mod cli;
mod config;
mod files;
mod settings;
mod telemetry;
mod worlds;
