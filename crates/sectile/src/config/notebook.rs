//! The settings of the notebook world, checked.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;

use sectile_backends::{PostgresSettings, S3Credentials, S3Settings, S3Style};

use super::{
    ConfigError, Loaded, Mistakes, Origin,
    front::Files,
    raw::{NotebookConstraints, S3, VectorStorage},
};
use crate::access::Secret;

/// What the notebook world works with.
#[derive(Clone)]
pub(crate) struct NotebookSettings {
    /// Folder of the collections, when it is configured.
    pub(crate) root: Option<PathBuf>,
    /// Bucket of the collections, when they are in one.
    pub(crate) bucket: Option<S3Settings>,
    /// Where artifacts are, when they are not with the notebooks.
    pub(crate) artifacts: Option<ArtifactPlace>,
    /// Database of the vectors, when they are in one.
    pub(crate) postgres: Option<PostgresSettings>,
    /// Folder of the indexes, when it is not beside the notebooks.
    pub(crate) index: Option<PathBuf>,
    pub(crate) constraints: NotebookConstraints,
    /// What handles are sealed with, where several replicas share it.
    pub(crate) shared_secret: Option<Secret>,
    /// Limits of the server and of the storages that are used, by the names of their settings, as they are written.
    pub(crate) server_limits: BTreeMap<String, u64>,
}

/// A place for artifacts alone.
#[derive(Clone)]
pub(crate) enum ArtifactPlace {
    Folder(PathBuf),
    Bucket(Box<S3Settings>),
}

const ROOT: &str = "notebook.root";
const NOTEBOOKS: &str = "notebook.notebook_storage";
const VECTORS: &str = "notebook.vector_storage";
const ARTIFACTS: &str = "notebook.artifact_storage";

impl NotebookSettings {
    /// Checks what was loaded. Paths from a file count from its folder, `base`.
    pub(super) fn resolve(loaded: &Loaded, base: &Path) -> Result<Self, Mistakes> {
        let raw = &loaded.raw.notebook;
        let files = Files { loaded, base };
        let mut mistakes = Mistakes::default();
        let notebooks = mistakes.take(notebooks(files));
        let root = notebooks.as_ref().and_then(|(root, _)| root.as_ref());
        let artifacts = mistakes.take(artifacts(files, root));
        let postgres = mistakes.take(postgres(files, &raw.vector_storage));
        let shared_secret = mistakes.take(shared_secret(files));
        let (Some((root, bucket)), Some(artifacts), Some(postgres), Some(shared_secret)) =
            (notebooks, artifacts, postgres, shared_secret)
        else {
            return Err(mistakes);
        };
        let mut server_limits = numbers("server", &loaded.raw.server);
        if bucket.is_some() {
            server_limits.extend(numbers(NOTEBOOKS, &raw.notebook_storage));
        }
        if matches!(artifacts, Some(ArtifactPlace::Bucket(_))) {
            server_limits.extend(numbers(ARTIFACTS, &raw.artifact_storage));
        }
        if postgres.is_some() {
            server_limits.extend(numbers(VECTORS, &raw.vector_storage));
        }
        Ok(Self {
            index: files.place("notebook.index", &raw.index),
            postgres,
            server_limits,
            root,
            bucket,
            artifacts,
            constraints: raw.constraints,
            shared_secret,
        })
    }

    /// Whether there are notebooks to serve.
    pub(crate) fn is_configured(&self) -> bool {
        self.root.is_some() || self.bucket.is_some()
    }
}

