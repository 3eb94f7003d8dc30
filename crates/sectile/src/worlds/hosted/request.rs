//! The one request that a call makes: its target, and the caller it is made for.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sectile_mcp::access::{Identity, Secret};
use sectile_vault::NotePath;

/// Characters to escape in a path, which becomes one segment, slashes included.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

const VAULT: HeaderName = HeaderName::from_static("x-vault-id");
const USER: HeaderName = HeaderName::from_static("x-user-id");
const GATEWAY: HeaderName = HeaderName::from_static("x-gateway-auth");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A request for one note.
pub(super) struct NoteRequest {
    /// Path below that of the store.
    pub(super) target: String,
    pub(super) headers: HeaderMap,
}

impl NoteRequest {
    /// Builds the request for the note at `path` on behalf of the caller; `None` if the caller has no token, or cannot be
    /// named in a header.
    pub(super) fn new(
        path: &NotePath,
        caller: &Identity,
        gateway_secret: Option<&Secret>,
    ) -> Option<Self> {
        let token = caller.token.as_ref()?;
        let mut headers = HeaderMap::with_capacity(6);
        let bearer = format!("Bearer {}", exact(token.reveal())?);
        headers.insert(header::AUTHORIZATION, hidden(&bearer)?);
        headers.insert(VAULT, visible(&caller.vault)?);
        headers.insert(USER, visible(caller.upstream_user())?);
        if let Some(secret) = gateway_secret {
            headers.insert(GATEWAY, hidden(exact(secret.reveal())?)?);
        }
        headers.insert(header::ACCEPT, JSON);
        headers.insert(header::CONTENT_TYPE, JSON);
        let path = utf8_percent_encode(path.as_str(), ESCAPED);
        Some(Self {
            target: format!("/api/v1/notes/{path}"),
            headers,
        })
    }
}

fn visible(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(exact(text)?).ok()
}

fn hidden(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns `text` if a receiver reads it unchanged. White space around it would be trimmed, turning two users into one.
fn exact(text: &str) -> Option<&str> {
    let is_exact = !text.is_empty() && text.trim_matches([' ', '\t']) == text;
    is_exact.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sectile_mcp::access::Role;

    fn identity() -> Identity {
        Identity {
            key: "token:google:actor".to_owned(),
            user: "google:actor".to_owned(),
            effective_user: None,
            vault: "default".to_owned(),
            role: Role::Viewer,
            roots: None,
            token: Some(Secret::new("t.o.k")),
            mark: None,
            expires: None,
        }
    }

    fn request(identity: &Identity, secret: Option<&Secret>) -> Option<NoteRequest> {
        NoteRequest::new(&NotePath::parse_hosted("a/b.md").unwrap(), identity, secret)
    }

    fn lines(request: &NoteRequest) -> Vec<String> {
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
        };
        request.headers.iter().map(line).collect()
    }

    #[test]
    fn the_headers_are_these_and_no_others() {
        let plain = request(&identity(), None).unwrap();
        assert_eq!(plain.target, "/api/v1/notes/a%2Fb.md");
        let expected = [
            "authorization: Bearer t.o.k",
            "x-vault-id: default",
            "x-user-id: google:actor",
            "accept: application/json",
            "content-type: application/json",
        ];
        assert_eq!(lines(&plain), expected);
        let with_secret = request(&identity(), Some(&Secret::new("gate"))).unwrap();
        let mut expected = expected.to_vec();
        expected.insert(3, "x-gateway-auth: gate");
        assert_eq!(lines(&with_secret), expected);
        let shown = format!("{:?}", with_secret.headers);
        assert!(
            !shown.contains("t.o.k") && !shown.contains("gate\""),
            "{shown}"
        );
    }

    #[test]
    fn the_effective_user_stands_in_for_the_actor() {
        let mut caller = identity();
        caller.effective_user = Some("google:owner".to_owned());
        let lines = lines(&request(&caller, None).unwrap());
        assert!(
            lines.contains(&"x-user-id: google:owner".to_owned()),
            "{lines:?}"
        );
        assert!(!lines.concat().contains("actor"), "{lines:?}");
    }

    #[test]
    fn nobody_is_asked_for_who_cannot_be_named_exactly() {
        let wrong = ["", " ", "a\nb", "a\r\nX-User-Id: b", " a", "a\t", "a\0"];
        for text in wrong {
            for part in 0..4 {
                let mut caller = identity();
                let mut secret = Secret::new("gate");
                match part {
                    0 => caller.user = text.to_owned(),
                    1 => caller.vault = text.to_owned(),
                    2 => caller.token = Some(Secret::new(text)),
                    _ => secret = Secret::new(text),
                }
                assert!(
                    request(&caller, Some(&secret)).is_none(),
                    "{part}: {text:?}"
                );
            }
        }
        let mut caller = identity();
        caller.token = None;
        assert!(request(&caller, None).is_none());
        caller = identity();
        caller.user = "google:ü日".to_owned();
        assert!(request(&caller, None).is_some());
    }

    /// The contract's table of paths.
    #[test]
    fn paths_are_escaped_as_one_segment() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../test_data/section_source.json")).unwrap();
        let mut good = 0;
        for row in vectors["hosted_path"].as_array().unwrap() {
            let path = NotePath::parse_hosted(row["input"].as_str().unwrap());
            assert_eq!(row["normalized"].is_string(), path.is_ok(), "{row}");
            let Ok(path) = path else { continue };
            let request = NoteRequest::new(&path, &identity(), None).unwrap();
            assert_eq!(row["url_suffix"], request.target, "{row}");
            assert!(
                format!("http://store.example{}", request.target)
                    .parse::<http::Uri>()
                    .is_ok()
            );
            good += 1;
        }
        assert!(good > 5);
        let odd = NotePath::parse_hosted("日/%2e%2e/\u{7f}\n\"<>^`{|}.md").unwrap();
        let request = NoteRequest::new(&odd, &identity(), None).unwrap();
        assert_eq!(
            request.target,
            "/api/v1/notes/%E6%97%A5%2F%252e%252e%2F%7F%0A%22%3C%3E%5E%60%7B%7C%7D.md"
        );
    }
}
