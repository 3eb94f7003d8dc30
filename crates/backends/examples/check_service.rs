//! Checks an index in a vector service of a real account against the rules of every index. `cargo xtask services --only
//! pinecone` runs it.
//!
//! It writes some thousand small records into namespaces or tenants of its own, and removes them.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore that is told by the environment what to check"
)]

use std::{
    env,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use sectile_backends::{BlockingRuntime, ServiceKind, ServiceSettings, vector_service};
use sectile_library::{
    VectorIndexing,
    conformance::{IndexHandles, check_index},
    testing::SameSizeModel,
    tiers::Models,
};

fn main() -> ExitCode {
    let kind = env::args().nth(1);
    match settings(kind.as_deref().unwrap_or_default()).and_then(|settings| check(&settings)) {
        Ok(time) => {
            println!("the index keeps every rule ({:.1} s)", time.as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn settings(kind: &str) -> Result<ServiceSettings, String> {
    let (kind, url, key) = match kind {
        "pinecone" => (ServiceKind::Pinecone, "PINECONE_HOST", "PINECONE_API_KEY"),
        "weaviate" => (ServiceKind::Weaviate, "WEAVIATE_URL", "WEAVIATE_API_KEY"),
        _ => return Err("give the service: pinecone or weaviate".to_owned()),
    };
    let url = env::var(url).map_err(|_| format!("{url} is not set"))?;
    let url = match url.contains("://") {
        true => url,
        false => format!("https://{url}"),
    };
    let random = getrandom::u64().map_err(|_| "no random numbers")?;
    Ok(ServiceSettings {
        api_key: env::var(key).ok(),
        // A server of Weaviate on this machine.
        allow_http: url.starts_with("http://127.0.0.1") || url.starts_with("http://localhost"),
        library: format!("check-{random:016x}"),
        candidates: 100_000,
        search_timeout: Duration::from_secs(120),
        ..ServiceSettings::new(kind, url)
    })
}

fn check(settings: &ServiceSettings) -> Result<Duration, String> {
    let models = Models::built_in().map_err(|error| error.to_string())?;
    let runtime = BlockingRuntime::new().map_err(|error| error.to_string())?;
    let open = |models: Models| -> Result<Arc<dyn VectorIndexing>, String> {
        vector_service(settings, runtime.clone(), models).map_err(|error| error.to_string())
    };
    let (one, other) = (open(models)?, open(models)?);
    let foreign = open(Models {
        first: SameSizeModel::new("another"),
        ..models
    })?;
    one.prepare().map_err(|error| error.to_string())?;
    let start = Instant::now();
    check_index(&IndexHandles {
        one: &*one,
        other: &*other,
        foreign: &*foreign,
        model: models.first,
    });
    one.remove("docs").map_err(|error| error.to_string())?;
    Ok(start.elapsed())
}
