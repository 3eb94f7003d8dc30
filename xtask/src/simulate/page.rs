//! The tables of a run, and the page with them.

use super::{
    cluster::{DAY_CURVE, HOUR, SECOND, Scenario, SimulationResult, run},
    parameters::{MEASURED_ON, Parameters},
};

/// The hour in which most requests come.
const PEAK: usize = 10;
const DAYS: f64 = 30.0;
/// Sizes as multiples of the parameters, with the same replicas.
const SIZES: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

/// Limits of a good service, of which the first that is passed breaks first.
const MOST_BUSY: f64 = 70.0;
const LEAST_HITS: f64 = 95.0;
const MOST_WARM: f64 = 500.0;
/// GB of documents and journal in one PostgreSQL server: a restore of more takes more than an afternoon.
const MOST_POSTGRES: f64 = 1_000.0;

const BEFORE: &str = "\
---
title: Ten million notes, on paper
slug: scale
role: reasoning
description: A simulation of ten million notes in ten thousand tenants, from measured unit costs. Bytes, cost a month, requests per second, warm and cold latency, a failing replica, what breaks first, and what to do about it.
---
# Ten million notes, on paper

No service of this size was run. `cargo xtask simulate` computes this page from unit costs that were measured on one machine, and a
simulation; the same seed gives the same figures. Replace what is different for you: `cargo xtask simulate --set replicas=8 --set
cache_gb=40`. Prices are round numbers to calculate with, in any currency, and not those of a provider.

## What is simulated

- **Notebook indexes in object storage**: segments named by their content, and a manifest that is replaced by a conditional write.
  A replica keeps tenants that it reads on its local disk, within a limit, and drops those not used for the longest time. A search checks the
  manifest by a conditional GET, at most once a second.
- **The hosted desk**: documents and journal of a tenant in PostgreSQL, one transaction for each edit, or in object storage, where the
  head is replaced by a conditional write. Each replica has a working copy of the tenants that it serves.
- **Placement** by rendezvous hashing: a tenant is served by one replica, and moves only if that one fails. A failing replica loses
  its cache; requests fail until that is noticed, then its tenants are read elsewhere.
- Tenants differ as in Zipf's law, in notes and in requests. Requests follow the hours of an office day. A request waits for a free core.

Signing in, the network to clients, the transformer tier, throttling by the object storage and the write load of PostgreSQL are not
simulated. Real latencies have longer tails than the fixed ones here.
";

const AFTER: &str = "
## What to do about what breaks first

- **The cache is too small** (hits): more disk or more replicas; a GB of disk costs less than what it saves in waiting. The
  tenants that are dropped are those that ask least, so few requests notice at first.
- **Processors are busy**: more replicas. The largest tenants are the limit: a search takes as long as the notes of its tenant, and one
  tenant is on one replica. Give those a replica of their own, or several.
- **PostgreSQL is large**: several servers, with tenants divided among them by the same hash, or documents in object storage, where an edit
  takes two writes one after the other.
- **A failed replica**: the requests of the seconds until it is noticed are lost, so clients have to repeat them, with the same
  `request_id` for edits. Its tenants are cold once elsewhere, and once again when it is back.
";

/// Returns the page.
pub(super) fn page(parameters: &Parameters, seed: u64) -> String {
    format!("{BEFORE}\n{}{AFTER}", tables(parameters, seed))
}

