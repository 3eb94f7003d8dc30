//! The frame: tools as values, the call pipeline, policies, authentication, the transports, the audit log and metrics.
//! The only crate that names rmcp and axum.
//!
//! Start with `call/pipeline.rs`, which follows a call from start to end. A world provides a [`WorldSpec`] (its table)
//! and its state; the result is a [`Surface`], which the transports serve without knowing the world.

pub mod access;
mod call;
pub mod observe;
mod transport;
mod world;

#[cfg(debug_assertions)]
pub use self::call::fault;
pub use self::{
    call::{
        caller::Progress,
        connection::Connection,
        context::CallContext,
        elicitation::{Confirmation, Form, FormReply},
        error::{
            Detail, Envelope, ErrorList, ErrorResponse, ErrorRow, Failure, FailureKind,
            RefusedCall, frame_errors,
        },
        error_text::{
            MAX_MESSAGE_CHARS, MAX_OFFERED, NameOffer, may_be_repeated, nearest, nearest_paths,
            quoted, told, visible,
        },
        observer::{CallRecord, NoObserver, Observer},
        policy::{self, Policy},
    },
    transport::{http, stdio},
    world::{
        app::APP_TYPE,
        completion::{Completer, CompletionReference, CompletionRequest},
        console::{
            CREDENTIAL, Console, ConsoleAsset, ConsoleNotice, ConsolePage, FORM_TOKEN, MenuEntry,
            PageAnswer, PageMethod, PageRequest, SIGN_IN, SIGN_OUT,
        },
        content::{ContentPart, MediaContent},
        listing::CacheHint,
        naming::{names_tool, texts_without},
        prompt::{Prompt, PromptArgument},
        resource::{
            Resource, ResourceContent, ResourceListing, ResourceNotice, ResourceTemplate, Resources,
        },
        schema::{JsonObject, input_schema, output_schema},
        skill::{OpenedSkills, SkillFiles, SkillPurpose, Skills, encoded_path},
        state::CallState,
        surface::{
            Describer, LazySchema, RefusalObject, Surface, SurfaceLimits, ToolCard, UnknownTool,
            WorldCard, WorldSpec, fixed_part,
        },
        tool::{
            Access, Answer, AnswerBody, AnswerFacts, AnswerFuture, ArgumentAlias, Handler,
            MirroredArgument, Pace, Schema, Tool, ToolBuilder, decode,
        },
    },
};
