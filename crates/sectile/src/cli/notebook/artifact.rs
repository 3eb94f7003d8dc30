//! `sectile notebook artifact add`: adds derived files to a collection, with the record of their origin.

mod step;

use std::path::Path;

use sectile_library::{
    ARTIFACTS,
    artifacts::{
        self, ArtifactRecord, Maker, SIDECAR, Status, is_deliverable,
        record::{RecordPayload, RecordStep, Source, is_payload_name, is_plain_name},
    },
    clock::Clock,
    folder::MAX_NOTE_BYTES,
    is_notebook,
    library::Library,
    provenance::step_links,
};
use sectile_markdown::Digest;
use sectile_vault::NotePath;
use serde_json::json;

use self::step::GivenStep;
use super::{args::AddArgs, failed, open, require};
use crate::{
    cli::ui::{CliError, DIM, GOOD, NAME, StyledText, print, visible},
    files,
};

pub(super) fn add(args: &AddArgs, clock: Clock) -> Result<(), CliError> {
    let storage = open(&args.root)?;
    require(&storage, &args.collection)?;
    if !is_plain_name(&args.set) {
        return Err(CliError::usage("SET is not a valid name for a set.")
            .next("use letters, digits, `-` and `_`"));
    }
    let mut contents = payloads(args, storage.max_notebook_bytes())?;
    let record = record(args, &storage, &contents, clock())?;
    let text = record
        .to_toml()
        .map_err(|what| CliError::failed(format_args!("the record {what}.")))?;
    contents.push((SIDECAR.to_owned(), text.into_bytes()));
    let Some(folder) = &storage.folder else {
        return Err(CliError::failed("artifacts can only be added to a folder.")
            .next("add them to a copy of the library, and put the files of `_artifacts` into the bucket"));
    };
    let collection = folder.location().join(&args.collection);
    files::create_folder(&collection.join(ARTIFACTS), &args.set, &contents).map_err(|error| {
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                CliError::failed("a set with this name exists already; nothing was changed.")
                    .next("choose another name: sets are never overwritten")
            }
            std::io::ErrorKind::NotADirectory => CliError::failed(format_args!(
                "`{ARTIFACTS}` of the collection is not a folder; nothing was changed."
            )),
            kind => CliError::failed(format_args!("the set cannot be written ({kind}).")),
        }
    })?;
    read_back(&storage, args, &record)?;
    report(args, &record)
}

/// Returns the files by name, with their bytes.
fn payloads(args: &AddArgs, max_bytes: u64) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let mut contents: Vec<(String, Vec<u8>)> = Vec::new();
    for path in &args.files {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| is_payload_name(name)) else {
            return Err(CliError::usage(format_args!(
                "a FILE has a name that artifacts may not have: {}",
                visible(&path.to_string_lossy())
            ))
            .next(format_args!(
                "rename it: no leading dot, no colon, and not `{SIDECAR}`"
            )));
        };
        if contents.iter().any(|(other, _)| other == name) {
            return Err(CliError::usage("two FILEs have the same name."));
        }
        let bytes = read(path, max_bytes)?;
        if !is_deliverable(&bytes) {
            return Err(CliError::failed(format_args!(
                "`{}` is neither text nor JSON, so no client could retrieve it; nothing was added.",
                visible(name)
            ))
            .next("convert it to UTF-8 text without NUL bytes"));
        }
        contents.push((name.to_owned(), bytes));
    }
    Ok(contents)
}

/// Reads a file, unless it is larger than a client could fetch.
fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, CliError> {
    let shown = visible(&path.to_string_lossy());
    let bytes = files::read_bytes(path, max_bytes).map_err(|error| {
        CliError::failed(format_args!("`{shown}` cannot be read ({}).", error.kind()))
    })?;
    bytes
        .ok_or_else(|| CliError::failed(format_args!("`{shown}` has more than {max_bytes} bytes.")))
}

fn record(
    args: &AddArgs,
    storage: &Library,
    contents: &[(String, Vec<u8>)],
    now: i64,
) -> Result<ArtifactRecord, CliError> {
    let status: Status = args.status.into();
    let created_by = match (args.by, status) {
        (Some(by), _) => by.into(),
        (None, Status::Canonical) => Maker::HumanExport,
        (None, Status::Offered) => Maker::SynthesisPipeline,
    };
    if status == Status::Canonical && created_by != Maker::HumanExport {
        return Err(
            CliError::usage("the output of a pipeline cannot be canonical.")
                .next("leave out --by, or use --status offered"),
        );
    }
    let payloads = contents.iter().map(|(file, bytes)| RecordPayload {
        file: file.clone(),
        digest: Digest::of(bytes),
        bytes: bytes.len() as u64,
    });
    let mut record = ArtifactRecord {
        kind: args.kind.into(),
        status,
        created_at: now,
        created_by,
        last_refreshed: None,
        confidence_note: args.note.clone(),
        sources: sources(args, storage)?,
        steps: Vec::new(),
        payloads: payloads.collect(),
    };
    record.steps = steps(args, &record, now)?;
    // Without sources, the first step cannot have inputs.
    let broken = step_links(&record)
        .into_iter()
        .find(|link| !link.holds && !record.sources.is_empty());
    match broken {
        Some(link) => Err(CliError::usage(format_args!(
            "step {} leaves a gap. {}",
            link.name, link.statement
        ))
        .next("name the files between steps with `out=FILE` and `in=FILE`")),
        None => Ok(record),
    }
}

