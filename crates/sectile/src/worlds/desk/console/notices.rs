//! Notices that take the place of a page.

use maud::{Markup, html};
use sectile_mcp::{CREDENTIAL, ConsoleNotice, SIGN_IN};

use super::layout::document;

/// Renders a notice.
pub(super) fn render(notice: &ConsoleNotice<'_>) -> String {
    match notice {
        ConsoleNotice::SignIn { refused, endpoint } => {
            document(None, "Sign in", &sign_in(*refused, endpoint))
        }
        ConsoleNotice::LinkNeeded { is_spent, endpoint } => {
            document(None, "Open the console", &link_needed(*is_spent, endpoint))
        }
        ConsoleNotice::NotFound(request) => {
            let content = html! {
                h1 { "Not found" }
                p { "There is no such page." }
                p { a href="/" { "Go to the first page" } }
            };
            document(Some(request), "Not found", &content)
        }
        ConsoleNotice::Failed { request, message } => {
            document(Some(request), "That did not work", &failed(message))
        }
        ConsoleNotice::Refused { reason } => {
            let content = html! {
                h1 { "Refused" }
                p role="alert" { (reason) }
                p { a href="/" { "Go to the first page" } }
            };
            document(None, "Refused", &content)
        }
    }
}

fn sign_in(refused: Option<&str>, endpoint: &str) -> Markup {
    html! {
        h1 { "Sign in" }
        @if let Some(refused) = refused { p.problem role="alert" { (refused) } }
        form.sign-in method="post" action=(SIGN_IN) {
            label for="credential" { "API key or token" }
            input #credential type="password" name=(CREDENTIAL) autocomplete="off" required autofocus;
            button type="submit" { "Sign in" }
        }
        (for_clients(endpoint))
    }
}

fn link_needed(is_spent: bool, endpoint: &str) -> Markup {
    html! {
        @match is_spent {
            true => {
                h1 { "This link does not work any more" }
                p { "A link to the console works once, and for five minutes." }
            }
            false => { h1 { "Open the console with a link" } }
        }
        p { "On the machine that this server runs on, type" }
        pre { code { "sectile open" } }
        p {
            "It makes a link that lets your browser in. If you have been here before and came from another site, "
            a href="/" { "go on" } "."
        }
        (for_clients(endpoint))
    }
}

fn for_clients(endpoint: &str) -> Markup {
    html! {
        p.quiet { "MCP clients connect to " code { (endpoint) } " over Streamable HTTP." }
    }
}

/// Renders a failure: a summary with the code of the error, what to do, and the facts.
fn failed(message: &str) -> Markup {
    let mut lines = message.splitn(3, '\n');
    let summary = lines.next().unwrap_or_default();
    let (code, what) = summary.split_once(": ").unwrap_or(("", summary));
    let (next, facts) = (lines.next(), lines.next());
    html! {
        h1 { "That did not work" }
        p.problem role="alert" { (what) }
        @if let Some(next) = next { p { (next) } }
        @if let Some(facts) = facts { pre.facts tabindex="0" role="region" aria-label="Details" { (facts) } }
        @if !code.is_empty() { p.quiet { "Code: " code { (code) } } }
    }
}

#[cfg(test)]
mod tests {
    use sectile_mcp::PageRequest;

    use super::*;

    #[test]
    fn a_failure_has_its_parts_and_no_markup_of_notes() {
        let request = PageRequest::default();
        let page = render(&ConsoleNotice::Failed {
            request: &request,
            message: "conflict: It changed.\nRead it again.\nNow:\n<img src=x onerror=alert(1)>",
        });
        assert!(
            page.contains(">It changed.<") && page.contains(">Read it again.<"),
            "{page}"
        );
        assert!(
            page.contains("<code>conflict</code>") && page.contains("&lt;img"),
            "{page}"
        );
        assert!(!page.contains("<img src=x"), "{page}");
    }
}
