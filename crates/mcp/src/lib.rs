//! The frame: tools as values, the call pipeline, policies, who may call, the transports, the audit log and metrics. The only
//! crate that names rmcp and axum.
//!
//! Read `pipeline.rs` first: it is the life of a call. A world hands in a [`WorldSpec`] (its table) and its state; what
//! comes out is a [`Surface`], which the transports serve without knowing the world.

pub mod access;
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
pub mod observe;
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
    naming::{names_tool, texts_without},
    observer::{CallRecord, Observer, Unobserved},
    policy::Policy,
    prompt::{Prompt, PromptArgument},
    question::Confirmation,
    resource::{Resource, ResourceNotice, ResourceTemplate, ResourceText, Resources},
    schema::{JsonObject, input_schema, output_schema},
    surface::{
        LazySchema, Limits, RefusalObject, Surface, ToolCard, UnknownTool, WorldCard, WorldSpec,
        fixed_part,
    },
    tool::{Access, Answer, Awaited, Facts, Handler, Pace, Schema, Tool, ToolBuilder, decode},
};
