//! Parsing of the answer to a deletion of many objects, as the storage writes it.

use serde::Deserialize;

use super::error::ObjectError;

/// The keys that a deletion of many objects did not delete. An object that did not exist counts as deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DeletionReport {
    /// The number of objects that stay, and the code of the first reason.
    pub(super) refused: Option<(usize, String)>,
}

/// The only root element that the answer may have.
#[derive(Deserialize)]
enum DeleteResponse {
    DeleteResult(DeleteResult),
}

#[derive(Deserialize)]
struct DeleteResult {
    #[serde(default, rename = "Error")]
    errors: Vec<KeyError>,
}

#[derive(Deserialize)]
struct KeyError {
    #[serde(default, rename = "Code")]
    code: String,
}

impl DeletionReport {
    pub(super) fn parse(body: &[u8]) -> Result<Self, ObjectError> {
        let text = std::str::from_utf8(body).map_err(|_| ObjectError::Unclear)?;
        let DeleteResponse::DeleteResult(result) =
            quick_xml::de::from_str(text).map_err(|_| ObjectError::Unclear)?;
        let count = result.errors.len();
        let first = result.errors.into_iter().next();
        Ok(Self {
            refused: first.map(|error| (count, error.code)),
        })
    }

    /// Returns the reason why objects stay, if some do.
    pub(super) fn trouble(&self) -> Option<ObjectError> {
        let (_, code) = self.refused.as_ref()?;
        Some(match code.as_str() {
            "AccessDenied" | "ExpiredToken" | "InvalidToken" => ObjectError::Refused,
            "SlowDown" => ObjectError::Throttled,
            _ => ObjectError::Failing(200),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_counted() {
        let xml =
            |inside: &str| format!("<?xml version=\"1.0\"?><DeleteResult>{inside}</DeleteResult>");
        let deleted = "<Deleted><Key>a</Key></Deleted>";
        let refused = "<Error><Key>b</Key><Code>AccessDenied</Code><Message>m</Message></Error>";
        for (inside, trouble) in [
            (String::new(), None),
            (deleted.to_owned(), None),
            (
                format!("{deleted}{refused}{deleted}"),
                Some(ObjectError::Refused),
            ),
            (
                refused.replace("AccessDenied", "SlowDown"),
                Some(ObjectError::Throttled),
            ),
            (
                refused.replace("AccessDenied", "InternalError"),
                Some(ObjectError::Failing(200)),
            ),
        ] {
            let report = DeletionReport::parse(xml(&inside).as_bytes()).unwrap();
            assert_eq!(report.trouble(), trouble, "{inside}");
        }
        for broken in [
            "",
            "<html></html>",
            "<DeleteResult>",
            "<Error><Code>a</Code></Error>",
        ] {
            let parsed = DeletionReport::parse(broken.as_bytes());
            assert_eq!(parsed, Err(ObjectError::Unclear), "{broken}");
        }
    }
}
