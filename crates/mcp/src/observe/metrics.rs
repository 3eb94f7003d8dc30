//! Metrics for Prometheus. No label comes from what a caller wrote.

use std::{collections::BTreeSet, fmt, sync::Arc};

use axum::{Router, extract::State, response::IntoResponse, routing::get};
use http::{StatusCode, header};
use parking_lot::{Mutex, RwLock};
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::CallRecord;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper bounds of the histogram buckets for the duration of calls, in seconds.
const BUCKETS: [f64; 16] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0, 30.0,
];
/// Largest number of tool names, more than all tables have together. Names come from tables, so this is never reached;
/// if a mistake let another name through, it could not fill the memory.
const MAX_TOOLS: usize = 256;
const LONGEST_NAME: usize = 64;
/// The label of a tool whose name has no room.
const OTHER: &str = "other";

/// The metrics of this process.
pub struct Metrics {
    registry: Mutex<Registry>,
    calls: Family<CallLabels, Counter>,
    seconds: Family<WorldLabel, Histogram>,
    in_flight: Family<WorldLabel, Gauge>,
    refusals: Family<ReasonLabel, Counter>,
    upstream: Family<ClassLabel, Counter>,
    tools: RwLock<BTreeSet<Arc<str>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    world: &'static str,
    tool: Arc<str>,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorldLabel {
    world: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabel {
    class: &'static str,
}

impl Metrics {
    /// Makes the metrics of a server that has not been called yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let mut registry = Registry::with_prefix("sectile");
        let calls = Family::default();
        let seconds = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> _);
        let in_flight = Family::default();
        let refusals = Family::default();
        let upstream = Family::default();
        registry.register("calls", "Calls that have ended", calls.clone());
        registry.register_with_unit("call", "Duration of calls", Unit::Seconds, seconds.clone());
        registry.register("calls_in_flight", "Calls in flight", in_flight.clone());
        registry.register(
            "refusals",
            "Requests refused before they became calls",
            refusals.clone(),
        );
        registry.register(
            "upstream",
            "Answers from the upstream note store",
            upstream.clone(),
        );
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of the program", build);
        Arc::new(Self {
            registry: Mutex::new(registry),
            calls,
            seconds,
            in_flight,
            refusals,
            upstream,
            tools: RwLock::default(),
        })
    }

    /// Exposes `lost`, the number of calls that could not be recorded.
    pub(super) fn show_lost_records(&self, lost: Counter) {
        let mut registry = self.registry.lock();
        let help = "Calls that could not be written to the audit log";
        registry.register("audit_lost", help, lost);
    }

    pub(super) fn began(&self, world: &'static str) {
        self.in_flight.get_or_create(&WorldLabel { world }).inc();
    }

    pub(super) fn ended(&self, call: &CallRecord<'_>) {
        let world = WorldLabel { world: call.world };
        self.in_flight.get_or_create(&world).dec();
        let seconds = call.elapsed.as_secs_f64();
        self.seconds.get_or_create(&world).observe(seconds);
        let labels = CallLabels {
            world: call.world,
            tool: self.tool(call.tool),
            outcome: call.outcome,
        };
        self.calls.get_or_create(&labels).inc();
        if let Some(class) = call.upstream {
            self.upstream.get_or_create(&ClassLabel { class }).inc();
        }
    }

    pub(super) fn refused(&self, reason: &'static str) {
        self.refusals.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Serves `/metrics` until `shutdown` fires.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, shutdown: CancellationToken) {
        let app = Router::new()
            .route("/metrics", get(show))
            .with_state(Arc::clone(&self));
        let served = tokio::select! {
            served = async { axum::serve(listener, app).await } => served,
            () = shutdown.cancelled() => Ok(()),
        };
        if let Err(error) = served {
            tracing::error!(kind = ?error.kind(), "metrics are no longer served");
        }
    }

    /// Returns the metrics as text.
    fn text(&self) -> Result<String, fmt::Error> {
        let mut figures = String::new();
        let registry = self.registry.lock();
        text::encode(&mut figures, &registry).map(|()| figures)
    }

    /// Returns the label of a tool, shared by all its calls.
    fn tool(&self, name: &str) -> Arc<str> {
        let known = self.tools.read();
        if let Some(label) = known.get(name) {
            return Arc::clone(label);
        }
        drop(known);
        let mut known = self.tools.write();
        let kept_free = usize::from(!known.contains(OTHER));
        let has_room = known.len() + kept_free < MAX_TOOLS;
        let label: Arc<str> = if has_room && looks_like_a_name(name) {
            name.into()
        } else {
            OTHER.into()
        };
        known.insert(Arc::clone(&label));
        label
    }
}

/// Returns whether `name` has the form of the names in our tables.
fn looks_like_a_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(fits)
}

