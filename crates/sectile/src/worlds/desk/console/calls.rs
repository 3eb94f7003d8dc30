//! The page of calls: what clients asked, how long it took and how much they got, as it happens.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use maud::{Markup, html};
use sectile_library::clock;
use sectile_mcp::{CallContext, Failure, PageAnswer, PageRequest, observe::LoggedCall, visible};
use serde_json::{Value, json};

use super::{
    super::DeskWorld,
    layout::{counted, grouped, page},
    times::{ago, duration, milliseconds},
};

/// Most calls that are listed.
const MOST_LISTED: usize = 200;
/// Number of calls among the slowest, and among the largest.
const MOST_NOTABLE: usize = 5;
/// Longest name of a client, in characters.
const MAX_NAME_CHARS: usize = 60;

/// The sums of the calls of one client.
#[derive(Debug, Default)]
struct ClientTotals {
    calls: usize,
    failed: usize,
    elapsed: Duration,
    bytes: usize,
    /// Of the calls whose tokens were estimated, if there are any.
    tokens: Option<usize>,
}

pub(super) fn render(
    _: &DeskWorld,
    request: &PageRequest,
    context: &CallContext,
) -> Result<PageAnswer, Failure> {
    let calls = context.recent_calls();
    let after = request.field("after").parse::<u64>();
    if let Ok(after) = after {
        return Ok(PageAnswer::Json(newer(&calls, after).to_string()));
    }
    let last = calls.first().map_or(0, |call| call.number);
    let content = html! {
        h1 { "Calls" }
        p { "What clients asked this server, newest first. New calls appear by themselves. No arguments and no text of notes are kept." }
        @if calls.is_empty() {
            p.empty { "No client has called a tool since this page was first opened. Keep it open while an agent works." }
        }
        @if !calls.is_empty() {
            section aria-labelledby="totals" {
                h2 #totals { "By client" }
                (totals(&calls))
            }
        }
        section aria-labelledby="newest" {
            h2 #newest { "Newest" }
            div.table role="region" aria-labelledby="newest" tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { "When" } th scope="col" { "Client" } th scope="col" { "Tool" }
                            th scope="col" { "Outcome" } th.number scope="col" { "Took" }
                            th.number scope="col" { "Bytes" } th.number scope="col" { "Tokens" }
                        }
                    }
                    tbody #calls data-last=(last) aria-live="polite" {
                        @for call in calls.iter().take(MOST_LISTED) { (row(call)) }
                    }
                }
            }
        }
        @if calls.len() > MOST_NOTABLE {
            div.columns {
                (notable("Slowest", &calls, |call| call.elapsed.as_micros()))
                (notable("Largest answers", &calls, |call| call.bytes as u128))
            }
        }
    };
    Ok(page(request, "Calls", &content))
}

/// Returns the calls after the one with this number, oldest first, as a script adds them to the page.
fn newer(calls: &[LoggedCall], after: u64) -> Value {
    let newer = calls.iter().take(MOST_LISTED);
    let newer: Vec<Value> = newer
        .take_while(|call| call.number > after)
        .map(|call| json!({ "number": call.number, "is_ok": call.outcome == "ok", "cells": cells(call) }))
        .collect();
    let newer: Vec<Value> = newer.into_iter().rev().collect();
    json!({ "calls": newer })
}

/// Returns what the columns of a call say, without its time.
fn cells(call: &LoggedCall) -> [String; 6] {
    [
        client(call),
        tool(call),
        call.outcome.replace('_', " "),
        duration(call.elapsed),
        grouped(call.bytes),
        call.tokens.map(grouped).unwrap_or_default(),
    ]
}

fn row(call: &LoggedCall) -> Markup {
    let [client, tool, outcome, took, bytes, tokens] = cells(call);
    html! {
        tr.failed[call.outcome != "ok"] {
            td { (ago(milliseconds(call.ended), clock::now())) }
            td { bdi { (client) } } td { code { (tool) } } td { (outcome) }
            td.number { (took) } td.number { (bytes) } td.number { (tokens) }
        }
    }
}

fn client(call: &LoggedCall) -> String {
    let name = call.client.as_deref().unwrap_or("unnamed client");
    let name = visible(name, MAX_NAME_CHARS);
    match &call.caller {
        Some(caller) => format!("{name} ({})", visible(caller, MAX_NAME_CHARS)),
        None => name,
    }
}

fn tool(call: &LoggedCall) -> String {
    match call.world {
        "desk" => call.tool.to_string(),
        world => format!("{world}/{}", call.tool),
    }
}

fn totals(calls: &[LoggedCall]) -> Markup {
    let mut clients: BTreeMap<String, ClientTotals> = BTreeMap::new();
    for call in calls {
        let totals = clients.entry(client(call)).or_default();
        totals.calls += 1;
        totals.failed += usize::from(call.outcome != "ok");
        totals.elapsed += call.elapsed;
        totals.bytes += call.bytes;
        if let Some(tokens) = call.tokens {
            *totals.tokens.get_or_insert_default() += tokens;
        }
    }
    html! {
        div.table role="region" aria-labelledby="totals" tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "Client" } th.number scope="col" { "Calls" } th.number scope="col" { "Failed" }
                        th.number scope="col" { "Time" } th.number scope="col" { "Bytes" } th.number scope="col" { "Tokens" }
                    }
                }
                tbody {
                    @for (client, totals) in &clients {
                        tr {
                            th scope="row" { bdi { (client) } }
                            td.number { (grouped(totals.calls)) } td.number { (grouped(totals.failed)) }
                            td.number { (duration(totals.elapsed)) } td.number { (grouped(totals.bytes)) }
                            td.number { (totals.tokens.map(grouped).unwrap_or_default()) }
                        }
                    }
                }
            }
        }
        @if calls.iter().any(|call| call.tokens.is_none()) {
            p.quiet { "Tokens are estimated only while someone is looking at this page." }
        }
    }
}

/// Lists the calls for which `measure` is largest.
fn notable(title: &str, calls: &[LoggedCall], measure: fn(&LoggedCall) -> u128) -> Markup {
    let mut sorted: Vec<&LoggedCall> = calls.iter().collect();
    sorted.sort_by_key(|call| (Reverse(measure(call)), Reverse(call.number)));
    html! {
        section {
            h2 { (title) }
            ol.notable {
                @for call in sorted.into_iter().take(MOST_NOTABLE) {
                    li {
                        code { (tool(call)) } " " span.quiet {
                            (duration(call.elapsed)) ", " (counted(call.bytes, "byte", "bytes")) ", "
                            (ago(milliseconds(call.ended), clock::now()))
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn call(number: u64, client: &str) -> LoggedCall {
        LoggedCall {
            number,
            ended: SystemTime::UNIX_EPOCH,
            world: "desk",
            tool: "search".into(),
            outcome: "not_found".into(),
            elapsed: Duration::from_millis(3),
            bytes: 1_200,
            tokens: None,
            client: Some(client.to_owned()),
            caller: None,
            group: None,
        }
    }

    #[test]
    fn newer_calls_come_oldest_first() {
        let calls = [call(9, "b"), call(8, "a"), call(7, "a")];
        let newer = newer(&calls, 7);
        assert_eq!(newer["calls"][0]["number"], 8);
        assert_eq!(newer["calls"][1]["cells"][2], "not found");
        assert_eq!(newer["calls"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn names_of_clients_are_data() {
        let markup = totals(&[call(1, "<script>alert(1)</script>\u{202e}")]).into_string();
        assert!(
            markup.contains("&lt;script&gt;") && !markup.contains("<script>"),
            "{markup}"
        );
    }
}