/// Returns the tables of a run.
pub(super) fn tables(parameters: &Parameters, seed: u64) -> String {
    let mut text = String::new();
    let heading = |title: &str, columns: &str| {
        let line = "|---".repeat(columns.matches('|').count() - 1);
        format!("## {title}\n\n{columns}\n{line}|\n")
    };
    text += &heading(
        &format!("Parameters, those measured on {MEASURED_ON}"),
        "| name | value | meaning | from |",
    );
    for row in parameters.rows() {
        text += &format!(
            "| `{}` | {} | {} | {} |\n",
            row.name, row.value, row.meaning, row.source
        );
    }
    text.push('\n');
    text += &heading("Bytes and costs", "| what | GB | cost a month |");
    let day = Scenario {
        seed,
        first_hour: 0,
        hours: 24,
        is_warm: true,
        fails_at: None,
    };
    let usual = run(parameters, day);
    costs(&mut text, parameters, &usual);
    text.push('\n');
    text += &heading(
        "A day, and a day with a replica that fails at 10",
        "| what | usual day | with a failure |",
    );
    let failing = Scenario {
        fails_at: Some(PEAK),
        ..day
    };
    days(&mut text, parameters, [&usual, &run(parameters, failing)]);
    text.push('\n');
    text += &heading(
        "The busiest hour of larger sizes, with the same replicas",
        "| size | requests/s | processors busy, % | cache hits, % | warm p50, p99, ms | cold p50, p99, ms | documents and journal of a year, GB | beyond its limit |",
    );
    let mut first = None;
    for size in SIZES {
        let broken = sizes(&mut text, &parameters.times(size), size, seed);
        first = first
            .or(broken.map(|broken| format!("{broken}, at {size} × these notes and requests")));
    }
    let first = first.unwrap_or_else(|| "nothing of these".to_owned());
    text += &format!(
        "\nLimits: processors busy {MOST_BUSY} %, cache hits {LEAST_HITS} %, warm p99 {MOST_WARM} ms, {MOST_POSTGRES} GB in one PostgreSQL.\n\
        **What breaks first**: {first}.\n"
    );
    text
}

fn gigabytes(bytes: f64) -> f64 {
    bytes / 1e9
}

/// Returns the GB of the journal of this many days.
fn journal(parameters: &Parameters, days: f64) -> f64 {
    gigabytes(parameters.requests * parameters.edit_share * parameters.journal_bytes * days)
}

fn costs(text: &mut String, parameters: &Parameters, usual: &SimulationResult) {
    let p = parameters;
    let documents = gigabytes(p.notes * p.document_bytes);
    let index = gigabytes(p.notes * p.index_bytes);
    let journal = journal(p, DAYS);
    let disk = p.replicas * p.cache_gb;
    let requests = DAYS * (usual.puts as f64 * p.price_put + usual.gets as f64 * p.price_get) / 1e3;
    let replicas = p.replicas * p.cores * p.price_core + disk * p.price_disk_gb;
    let objects = (documents + index + journal) * p.price_object_gb + requests;
    // Without the PUTs of edits, but those of their index segments and manifests.
    let index_puts = usual.puts as f64 / 2.0 * p.price_put;
    let index_requests = DAYS * (index_puts + usual.gets as f64 * p.price_get) / 1e3;
    let mixed = (documents + journal) * p.price_postgres_gb
        + p.price_postgres
        + index * p.price_object_gb
        + index_requests;
    let all = gigabytes(p.notes * p.postgres_bytes);
    let rows = [
        ("documents", documents, documents * p.price_object_gb),
        ("index segments", index, index * p.price_object_gb),
        ("journal of a month", journal, journal * p.price_object_gb),
        ("requests to object storage", 0.0, requests),
        ("replicas with their disks", disk, replicas),
        (
            "**all, desk in object storage**",
            documents + index + journal,
            replicas + objects,
        ),
        (
            "**all, desk in PostgreSQL, index in object storage**",
            documents + index + journal,
            replicas + mixed,
        ),
        (
            "**all, desk and index in PostgreSQL**",
            documents + journal + all,
            replicas + p.price_postgres + (documents + journal + all) * p.price_postgres_gb,
        ),
    ];
    for (what, bytes, cost) in rows {
        *text += &format!("| {what} | {bytes:.0} | {cost:.1} |\n");
    }
}

