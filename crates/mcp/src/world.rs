//! The parts of a world (tools, prompts, resources, skills and their schemas) and the surface that serves them.

pub(crate) mod app;
pub(crate) mod completion;
pub(crate) mod console;
pub(crate) mod content;
pub(crate) mod listing;
pub(crate) mod naming;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod schema;
pub(crate) mod skill;
pub(crate) mod state;
pub(crate) mod surface;
pub(crate) mod tool;
