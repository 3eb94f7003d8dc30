//! The page for a user who opens the server in a browser.
//!
//! It says what this is and where clients connect, which anyone can find out, and nothing about what is served. It
//! loads nothing, runs nothing and accepts no input.

use axum::{body::Body, response::Response};
use http::{HeaderValue, header};

/// Headers that keep the page inert.
const HEADERS: [(header::HeaderName, &str); 6] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-cache"),
];

/// Returns the page for worlds with these names and addresses.
pub(super) fn page<'a>(worlds: impl Iterator<Item = (&'a str, String)>) -> String {
    let entries: String = worlds
        .map(|(name, address)| {
            let (name, address) = (escaped(name), escaped(&address));
            format!("<li><code>{address}</code> ({name})</li>\n")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Sectile</title>\n</head>\n<body>\n\
         <h1>Sectile</h1>\n\
         <p>This is an MCP server. It gives AI agents Markdown one section at a time. There is nothing to see here in a \
         browser: connect an MCP client over Streamable HTTP to</p>\n\
         <ul>\n{entries}</ul>\n\
         <p>If sign-in is required, the client is told how. The manual is in the program: <code>sectile docs search \
         connect</code> finds how to connect a client, and <code>sectile serve docs</code> serves it to an agent.</p>\n\
         </body>\n</html>\n"
    )
}

pub(super) fn respond(page: String) -> Response {
    let mut response = Response::new(Body::from(page));
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// Escapes text for HTML. The public address is a setting.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_address_and_no_markup_of_others() {
        let worlds = [
            ("vault", "https://a.example/vault/mcp".to_owned()),
            ("docs", "https://a.example/<b>\"&x".to_owned()),
        ];
        let page = page(worlds.into_iter());
        assert!(page.contains("<code>https://a.example/vault/mcp</code> (vault)"));
        assert!(
            page.contains("https://a.example/&lt;b&gt;&quot;&amp;x"),
            "{page}"
        );
        assert!(!page.contains("<b>") && !page.contains("<script"), "{page}");
    }
}
