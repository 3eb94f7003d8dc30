//! The ways in which an answer can go wrong.

use std::time::Duration;

/// A way in which the store misbehaves instead of answering properly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answers properly, but only after this delay.
    Slow(Duration),
    /// Answers properly, but after the head one byte at a time, with this pause between them.
    Drip(Duration),
    /// Answers with a note whose body has this many bytes.
    Huge(usize),
    /// Promises more bytes than it sends, and closes.
    Truncated,
    /// Redirects the request, with 302.
    Redirect(String),
    /// Answers with this status, and a page full of secrets.
    Status(u16),
    /// Answers 200 with a page that is not JSON.
    Malformed,
    /// Answers with a few kilobytes of gzip that expand to many megabytes of zeros.
    GzipBomb,
    /// Sends half of a chunked answer, and closes.
    CloseMidBody,
    /// Reads the request, and closes.
    CloseBeforeHead,
    /// Reads the request, and does nothing more.
    Silence,
    /// Answers with bytes that are not HTTP.
    NotHttp,
    /// Answers with a head that never ends.
    EndlessHead,
    /// Answers properly, and closes without announcing it.
    HangUp,
    /// Answers with a note that has absolute paths, tokens and keys in every field and header.
    Hostile,
    /// Answers with this status and body.
    Canned(u16, Vec<u8>),
}

/// The names of the faults that can be selected, with their descriptions.
pub const KINDS: &[(&str, &str)] = &[
    ("slow", "answers after 5 seconds"),
    ("drip", "sends a byte a second"),
    ("huge", "answers with a note of 64 MiB"),
    ("truncated", "promises more than it sends"),
    ("redirect", "redirects the request"),
    ("401, 403, 404, 500, ...", "answers with this status"),
    ("malformed", "answers with a page that is not JSON"),
    ("gzip-bomb", "answers with unrequested gzip"),
    ("close-mid-body", "closes in the middle of an answer"),
    ("close-before-head", "closes instead of answering"),
    ("silence", "does not answer"),
    ("not-http", "answers with bytes that are not HTTP"),
    ("endless-head", "answers with a head that never ends"),
    ("hang-up", "closes after each answer without announcing it"),
    ("hostile", "puts paths, tokens and keys into every field"),
];

impl Fault {
    /// Returns the fault with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "slow" => Self::Slow(Duration::from_secs(5)),
            "drip" => Self::Drip(Duration::from_secs(1)),
            "huge" => Self::Huge(64 << 20),
            "truncated" => Self::Truncated,
            "redirect" => Self::Redirect("http://127.0.0.1:9/elsewhere".to_owned()),
            "malformed" => Self::Malformed,
            "gzip-bomb" => Self::GzipBomb,
            "close-mid-body" => Self::CloseMidBody,
            "close-before-head" => Self::CloseBeforeHead,
            "silence" => Self::Silence,
            "not-http" => Self::NotHttp,
            "endless-head" => Self::EndlessHead,
            "hang-up" => Self::HangUp,
            "hostile" => Self::Hostile,
            status => {
                let status = status.parse().ok()?;
                (300..600)
                    .contains(&status)
                    .then_some(Self::Status(status))?
            }
        })
    }
}
