//! Authentication and authorization: identities, roles, and the ways to sign in.
//!
//! This module knows HTTP headers and the clock, but no protocol and no world. A transport asks an [`Authenticator`]
//! once per request and carries the [`Identity`] from there.

mod authenticator;
mod context;
mod identity;
mod keys;
mod listen_permit;
mod live_value;
mod names;
mod rates;
mod role;
mod seal;
#[cfg(test)]
mod testing;
mod tokens;

pub use self::{
    authenticator::{
        API_KEY_HEADER, AccessDenial, AuthSettings, Authenticator, RequestCredentials, TokenSources,
    },
    context::ContextSettings,
    identity::{Identity, Secret},
    keys::{KeyEntry, KeyError, KeyFile, KeyHolder, KeyMark, NewKey},
    live_value::{LiveUpdates, LiveValue},
    names::{NameSet, qualified},
    rates::{RateLimits, network},
    role::{AccessTarget, Acl, Role},
    seal::{SealingKey, random_bytes},
    tokens::{ClaimNames, KeySetSource, TokenSettings},
};

pub(crate) use self::listen_permit::ListenPermit;
