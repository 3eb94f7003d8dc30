//! Storages that are servers: notebooks and artifacts in object storage, and an index in PostgreSQL.
//!
//! Each implements a trait of `sectile-library`, and callers know nothing else about it. All of them are called from
//! threads that may block; the waiting itself happens on a runtime of this crate ([`Waiting`]).

mod objects;
mod postgres;
mod waiting;

pub use self::{
    objects::{Objects, S3Credentials, S3Settings, S3Style},
    postgres::{Postgres, PostgresSettings},
    waiting::Waiting,
};
