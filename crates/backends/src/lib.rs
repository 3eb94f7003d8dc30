//! Storages that are servers: notebooks and artifacts in object storage, and an index in PostgreSQL.
//!
//! Each does what a trait of `sectile-library` says, and its callers know no more of it than that. All of them are
//! called from threads that may wait; the waiting itself is done on a runtime of this crate ([`Waiting`]).

mod objects;
mod postgres;
mod waiting;

pub use self::{
    objects::{Objects, S3Credentials, S3Settings, S3Style},
    postgres::{Postgres, PostgresSettings},
    waiting::Waiting,
};
