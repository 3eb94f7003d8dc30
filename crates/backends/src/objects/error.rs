//! The ways object storage can fail, derived from its answers, and the messages for them.

use http::StatusCode;
use object_store::client::HttpErrorKind;
use sectile_library::StorageError;

/// The reason why there is no usable answer. Its messages name no server, bucket, key or credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ObjectError {
    #[error(
        "The object storage cannot be reached. Check its endpoint, the network and the certificates."
    )]
    Unreachable,
    #[error("The object storage did not answer in time.")]
    TimedOut,
    #[error("An answer from the object storage broke off.")]
    BrokenOff,
    #[error(
        "The object storage sent an answer that cannot be parsed. Check that its endpoint speaks S3."
    )]
    Unclear,
    #[error(
        "The object storage refused the credentials. Check the access key, the secret and their permissions."
    )]
    Refused,
    #[error("The object storage refused the time of a request. Correct the clock of this machine.")]
    Clock,
    #[error(
        "The bucket of the notebooks does not exist. Create it, or correct its name in the settings."
    )]
    NoBucket,
    #[error("The bucket is in another region or at another endpoint. Correct the settings.")]
    Elsewhere,
    #[error("The object storage is throttling requests. Try again later.")]
    Throttled,
    #[error("The object storage is failing (status {0}).")]
    Failing(u16),
    #[error("The object storage rejected a request (status {0}). Check its settings.")]
    NotAccepted(u16),
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
            (status, _) if status.is_redirection() => Self::Elsewhere,
            (status, _) if status.is_server_error() => Self::Failing(status.as_u16()),
            (status, _) => Self::NotAccepted(status.as_u16()),
        }
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