fn days(text: &mut String, parameters: &Parameters, [usual, failing]: [&SimulationResult; 2]) {
    let mut row = |what: &str, figure: &dyn Fn(&SimulationResult) -> String| {
        *text += &format!("| {what} | {} | {} |\n", figure(usual), figure(failing));
    };
    let latency = |latencies: &[u64]| {
        if latencies.is_empty() {
            return "none".to_owned();
        }
        let [half, slow] = [500, 990].map(|share| SimulationResult::per_mille(latencies, share));
        format!("{half:.0}, {slow:.0}")
    };
    let in_postgres = |outcome: &SimulationResult| {
        let saved = 2.0 * parameters.put_ms - parameters.transaction_ms;
        let edits = &outcome.edits;
        let edits: Vec<u64> = edits
            .iter()
            .map(|time| time.saturating_sub((saved * 1e3) as u64))
            .collect();
        latency(&edits)
    };
    let peak = |outcome: &SimulationResult| {
        outcome.requests as f64 * DAY_CURVE[PEAK] as f64 / 1e3 / 3_600.0
    };
    row("requests", &|one| one.requests.to_string());
    row("requests/s in the busiest hour", &|one| {
        format!("{:.1}", peak(one))
    });
    row("failed", &|one| one.failed.to_string());
    row("cache hits, %", &|one| {
        format!("{:.2}", share(one.hits, one.hits + one.misses))
    });
    row("tenants read from object storage", &|one| {
        one.misses.to_string()
    });
    row("of these, read by the same replica before", &|one| {
        one.warmed_again.to_string()
    });
    row("GB read", &|one| {
        format!("{:.1}", gigabytes(one.bytes_read as f64))
    });
    row("GETs", &|one| one.gets.to_string());
    row("PUTs, if the desk is in object storage", &|one| {
        one.puts.to_string()
    });
    row("warm search p50, p99, ms", &|one| latency(&one.warm));
    row("cold search p50, p99, ms", &|one| latency(&one.cold));
    row("edit in object storage p50, p99, ms", &|one| {
        latency(&one.edits)
    });
    row("edit in PostgreSQL p50, p99, ms", &in_postgres);
}

fn share(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

fn sizes(text: &mut String, parameters: &Parameters, size: f64, seed: u64) -> Option<String> {
    let outcome = run(
        parameters,
        Scenario {
            seed,
            first_hour: PEAK,
            hours: 1,
            is_warm: true,
            fails_at: None,
        },
    );
    let cores = parameters.replicas * parameters.cores;
    let busy = 100.0 * outcome.busy as f64 / (cores * HOUR as f64);
    let hits = share(outcome.hits, outcome.hits + outcome.misses);
    let p = SimulationResult::per_mille;
    let warm = p(&outcome.warm, 990);
    let documents = gigabytes(parameters.notes * parameters.document_bytes);
    let stored = documents + journal(parameters, 365.0);
    let broken: Vec<&str> = [
        (busy > MOST_BUSY, "processors"),
        (hits < LEAST_HITS, "cache"),
        (warm > MOST_WARM, "warm p99"),
        (stored > MOST_POSTGRES, "PostgreSQL"),
    ]
    .into_iter()
    .filter_map(|(is_broken, what)| is_broken.then_some(what))
    .collect();
    let broken = (!broken.is_empty()).then(|| broken.join(", "));
    let shown = broken.as_deref().unwrap_or("none");
    let cold = match outcome.cold.is_empty() {
        true => "none".to_owned(),
        false => {
            let [half, slow] = [500, 990].map(|share| p(&outcome.cold, share));
            format!("{half:.0}, {slow:.0}")
        }
    };
    *text += &format!(
        "| {size} × | {:.1} | {busy:.1} | {hits:.1} | {:.0}, {warm:.0} | {cold} | {stored:.0} | {shown} |\n",
        outcome.requests as f64 / (HOUR / SECOND) as f64,
        p(&outcome.warm, 500),
    );
    broken
}
