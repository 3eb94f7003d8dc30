//! Servers that run elsewhere: their URL, and the key to sign in with.

use std::path::Path;

use super::{
    MASKED_KEY,
    entry::{RemoteKey, ServerConnection},
};
use crate::{cli::ui::CliError, files};

/// Returns the connection to a server at `url`.
pub(super) fn connection(
    url: &str,
    key_file: Option<&Path>,
    key_variable: Option<&str>,
) -> Result<ServerConnection, CliError> {
    let is_private = check_url(url)?;
    let key = match (key_file, key_variable) {
        (Some(file), _) => Some(RemoteKey::Text(key_in(file)?)),
        (None, Some(name)) => Some(RemoteKey::Variable(variable(name)?)),
        (None, None) => None,
    };
    if key.is_some() && !is_private {
        return Err(
            CliError::usage("a key would travel to this URL without encryption.")
                .next("give an https URL"),
        );
    }
    Ok(ServerConnection::Remote {
        url: url.to_owned(),
        key,
    })
}

/// Checks a URL, and returns whether nobody on the way can read what is sent to it.
fn check_url(url: &str) -> Result<bool, CliError> {
    let refuse = |what: &str| {
        Err(CliError::usage(format_args!("the URL is invalid: {what}."))
            .next("give one such as https://notes.example.com/mcp"))
    };
    let uri: http::Uri = match url.parse() {
        Ok(uri) => uri,
        Err(_) => return refuse("it is not a URL"),
    };
    let Some(authority) = uri.authority() else {
        return refuse("it has no host");
    };
    if authority.as_str().contains('@') {
        return refuse("it holds a name or a password");
    }
    let host = authority.host().trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(true),
        Some("http") => Ok(is_local),
        _ => refuse("it begins with neither https:// nor http://"),
    }
}

/// Returns the key in a file: one line of visible ASCII characters, as `sectile auth add-key` prints it.
fn key_in(file: &Path) -> Result<String, CliError> {
    let text = files::read_text(file).map_err(|error| {
        CliError::failed(format_args!(
            "the key file cannot be read ({}).",
            files::reason(error.kind())
        ))
    })?;
    let text = text.ok_or_else(|| CliError::failed("the key file does not exist."))?;
    let key = text.trim();
    match !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(key.to_owned()),
        false => Err(CliError::failed(
            "the key file does not hold one key on a line of its own.",
        )),
    }
}

fn variable(name: &str) -> Result<String, CliError> {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name = name.bytes().next().is_some_and(is_letter)
        && name
            .bytes()
            .all(|byte| is_letter(byte) || byte.is_ascii_digit());
    match is_name {
        true => Ok(name.to_owned()),
        // Not repeated: it may be the key itself.
        false => Err(CliError::usage(
            "--key-env takes the name of an environment variable, not a key.",
        )),
    }
}

/// Returns a line of a diff with the keys in it masked.
pub(super) fn masked(line: &str) -> String {
    const BEFORE: &str = "Bearer ";
    let Some((start, rest)) = line.split_once(BEFORE) else {
        return line.to_owned();
    };
    if rest.starts_with('$') {
        return line.to_owned();
    }
    let end = rest
        .find(|c: char| !c.is_ascii_graphic() || matches!(c, '"' | '\''))
        .unwrap_or(rest.len());
    format!("{start}{BEFORE}{MASKED_KEY}{}", masked(&rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_checked() {
        for (url, is_private) in [
            ("https://notes.example.com/mcp", Some(true)),
            ("http://127.0.0.1:7420/mcp", Some(true)),
            ("http://[::1]:7420/mcp", Some(true)),
            ("http://localhost/mcp", Some(true)),
            ("http://notes.example.com/mcp", Some(false)),
            ("https://ann:secret@notes.example.com/mcp", None),
            ("ftp://notes.example.com", None),
            ("/mcp", None),
            ("not a url", None),
        ] {
            assert_eq!(check_url(url).ok(), is_private, "{url}");
        }
    }

    #[test]
    fn keys_are_masked_and_references_are_not() {
        for (line, shown) in [
            ("+ \"Bearer abc\" }", "+ \"Bearer <key>\" }"),
            ("a: 'Bearer x'", "a: 'Bearer <key>'"),
            ("\"Bearer ${KEY}\"", "\"Bearer ${KEY}\""),
            ("nothing", "nothing"),
        ] {
            assert_eq!(masked(line), shown);
        }
    }

    #[test]
    fn a_key_is_not_the_name_of_a_variable() {
        assert!(variable("SECTILE_KEY").is_ok());
        for name in ["", "1A", "a-b", "sk.abc"] {
            assert!(variable(name).is_err(), "{name}");
        }
    }
}