async fn show(State(metrics): State<Arc<Metrics>>) -> impl IntoResponse {
    match metrics.text() {
        Ok(figures) => Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], figures)),
        Err(fmt::Error) => Err(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        time::timeout,
    };

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn call<'a>(tool: &'a str, outcome: &'static str) -> CallRecord<'a> {
        CallRecord {
            world: "vault",
            tool,
            outcome,
            truth: ("hidden_tool", "not_allowed"),
            upstream: None,
            elapsed: Duration::from_millis(3),
            caller: Some("key:ann"),
        }
    }

    fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
        let found = text.lines().filter(|line| line.starts_with(start));
        found.collect()
    }

    #[test]
    fn everything_is_counted_under_its_name() {
        let metrics = Metrics::new();
        let lost = Counter::default();
        metrics.show_lost_records(lost.clone());
        lost.inc_by(7);
        metrics.began("vault");
        metrics.began("vault");
        metrics.began("hosted");
        metrics.ended(&call("get_note_outline", "ok"));
        let hosted = CallRecord {
            world: "hosted",
            upstream: Some("5xx"),
            elapsed: Duration::from_secs(45),
            ..call("get_section_source", "upstream_error")
        };
        metrics.ended(&hosted);
        metrics.refused("no_credentials");
        metrics.refused("no_credentials");
        let text = metrics.text().unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let expected = [
            "sectile_calls_total{world=\"vault\",tool=\"get_note_outline\",outcome=\"ok\"} 1",
            "sectile_calls_total{world=\"hosted\",tool=\"get_section_source\",outcome=\"upstream_error\"} 1",
            "sectile_call_seconds_count{world=\"vault\"} 1",
            "sectile_call_seconds_bucket{le=\"0.0025\",world=\"vault\"} 0",
            "sectile_call_seconds_bucket{le=\"0.005\",world=\"vault\"} 1",
            "sectile_call_seconds_bucket{le=\"30.0\",world=\"hosted\"} 0",
            "sectile_call_seconds_bucket{le=\"+Inf\",world=\"hosted\"} 1",
            "sectile_calls_in_flight{world=\"vault\"} 1",
            "sectile_calls_in_flight{world=\"hosted\"} 0",
            "sectile_refusals_total{reason=\"no_credentials\"} 2",
            "sectile_upstream_total{class=\"5xx\"} 1",
            "sectile_audit_lost_total 7",
            &format!("sectile_build_info{{version=\"{version}\"}} 1"),
            "# EOF",
        ];
        for line in expected {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(
            !text.contains("ann") && !text.contains("hidden_tool"),
            "{text}"
        );
    }

    #[test]
    fn as_many_calls_run_as_have_begun_and_not_ended() {
        let metrics = Metrics::new();
        let outcomes = ["ok", "unknown_tool", "dropped", "timed_out"];
        for outcome in outcomes {
            metrics.began("vault");
            let before = metrics.text().unwrap();
            assert_eq!(
                lines(&before, "sectile_calls_in_flight{"),
                ["sectile_calls_in_flight{world=\"vault\"} 1"]
            );
            metrics.ended(&call("unknown", outcome));
        }
        let text = metrics.text().unwrap();
        assert_eq!(
            lines(&text, "sectile_calls_in_flight{"),
            ["sectile_calls_in_flight{world=\"vault\"} 0"]
        );
        assert_eq!(lines(&text, "sectile_calls_total{").len(), outcomes.len());
    }

    #[test]
    fn odd_names_make_no_label() {
        let metrics = Metrics::new();
        let odd = [
            "",
            "a b",
            "x\"} 1\nsectile_forged_total 1",
            "ünïcode",
            "../../etc/passwd\0",
            &"x".repeat(LONGEST_NAME + 1),
        ];
        for name in odd {
            metrics.ended(&call(name, "ok"));
        }
        let text = metrics.text().unwrap();
        assert_eq!(
            lines(&text, "sectile_calls_total{"),
            ["sectile_calls_total{world=\"vault\",tool=\"other\",outcome=\"ok\"} 6"]
        );
        assert!(!text.contains("forged"), "{text}");
    }

    #[test]
    fn names_from_elsewhere_could_not_fill_the_memory() {
        let metrics = Metrics::new();
        metrics.ended(&call("get_note_outline", "ok"));
        for number in 0..10_000 {
            metrics.ended(&call(&format!("name_{number}"), "ok"));
        }
        metrics.ended(&call("get_note_outline", "ok"));
        let text = metrics.text().unwrap();
        let series = lines(&text, "sectile_calls_total{");
        assert_eq!(series.len(), MAX_TOOLS);
        let known =
            "sectile_calls_total{world=\"vault\",tool=\"get_note_outline\",outcome=\"ok\"} 2";
        assert!(series.contains(&known));
        let others = format!(
            "sectile_calls_total{{world=\"vault\",tool=\"other\",outcome=\"ok\"}} {}",
            10_001 - (MAX_TOOLS - 1)
        );
        assert!(series.contains(&others.as_str()), "{others}");
    }

    async fn ask(address: std::net::SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn figures_are_served_and_nothing_else() {
        let metrics = Metrics::new();
        metrics.refused("too_large");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(metrics.serve(listener, shutdown.clone()));
        let answer = ask(address, "GET /metrics").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        let content_type = format!("content-type: {CONTENT_TYPE}\r\n");
        assert!(answer.contains(&content_type), "{answer}");
        assert!(answer.contains("sectile_refusals_total{reason=\"too_large\"} 1\n"));
        assert!(answer.ends_with("# EOF\n"), "{answer}");
        for other in ["/", "/metrics/", "/healthz", "/mcp"] {
            let answer = ask(address, &format!("GET {other}")).await;
            assert!(answer.starts_with("HTTP/1.1 404 "), "{other}: {answer}");
        }
        shutdown.cancel();
        timeout(PATIENCE, serving).await.unwrap().unwrap();
    }
}
