//! The parts of a call: the pipeline that every call passes, arguments, policies, errors, questions to the user, and
//! what is known about the caller.

pub(crate) mod arguments;
pub(crate) mod caller;
pub(crate) mod caller_slots;
pub(crate) mod connection;
pub(crate) mod context;
pub(crate) mod elicitation;
pub(crate) mod error;
pub(crate) mod error_text;
#[cfg(debug_assertions)]
pub mod fault;
pub(crate) mod instructions;
pub(crate) mod observer;
pub(crate) mod page_view;
pub(crate) mod pipeline;
pub mod policy;
pub(crate) mod request_facts;
pub(crate) mod structured;
