//! Sectile: Markdown for AI agents, one section at a time, over MCP.
//!
//! [`cli`] is the program. `sectile-mcp` is the frame; the worlds hang on it. Each reads notes through `sectile-vault` and
//! `sectile-library` and understands them through `sectile-markdown`.

pub mod cli;
mod config;
mod files;
mod settings;
mod telemetry;
mod worlds;

pub use sectile_mcp as mcp;
pub use sectile_mcp::{access, observe};
