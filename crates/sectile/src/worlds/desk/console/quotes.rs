//! The page of quotes: the passages of a draft, compared with the bytes on disk.

use maud::{Markup, html};
use sectile_mcp::{CallContext, Failure, PageAnswer, PageRequest};

use super::{
    super::{
        DeskWorld,
        quotes::{AnsweredPassage, AnsweredPlace, AnsweredWords, QuoteAnswer},
    },
    layout::{QUOTES, address_of, counted, form_token, id_link, page},
};

/// What a draft may look like, for people who have none yet.
const EXAMPLE: &str = "> A passage from your notes\n\nor “a few words of one”, as in [[Plan]].";

pub(super) fn render(
    world: &DeskWorld,
    request: &PageRequest,
    context: &CallContext,
) -> Result<PageAnswer, Failure> {
    let draft = request.field("draft");
    let answer = match draft.trim().is_empty() {
        true => None,
        false => Some(world.check_quotes(draft, None, context)?),
    };
    let content = html! {
        h1 { "Check quotes" }
        p { "Paste a quote, or a draft with quotes. Each passage is looked up in your notes as they are on disk now." }
        form.draft method="post" action={ "/" (QUOTES) } {
            (form_token(request))
            label for="draft" { "Quote or draft" }
            textarea #draft name="draft" dir="auto" placeholder=(EXAMPLE) required { (draft) }
            button type="submit" { "Check" }
        }
        @if let Some(answer) = &answer { (report(answer)) }
    };
    Ok(page(request, "Check quotes", &content))
}

fn report(answer: &QuoteAnswer) -> Markup {
    let counts = answer.counts();
    let named = counts.iter().filter(|(_, count)| *count > 0);
    let named: Vec<String> = named
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    html! {
        section aria-labelledby="report" {
            h2 #report {
                (counted(answer.total(), "passage", "passages"))
                @if !named.is_empty() { ": " (named.join(", ")) }
            }
            @for sentence in &answer.left_out { p.problem { (sentence) } }
            @if answer.passages.is_empty() { p.empty { "There is no passage to look up in this." } }
            ol.passages { @for passage in &answer.passages { (checked(passage)) } }
        }
    }
}

fn checked(passage: &AnsweredPassage) -> Markup {
    let (sign, word) = match passage.status {
        "verified" => ("✓", "Verified"),
        "moved" => ("→", "Moved"),
        "changed" => ("≠", "Changed"),
        _ => ("✗", "Nowhere to be found"),
    };
    html! {
        li class={ "passage is-" (passage.status) } {
            p.verdict {
                span.sign aria-hidden="true" { (sign) } " " strong { (word) } " "
                span.quiet { "line " (passage.line) }
            }
            blockquote dir="auto" { (passage.quote) }
            @for cited in &passage.cited {
                p.quiet {
                    "Cited as " bdi { (cited.written) }
                    @match &cited.id {
                        Some(id) => { ", which is " (id_link(id)) }
                        None => { ", which names nothing here" }
                    }
                    "."
                }
            }
            @for place in &passage.places { (found(place)) }
            @if passage.more { p.quiet { "There are more places." } }
            @if let Some(nearest) = &passage.nearest {
                p { "Nearest text now, in " a href=(address_of(&nearest.id)) { bdi { (nearest.headings.join(" › ")) } } ":" }
                p.word-diff dir="auto" { @for part in &nearest.diff { (words(part)) " " } }
            }
            @if let Some(removal) = &passage.removed {
                p.quiet {
                    "It was in " (id_link(&removal.id)) " until change " (removal.change) ", "
                    @if removal.external { "by another program" } @else { "by " bdi { (removal.by) } } ", "
                    time datetime=(removal.time) { (removal.time) } "."
                }
            }
        }
    }
}

fn found(place: &AnsweredPlace) -> Markup {
    let differs: Vec<String> = place
        .differs
        .iter()
        .map(|word| word.replace('_', " "))
        .collect();
    html! {
        p {
            "In " a href=(address_of(&place.id)) { bdi { (place.headings.join(" › ")) } } ", line " (place.line)
            @if !differs.is_empty() { span.quiet { " (other " (differs.join(", ")) ")" } }
        }
        @for part in &place.parts {
            p.quiet { "Bytes " (part.start) " to " (part.end) ", SHA-256 " code { (part.sha256) } }
        }
    }
}

fn words(part: &AnsweredWords) -> Markup {
    match part {
        AnsweredWords::Same(text) => html! { (text) },
        AnsweredWords::Quoted(text) => html! { del { span.unseen { "quoted: " } (text) } },
        AnsweredWords::Now(text) => html! { ins { span.unseen { "now: " } (text) } },
    }
}