fn sources(args: &AddArgs, storage: &Library) -> Result<Vec<Source>, CliError> {
    let mut sources: Vec<Source> = Vec::new();
    for given in &args.sources {
        let path = NotePath::parse_vault(given).ok();
        let path = path.filter(is_notebook);
        let missing = || {
            CliError::failed(format_args!(
                "the collection has no notebook `{}`.",
                visible(given)
            ))
            .next("name a source by its path in the collection")
        };
        let notebook = path.ok_or_else(missing)?;
        let bytes = storage.read(&args.collection, &notebook);
        let bytes = bytes.map_err(|error| failed(&error))?.ok_or_else(missing)?;
        if sources.iter().all(|source| source.notebook != notebook) {
            sources.push(Source {
                notebook,
                digest: Digest::of(&bytes),
            });
        }
    }
    Ok(sources)
}

/// Returns the steps, with the inputs and outputs of each.
fn steps(args: &AddArgs, record: &ArtifactRecord, now: i64) -> Result<Vec<RecordStep>, CliError> {
    let mut given = Vec::new();
    for text in &args.steps {
        given.push(GivenStep::parse(text).map_err(CliError::usage)?);
    }
    let digests = |paths: &[std::path::PathBuf]| {
        let digests = paths
            .iter()
            .map(|path| Ok(Digest::of(&read(path, MAX_NOTE_BYTES)?)));
        digests.collect::<Result<Vec<Digest>, CliError>>()
    };
    let mut before: Vec<Digest> = record.sources.iter().map(|source| source.digest).collect();
    let count = given.len();
    let mut steps = Vec::with_capacity(count);
    for (index, step) in given.into_iter().enumerate() {
        let inputs = match step.inputs.as_slice() {
            [] => before,
            paths => digests(paths)?,
        };
        let mut outputs = digests(&step.outputs)?;
        if index + 1 == count && outputs.is_empty() {
            outputs.extend(record.payloads.iter().map(|payload| payload.digest));
        }
        before = outputs.clone();
        steps.push(RecordStep {
            tool: step.tool,
            parameters: step.parameters,
            timestamp: now,
            inputs,
            outputs,
        });
    }
    Ok(steps)
}

/// Checks that the library has the set now. An ignore rule that hides it would make it useless.
fn read_back(storage: &Library, args: &AddArgs, record: &ArtifactRecord) -> Result<(), CliError> {
    for payload in &record.payloads {
        let id = format!("{}/{}", args.set, payload.file);
        let found = artifacts::find(storage, &args.collection, &id, &|| false).map_err(|_| {
            CliError::failed("the set was written, but the library does not see it.").next(
                format_args!("look for a rule in `.gitignore` that ignores `{ARTIFACTS}`"),
            )
        })?;
        let bytes = found.bytes.unwrap_or_default();
        if found.record != *record || Digest::of(&bytes) != payload.digest {
            return Err(CliError::failed(
                "the set was written, but it reads back differently.",
            ));
        }
    }
    Ok(())
}

fn report(args: &AddArgs, record: &ArtifactRecord) -> Result<(), CliError> {
    if args.json {
        let artifacts = record.payloads.iter().map(|payload| {
            json!({
                "artifact_id": format!("{}/{}", args.set, payload.file),
                "sha256": payload.digest.to_string(),
                "bytes": payload.bytes,
            })
        });
        let sources = record.sources.iter().map(|source| {
            json!({
                "notebook_id": source.notebook.as_str(),
                "sha256": source.digest.to_string(),
            })
        });
        let answer = json!({
            "collection_id": args.collection,
            "artifact_set_id": args.set,
            "artifacts": artifacts.collect::<Vec<_>>(),
            "sources": sources.collect::<Vec<_>>(),
            "steps": record.steps.len(),
        });
        return print(format_args!("{answer}\n"));
    }
    let mut text = String::new();
    for payload in &record.payloads {
        text += &format!(
            "{} {}  {}\n",
            StyledText(GOOD, "added"),
            StyledText(NAME, visible(&format!("{}/{}", args.set, payload.file))),
            payload.digest,
        );
    }
    for source in &record.sources {
        let name = visible(source.notebook.as_str());
        text += &format!(
            "  {}\n",
            StyledText(DIM, format_args!("from {name}  {}", source.digest))
        );
    }
    if record.sources.is_empty() {
        let remark = "no sources are recorded, so it can never be recognized as stale";
        text += &format!("  {}\n", StyledText(DIM, remark));
    }
    if args.steps.is_empty() {
        let remark = "no step is described, so none is recorded; say how it was made with --step";
        text += &format!("  {}\n", StyledText(DIM, remark));
    }
    print(text)
}
