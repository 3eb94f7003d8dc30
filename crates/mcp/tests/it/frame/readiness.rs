//! `/readyz` over a world that can report that it is not ready.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use super::{wire::HttpServer, *};

/// The source that the world of these tests reads from.
#[derive(Clone, Default)]
struct Backend {
    is_down: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    /// Held by the test to make probes wait.
    busy: Arc<Mutex<()>>,
}

impl Backend {
    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    async fn serve(&self) -> HttpServer {
        let envelope =
            |failure: &Failure| ErrorResponse::Result(json!({ "problem": failure.message }));
        let instructions = "A shelf that may be out of reach.";
        let spec = WorldSpec {
            ready: Some(ready),
            ..WorldSpec::new("shelf", instructions, envelope, ErrorList::default)
        };
        let surface = Surface::new(spec, self.clone(), Policy::default(), limits());
        HttpServer::start(surface).await
    }
}

fn ready(backend: &Backend) -> Result<(), String> {
    backend.asked.fetch_add(1, Ordering::SeqCst);
    drop(backend.busy.lock().unwrap());
    match backend.is_down.load(Ordering::SeqCst) {
        false => Ok(()),
        true => Err("shelf.internal.example does not answer.".to_owned()),
    }
}

async fn probe(http: &HttpServer) -> (u16, String) {
    let answer = http.get("/readyz").await;
    (answer.status, answer.text().await)
}

fn ready_answer() -> (u16, String) {
    (200, "ready\n".to_owned())
}

/// Without the reason: it may name machines that outsiders must not learn about.
fn not_ready_answer() -> (u16, String) {
    (503, "not ready\nshelf\n".to_owned())
}

/// Probes until the answer is `expected`.
async fn until(http: &HttpServer, expected: (u16, String)) {
    let waiting = async {
        while probe(http).await != expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = timeout(PATIENCE, waiting).await;
    waited.unwrap_or_else(|_| panic!("waited in vain for {expected:?}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_follows_the_backend_and_life_does_not() {
    let backend = Backend::default();
    let http = backend.serve().await;
    assert_eq!(probe(&http).await, ready_answer());
    for _ in 0..2 {
        backend.is_down.store(true, Ordering::SeqCst);
        until(&http, not_ready_answer()).await;
        let alive = http.get("/healthz").await;
        assert_eq!(alive.status, 200);
        assert_eq!(alive.text().await, "ok\n");
        backend.is_down.store(false, Ordering::SeqCst);
        until(&http, ready_answer()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_do_not_load_the_backend() {
    let backend = Backend::default();
    let http = backend.serve().await;
    let started = Instant::now();
    for _ in 0..10 {
        let probes = (0..10).map(|_| probe(&http));
        for answer in futures::future::join_all(probes).await {
            assert_eq!(answer, ready_answer());
        }
    }
    // The answer is cached for a second.
    let most = 1 + started.elapsed().as_secs();
    assert!(backend.asked() as u64 <= most, "asked {}", backend.asked());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_hangs_is_not_ready_and_is_not_asked_again_meanwhile() {
    let backend = Backend::default();
    let http = backend.serve().await;
    {
        let held = Arc::clone(&backend.busy);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let holder = std::thread::spawn(move || {
            let _held = held.lock().unwrap();
            released.recv().unwrap();
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        for _ in 0..2 {
            assert_eq!(probe(&http).await, not_ready_answer());
            tokio::time::sleep(Duration::from_millis(1100)).await;
        }
        assert_eq!(backend.asked(), 1);
        release.send(()).unwrap();
        holder.join().unwrap();
    }
    until(&http, ready_answer()).await;
}