/// Every number in a section of the settings, by its name, except those that bound no calls.
fn numbers(section: &str, values: &impl Serialize) -> BTreeMap<String, u64> {
    const OTHERS: [&str; 4] = [
        "server.auth.",
        "server.metrics.",
        "server.audit.",
        "server.http.stop_notice_ms",
    ];
    let mut found = BTreeMap::new();
    let mut rest = vec![(
        section.to_owned(),
        serde_json::to_value(values).unwrap_or_default(),
    )];
    while let Some((name, value)) = rest.pop() {
        match value {
            Value::Object(fields) => {
                let fields = fields.into_iter();
                rest.extend(fields.map(|(field, value)| (format!("{name}.{field}"), value)));
            }
            value => {
                let is_other = OTHERS.iter().any(|other| name.starts_with(other));
                if let Some(number) = value.as_u64().filter(|_| !is_other) {
                    found.insert(name, number);
                }
            }
        }
    }
    found
}

/// The folder or the bucket of the collections.
fn notebooks(files: Files<'_>) -> Result<(Option<PathBuf>, Option<S3Settings>), ConfigError> {
    let loaded = files.loaded;
    let raw = &loaded.raw.notebook;
    let storage = &raw.notebook_storage;
    let path_key = format!("{NOTEBOOKS}.path");
    let mut root = files.place(ROOT, &raw.root);
    let is_flag = matches!(loaded.origin(ROOT), Origin::Flag(_));
    let bucket = match storage.kind.as_str() {
        "filesystem" => {
            let path = files.place(&path_key, &storage.path);
            if !is_flag && root.is_some() && path.is_some() && root != path {
                return Err(files.refuse(
                    &path_key,
                    "left out when notebook.root is set: both are the folder of the collections",
                ));
            }
            root = root.or(path);
            None
        }
        // A folder on the command line is what is served.
        "s3" | "supabase" if is_flag => None,
        "s3" | "supabase" if root.is_some() => {
            let expected = format!("empty when {NOTEBOOKS}.type is {}", storage.kind);
            return Err(files.refuse(ROOT, expected));
        }
        kind @ ("s3" | "supabase") => Some(s3(
            files,
            NOTEBOOKS,
            kind,
            (&storage.path, &storage.s3),
            loaded.raw.vault.max_note_bytes,
        )?),
        _ => {
            return Err(files.refuse(&format!("{NOTEBOOKS}.type"), "filesystem, s3 or supabase"));
        }
    };
    Ok((root, bucket))
}

/// Where artifacts are, when they are not with the notebooks in `root`.
fn artifacts(
    files: Files<'_>,
    root: Option<&PathBuf>,
) -> Result<Option<ArtifactPlace>, ConfigError> {
    let place = &files.loaded.raw.notebook.artifact_storage;
    let artifacts = match (place.kind.as_str(), place.path.as_str()) {
        ("filesystem" | "s3", "") => None,
        ("filesystem", path) => files
            .place(&format!("{ARTIFACTS}.path"), path)
            .filter(|place| Some(place) != root)
            .map(ArtifactPlace::Folder),
        ("s3", path) => {
            let bucket = s3(
                files,
                ARTIFACTS,
                "s3",
                (path, &place.s3),
                files.loaded.raw.vault.max_note_bytes,
            )?;
            Some(ArtifactPlace::Bucket(Box::new(bucket)))
        }
        _ => return Err(files.refuse(&format!("{ARTIFACTS}.type"), "filesystem or s3")),
    };
    Ok(artifacts)
}

/// The database of the vectors, if they are in one.
fn postgres(
    files: Files<'_>,
    raw: &VectorStorage,
) -> Result<Option<PostgresSettings>, ConfigError> {
    let key = |name: &str| format!("{VECTORS}.{name}");
    match raw.kind.as_str() {
        "embedded" if raw.connection.is_empty() => return Ok(None),
        "embedded" => {
            return Err(files.refuse(
                &key("connection"),
                "empty: embedded vectors lie beside the notebooks",
            ));
        }
        "pgvector" => {}
        _ => {
            return Err(files.refuse(
                &key("type"),
                "embedded or pgvector; this version serves no other storage, such as pinecone, weaviate",
            ));
        }
    }
    let password = files.secret(
        (&key("password_file"), &raw.password_file),
        (&key("password_env"), &raw.password_env),
    )?;
    let settings = PostgresSettings {
        password: password.map(|secret| secret.reveal().to_owned()),
        extra_roots: files.text(&key("ca_file"), &raw.ca_file)?,
        max_connections: raw.max_connections,
        connect_timeout: Duration::from_millis(raw.connect_timeout_ms),
        statement_timeout: Duration::from_millis(raw.statement_timeout_ms),
        exact_below: raw.exact_below,
        candidates: raw.candidates,
        ..PostgresSettings::new(&raw.connection)
    };
    match settings.check() {
        Ok(()) => Ok(Some(settings)),
        Err(problem) => Err(files.refuse(
            &key("connection"),
            format!("like postgres://user@host:5432/database, without a password ({problem})"),
        )),
    }
}

