//! The ways object storage can fail, derived from its answers, and the messages for them.

use http::StatusCode;
use object_store::client::HttpErrorKind;
use sectile_library::StorageError;

/// The reason why there is no usable answer. Its messages name no server, bucket, key or credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// No connection could be made.
    #[error(
        "The object storage cannot be reached. Check its endpoint, the network and the certificates."
    )]
    Unreachable,
    /// The time for an answer passed.
    #[error("The object storage did not answer in time.")]
    TimedOut,
    /// The connection ended before the answer did.
    #[error("An answer from the object storage broke off.")]
    BrokenOff,
    /// The answer is not what this request is answered with.
    #[error(
        "The object storage sent an answer that cannot be parsed. Check that its endpoint speaks S3."
    )]
    Unclear,
    /// The credentials are wrong, have expired, or do not permit the request.
    #[error(
        "The object storage refused the credentials. Check the access key, the secret and their permissions."
    )]
    Refused,
    /// This machine and the storage disagree about the time.
    #[error("The object storage refused the time of a request. Correct the clock of this machine.")]
    Clock,
    /// The bucket does not exist.
    #[error("The bucket does not exist. Create it, or correct its name in the settings.")]
    NoBucket,
    /// The storage names another region or endpoint.
    #[error("The bucket is in another region or at another endpoint. Correct the settings.")]
    Elsewhere,
    /// There are too many requests.
    #[error("The object storage is throttling requests. Try again later.")]
    Throttled,
    /// The storage reports an error of its own, with this status.
    #[error("The object storage is failing (status {0}).")]
    Failing(u16),
    /// The storage rejects the request, with this status.
    #[error("The object storage rejected a request (status {0}). Check its settings.")]
    NotAccepted(u16),
    /// Another request to the same object was in progress, several times in a row.
    #[error("Other requests kept changing the same object in the storage. Try again.")]
    Contended,
    /// Conditions of writes have no effect, or are refused.
    #[error(
        "The object storage does not honour conditional writes (`If-None-Match`, `If-Match`). Use a storage, or a version of it, that does."
    )]
    Unconditional,
}

impl ObjectError {
    /// Classifies an answer that is not a success. `body` may say more than the status does.
    pub(super) fn of(status: StatusCode, body: &[u8]) -> Self {
        match (status, error_code(body)) {
            (_, "RequestTimeTooSkewed") => Self::Clock,
            (_, "NoSuchBucket") => Self::NoBucket,
            (_, "SlowDown" | "Throttling" | "TooManyRequests" | "RequestLimitExceeded")
            | (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, _) => {
                Self::Throttled
            }
            (_, "AuthorizationHeaderMalformed" | "PermanentRedirect" | "TemporaryRedirect") => {
                Self::Elsewhere
            }
            (_, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired")
            | (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => Self::Refused,
            (StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT, _) => Self::TimedOut,
            (StatusCode::CONFLICT, _) => Self::Contended,
            (status, _) if status.is_redirection() => Self::Elsewhere,
            (status, _) if status.is_server_error() => Self::Failing(status.as_u16()),
            (status, _) => Self::NotAccepted(status.as_u16()),
        }
    }

    /// Returns whether an answer proves that the write it belongs to was not carried out. A server that fails may have
    /// carried it out, and so may one that only a proxy cannot reach any more.
    pub(super) fn is_proof_of_refusal(status: StatusCode, body: &[u8]) -> bool {
        match status {
            StatusCode::REQUEST_TIMEOUT => false,
            StatusCode::NOT_IMPLEMENTED => true,
            StatusCode::SERVICE_UNAVAILABLE => {
                matches!(
                    error_code(body),
                    "SlowDown" | "Throttling" | "RequestLimitExceeded"
                )
            }
            status => status.is_client_error() || status.is_redirection(),
        }
    }

    /// Returns whether a write that failed like this may succeed when it is sent again.
    pub(super) fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::TimedOut
                | Self::BrokenOff
                | Self::Throttled
                | Self::Failing(_)
                | Self::Contended
        )
    }

    /// Returns whether the same request may be retried, in the terms of the library that does so.
    pub(super) fn kind(self) -> HttpErrorKind {
        match self {
            Self::Unreachable => HttpErrorKind::Connect,
            Self::TimedOut => HttpErrorKind::Timeout,
            Self::BrokenOff => HttpErrorKind::Interrupted,
            _ => HttpErrorKind::Decode,
        }
    }
}

impl From<ObjectError> for StorageError {
    fn from(trouble: ObjectError) -> Self {
        Self::failed(trouble.to_string())
    }
}

/// The reason why an operation on a blob has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// Nothing was changed.
    #[error("{0}")]
    Failed(ObjectError),
    /// A write was sent, and nobody knows whether it was carried out: its answer was lost, or a second attempt found the
    /// object changed, possibly by the first. It may even be carried out later. Read the object back, see
    /// [`BlobStore::settle`](crate::BlobStore::settle).
    #[error(
        "The answer to a write was lost, so it is not known whether the object storage carried it out. Read it back, or try again."
    )]
    OutcomeUnknown,
    /// The object has more bytes than the caller accepts.
    #[error("An object in the storage is larger than allowed.")]
    TooLarge,
    /// No object can have this key.
    #[error("This name cannot be the key of an object.")]
    InvalidKey,
    /// The caller no longer waits, and no request had been sent that changes anything.
    #[error("The call was cancelled.")]
    Cancelled,
}

impl From<BlobError> for StorageError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Cancelled => Self::Cancelled,
            other => Self::failed(other.to_string()),
        }
    }
}

/// Returns the text between `<Code>` and `</Code>`, the only part of an error that matters, whatever surrounds it.
pub(super) fn error_code(body: &[u8]) -> &str {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let code = text.split_once("<Code>");
    let code = code.and_then(|(_, rest)| rest.split_once("</Code>"));
    code.map_or("", |(code, _)| code.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_says_more_than_the_status() {
        let body = |code: &str| {
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>m</Message></Error>")
        };
        for (status, code, expected) in [
            (404, "NoSuchBucket", ObjectError::NoBucket),
            (404, "", ObjectError::NotAccepted(404)),
            (403, "RequestTimeTooSkewed", ObjectError::Clock),
            (403, "AccessDenied", ObjectError::Refused),
            (401, "", ObjectError::Refused),
            (400, "ExpiredToken", ObjectError::Refused),
            (400, "AuthorizationHeaderMalformed", ObjectError::Elsewhere),
            (400, "InvalidArgument", ObjectError::NotAccepted(400)),
            (301, "", ObjectError::Elsewhere),
            (429, "", ObjectError::Throttled),
            (503, "SlowDown", ObjectError::Throttled),
            (503, "", ObjectError::Throttled),
            (500, "InternalError", ObjectError::Failing(500)),
            (504, "", ObjectError::TimedOut),
            (409, "ConditionalRequestConflict", ObjectError::Contended),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                ObjectError::of(status, body(code).as_bytes()),
                expected,
                "{code}"
            );
        }
        for body in [
            &b""[..],
            b"<Code>",
            b"<Code>A",
            b"\xff<Code>A</Code>",
            b"</Code><Code>",
        ] {
            assert_eq!(error_code(body), "");
        }
    }
}
