//! Failures of vector services, and the sentences for them. No words of a service are passed on: they may quote data.

use sectile_library::StorageError;

/// The reason why a service did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServiceFailure {
    /// No connection, or none with a certificate that is trusted.
    Unreachable,
    TimedOut,
    /// The connection broke, or the answer was incomplete.
    BrokenOff,
    /// The answer is not what the service's description says, or is too long.
    Unclear,
    WrongKey,
    Forbidden,
    /// The index, or the class, does not exist.
    MissingIndex,
    Throttled,
    /// An error on the side of the service.
    Unavailable,
    /// Part of a batch was refused.
    Partial,
    /// The index is for other vectors. Describes the one that is needed.
    OtherIndex(String),
    /// The service is too old or too new. Names the version that is needed.
    OtherVersion(String),
    /// Another status.
    Refused(u16),
    /// An error of the index itself, as complete sentences.
    Storage(StorageError),
}

impl From<StorageError> for ServiceFailure {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl ServiceFailure {
    /// Returns the failure for a status that no request expects.
    pub(super) fn of_status(status: u16) -> Self {
        match status {
            401 => Self::WrongKey,
            402 | 403 => Self::Forbidden,
            404 => Self::MissingIndex,
            429 => Self::Throttled,
            500.. => Self::Unavailable,
            status => Self::Refused(status),
        }
    }

    /// Returns the error with its sentences about the service `title`.
    pub(super) fn explained(self, title: &str) -> StorageError {
        let message = match self {
            Self::Storage(error) => return error,
            Self::Unreachable => format!(
                "{title} cannot be reached. Check the address in the settings, and whether the certificate is one that they trust."
            ),
            Self::TimedOut => format!("{title} did not answer in time. Try again later."),
            Self::BrokenOff => format!("The connection to {title} broke off. Try again."),
            Self::Unclear => format!(
                "{title} sent an answer that cannot be understood. Check that the address in the settings is that of the index."
            ),
            Self::WrongKey => {
                format!("{title} refused the API key. Check the key that the settings name.")
            }
            Self::Forbidden => format!(
                "{title} does not allow this with the API key. Use a key that may read and write the index, and check the plan's limits."
            ),
            Self::MissingIndex => format!(
                "{title} does not have this index. Check its address in the settings, or create it as the manual's page on storage describes."
            ),
            Self::Throttled => format!(
                "{title} refused further requests for now. Try again later, or raise the limits of the plan."
            ),
            Self::Unavailable => format!("{title} failed. Try again later."),
            Self::Partial => format!("{title} refused part of the records. Try again."),
            Self::OtherIndex(needed) => {
                format!("The index in {title} is made for other vectors. Create one with {needed}.")
            }
            Self::OtherVersion(needed) => {
                format!("{title} has a version that this program does not know. Use {needed}.")
            }
            Self::Refused(status) => format!(
                "{title} refused the request with status {status}. Check the settings of the index."
            ),
        };
        StorageError::failed(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_says_what_is_wrong_and_what_to_do() {
        let all = [
            ServiceFailure::Unreachable,
            ServiceFailure::TimedOut,
            ServiceFailure::BrokenOff,
            ServiceFailure::Unclear,
            ServiceFailure::of_status(401),
            ServiceFailure::of_status(403),
            ServiceFailure::of_status(404),
            ServiceFailure::of_status(429),
            ServiceFailure::of_status(503),
            ServiceFailure::of_status(400),
            ServiceFailure::Partial,
            ServiceFailure::OtherIndex("3 dimensions".to_owned()),
            ServiceFailure::OtherVersion("1.0".to_owned()),
        ];
        let mut messages: Vec<String> = all
            .into_iter()
            .map(|failure| failure.explained("Acme").to_string())
            .collect();
        for message in &messages {
            assert!(
                message.contains("Acme") && message.matches(". ").count() == 1,
                "{message}"
            );
        }
        messages.sort();
        messages.dedup();
        assert_eq!(messages.len(), 13);
    }
}