/// A bucket, which the section `section` of the settings is about.
fn s3(
    files: Files<'_>,
    section: &str,
    kind: &str,
    (path, raw): (&str, &S3),
    max_note_bytes: u64,
) -> Result<S3Settings, ConfigError> {
    let key = |name: &str| format!("{section}.s3.{name}");
    let path_key = format!("{section}.path");
    let path = path.strip_prefix("s3://").unwrap_or(path);
    let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
    if bucket.is_empty() {
        return Err(files.refuse(&path_key, "a bucket: `bucket`, or `bucket/folder`"));
    }
    let secret = |name: &str, file: &str, variable: &str| {
        files.secret(
            (&key(&format!("{name}_file")), file),
            (&key(&format!("{name}_env")), variable),
        )
    };
    let access = secret("access_key", &raw.access_key_file, &raw.access_key_env)?;
    let hidden = secret("secret_key", &raw.secret_key_file, &raw.secret_key_env)?;
    let token = secret("session_token", "", &raw.session_token_env)?;
    let credentials = match (access, hidden) {
        (Some(access), Some(hidden)) => Some(S3Credentials {
            access_key: access.reveal().to_owned(),
            secret: hidden.reveal().to_owned(),
            session_token: token.map(|token| token.reveal().to_owned()),
        }),
        (None, None) => None,
        (Some(_), None) => {
            let expected = "set, here or as secret_key_env, where there is an access key";
            return Err(files.refuse(&key("secret_key_file"), expected));
        }
        (None, Some(_)) => {
            let expected = "set, here or as access_key_env, where there is a secret key";
            return Err(files.refuse(&key("access_key_file"), expected));
        }
    };
    let endpoint = match kind {
        "supabase" => S3Settings::supabase_endpoint(&raw.endpoint),
        _ => raw.endpoint.clone(),
    };
    let settings = S3Settings {
        region: raw.region.clone(),
        prefix: prefix.to_owned(),
        style: raw.virtual_hosted.then_some(S3Style::VirtualHosted),
        credentials,
        allow_http: raw.allow_http,
        proxy: files.proxy(&key("proxy"), &raw.proxy)?,
        extra_roots: files.text(&key("ca_file"), &raw.ca_file)?,
        max_note_bytes,
        timeout: Duration::from_millis(raw.timeout_ms),
        ..S3Settings::new(endpoint, bucket)
    };
    match settings.check() {
        Ok(()) => Ok(settings),
        Err(problem) => Err(files.refuse(
            &path_key,
            format!("a bucket that can be reached ({problem})"),
        )),
    }
}

/// The secret that replicas share, if the settings name one.
fn shared_secret(files: Files<'_>) -> Result<Option<Secret>, ConfigError> {
    const LEAST_BYTES: usize = 32;
    const KEY: &str = "notebook.shared_secret_file";
    let file = files.loaded.raw.notebook.shared_secret_file.as_str();
    let secret = files.secret((KEY, file), ("", ""))?;
    match &secret {
        Some(secret) if secret.reveal().len() < LEAST_BYTES => {
            Err(files.refuse(KEY, "a file with a secret of at least 32 bytes"))
        }
        _ => Ok(secret),
    }
}
