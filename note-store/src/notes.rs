//! Notes of a folder as the store's answers, and the access rules.

use std::{fs, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sectile_markdown::{Source, Value};
use serde_json::{Value as Json, json};

use crate::{Request, StoreSettings};

/// The form in which the front matter of a note is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrontMatterForm {
    /// As a JSON string in `frontmatter`.
    #[default]
    Text,
    /// As an object in `frontmatter`.
    Object,
    /// Unchanged at the head of `body`; there is no `frontmatter`.
    InBody,
}

/// The role of a user in a vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The user, as in the `sub` of a token.
    pub user: String,
    /// The vault.
    pub vault: String,
    /// The role.
    pub role: String,
    /// The user whose notes these are, if it is another.
    pub effective_user: Option<String>,
}

/// An answer: a status and JSON.
pub(crate) type Answer = (u16, Json);

fn refusal(status: u16, error: &str) -> Answer {
    (status, json!({ "error": error }))
}

/// Returns the answer to a request for the note at `path`.
pub(crate) fn note(settings: &StoreSettings, request: &Request, path: &str) -> Answer {
    if bearer(request).is_none() {
        return refusal(401, "Unauthorized");
    }
    if let Some(secret) = &settings.gateway_secret
        && request.header("x-gateway-auth") != Some(secret)
    {
        return refusal(403, "Forbidden");
    }
    let (Some(vault), Some(user)) = (request.header("x-vault-id"), request.header("x-user-id"))
    else {
        return refusal(401, "Unauthorized");
    };
    if [vault, user].into_iter().any(|name| !is_name(name)) {
        return refusal(403, "Forbidden");
    }
    let folder = settings.root.join(vault).join(user);
    if !folder.is_dir() {
        return refusal(403, "Forbidden");
    }
    let segments = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let file: Option<PathBuf> = segments
        .map(|part| is_name(part).then_some(part))
        .collect::<Option<PathBuf>>();
    match file.map(|file| fs::read(folder.join(file))) {
        Some(Ok(bytes)) => (200, as_json(path, &bytes, settings.front_matter)),
        _ => refusal(404, "Not found"),
    }
}

/// Returns the answer to a request for the sender's context in a vault.
pub(crate) fn context(settings: &StoreSettings, request: &Request) -> Answer {
    let Some(user) = bearer(request).and_then(subject) else {
        return refusal(401, "Unauthorized");
    };
    let vault = request.header("x-vault-id").unwrap_or("default");
    let mut contexts = settings.contexts.iter();
    match contexts.find(|known| known.user == user && known.vault == vault) {
        Some(found) => {
            let owner = found.effective_user.as_ref().unwrap_or(&found.user);
            let answer = json!({ "role": found.role, "effective_canister_user_id": owner });
            (200, answer)
        }
        None => refusal(403, "Forbidden"),
    }
}

/// Returns whether `part` names exactly one file or folder.
fn is_name(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains(['/', '\\', '\0'])
}

fn bearer(request: &Request) -> Option<&str> {
    let token = request.header("authorization")?.strip_prefix("Bearer ")?;
    Some(token).filter(|token| !token.is_empty())
}

/// Returns the user that a token is for. The gateway has verified it; a real store would do so again.
fn subject(token: &str) -> Option<String> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Json = serde_json::from_slice(&claims).ok()?;
    Some(claims["sub"].as_str()?.to_owned())
}

fn as_json(path: &str, bytes: &[u8], form: FrontMatterForm) -> Json {
    let source = Source::new(bytes);
    let end = source.front_matter().map_or(0, |found| found.block.end);
    let whole = String::from_utf8_lossy(bytes);
    let body = String::from_utf8_lossy(&bytes[end..]);
    let front_matter = match source.front_matter_value() {
        Some(Ok(value @ Value::Map(_))) => to_json(&value),
        _ => json!({}),
    };
    match form {
        FrontMatterForm::Text => {
            json!({ "path": path, "frontmatter": front_matter.to_string(), "body": body })
        }
        FrontMatterForm::Object => {
            json!({ "path": path, "frontmatter": front_matter, "body": body })
        }
        FrontMatterForm::InBody => json!({ "path": path, "frontmatter": null, "body": whole }),
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Number(value) => json!(value),
        Value::Timestamp(value) => json!(value.as_written()),
        Value::String(text) => json!(text),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(mapping) => {
            let pairs = mapping.iter();
            Json::Object(
                pairs
                    .map(|(key, value)| (key.to_owned(), to_json(value)))
                    .collect(),
            )
        }
    }
}
