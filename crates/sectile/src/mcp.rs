//! The MCP surface: tool tables, the call pipeline, policies, and the transports. The only module that knows rmcp.
//!
//! Read `pipeline.rs` first: it is the life of a call. A world hands in a [`WorldSpec`] (its table) and its state; what
//! comes out is a [`Surface`], which the transports serve without knowing the world.

mod arguments;
mod caller;
mod completion;
mod connection;
mod context;
mod error;
mod error_text;
#[cfg(debug_assertions)]
pub mod fault;
pub mod http;
mod in_flight;
mod listing;
mod message;
mod naming;
mod observer;
mod pipeline;
pub mod policy;
mod prompt;
mod question;
mod resource;
mod schema;
mod server;
mod shares;
pub mod stdio;
mod structured;
mod surface;
mod tool;

pub use self::{
    caller::Progress,
    completion::{Completer, CompletionReference, CompletionRequest},
    connection::Connection,
    context::CallContext,
    error::{
        Detail, Envelope, ErrorCard, ErrorList, Failure, FailureKind, Refused, Said, frame_errors,
    },
    error_text::{
        MAX_MESSAGE_CHARS, MAX_OFFERED, Offer, may_be_repeated, nearest, nearest_paths, quoted,
        told, visible,
    },
    listing::CacheHint,
    observer::{CallRecord, Observer, Unobserved},
    policy::Policy,
    prompt::{Prompt, PromptArgument},
    question::Confirmation,
    resource::{Resource, ResourceNotice, ResourceTemplate, ResourceText, Resources},
    schema::{JsonObject, input_schema, output_schema},
    surface::{
        Limits, RefusalObject, Surface, ToolCard, UnknownTool, WorldCard, WorldSpec, fixed_part,
    },
    tool::{Access, Answer, Awaited, Facts, Handler, Pace, Tool, decode, run},
};
