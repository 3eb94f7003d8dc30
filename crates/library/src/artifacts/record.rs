//! `set.toml`: strict, bounded parsing, and writing.

use std::collections::HashSet;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use sectile_markdown::{Digest, NotePath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::storage::is_notebook;

/// The name of the record, beside the payload files.
pub const SIDECAR: &str = "set.toml";
/// The only supported version of the format.
const FORMAT: u32 = 1;
/// The longest file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most sources of a set.
pub const MAX_SOURCES: usize = 10_000;
/// The most steps of a set.
pub const MAX_STEPS: usize = 100;
/// The most digests of the inputs or outputs of one step.
pub const MAX_DIGESTS: usize = 10_000;
/// The most payload files of a set.
pub const MAX_ARTIFACTS: usize = 1000;
/// The longest parameters of one step, in bytes of JSON.
pub const MAX_PARAMETERS: usize = 16 << 10;
/// The longest name of a tool, in characters.
pub const MAX_TOOL: usize = 200;
/// The longest note, in characters.
pub const MAX_NOTE: usize = 2000;
/// The longest name of a set or a file, in bytes.
pub const MAX_NAME: usize = 200;

/// The kind of derived material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArtifactType {
    /// A shorter version of the sources.
    Summary,
    /// A list of topics and where they are.
    Index,
    /// Facts extracted from a text.
    Extraction,
    /// A new text made from several.
    Synthesis,
}

/// Whether a person vouches for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Made by a program, without authority.
    Offered,
    /// Written by a person.
    Canonical,
}

/// Who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    /// A program.
    SynthesisPipeline,
    /// A person.
    HumanExport,
}

/// The record of a set of artifacts.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactRecord {
    /// The kind of derived material.
    pub kind: ArtifactType,
    /// Whether a person vouches for it.
    pub status: Status,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// Who made it.
    pub created_by: Maker,
    /// When it was last made again, if recorded.
    pub last_refreshed: Option<i64>,
    /// A note by its maker on how far it can be trusted.
    pub confidence_note: Option<String>,
    /// The notebooks that it was made from.
    pub sources: Vec<Source>,
    /// The steps, in order, numbered from 1.
    pub steps: Vec<RecordStep>,
    /// The payload files, at least one.
    pub payloads: Vec<RecordPayload>,
}

/// A notebook that a set was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path relative to the collection.
    pub notebook: NotePath,
    /// Its digest at that time.
    pub digest: Digest,
}

/// One transformation.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordStep {
    /// The name of the tool.
    pub tool: String,
    /// Its parameters.
    pub parameters: serde_json::Map<String, Value>,
    /// When it ran, in milliseconds since 1970.
    pub timestamp: i64,
    /// The digests of its inputs.
    pub inputs: Vec<Digest>,
    /// The digests of its outputs.
    pub outputs: Vec<Digest>,
}

/// A file of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPayload {
    /// The name of the file, beside the record.
    pub file: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRecord {
    format: u32,
    #[serde(rename = "type")]
    kind: ArtifactType,
    status: Status,
    created_at: toml::value::Datetime,
    created_by: Maker,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_refreshed: Option<toml::value::Datetime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence_note: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<StoredSource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StoredStep>,
    artifacts: Vec<StoredPayload>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSource {
    notebook: String,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredStep {
    order: usize,
    tool: String,
    timestamp: toml::value::Datetime,
    #[serde(default)]
    inputs: Vec<String>,
    #[serde(default)]
    outputs: Vec<String>,
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    parameters: toml::Table,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPayload {
    file: String,
    sha256: String,
    bytes: u64,
}

impl ArtifactRecord {
    /// Parses a record, or returns what is wrong with it: the rest of a sentence that begins with the file's name.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MAX_BYTES {
            return Err("is larger than 1 MiB".to_owned());
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
        let written: StoredRecord = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or("", |span| &text[..span.start]);
            let line = before.matches('\n').count() + 1;
            let message: String = error.message().chars().take(200).collect();
            format!("cannot be parsed: line {line}: {message}")
        })?;
        written.checked()
    }

    /// Returns the record as TOML, checked by the same rules as parsing.
    pub fn to_toml(&self) -> Result<String, String> {
        let digits = |digests: &[Digest]| digests.iter().map(Digest::to_string).collect();
        let mut steps = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let parameters = toml::Table::try_from(&step.parameters);
            steps.push(StoredStep {
                order: index + 1,
                tool: step.tool.clone(),
                timestamp: datetime(step.timestamp)?,
                inputs: digits(&step.inputs),
                outputs: digits(&step.outputs),
                parameters: parameters.map_err(|_| "has parameters that TOML cannot hold")?,
            });
        }
        let sources = self.sources.iter().map(|source| StoredSource {
            notebook: source.notebook.to_string(),
            sha256: source.digest.to_string(),
        });
        let artifacts = self.payloads.iter().map(|payload| StoredPayload {
            file: payload.file.clone(),
            sha256: payload.digest.to_string(),
            bytes: payload.bytes,
        });
        let written = StoredRecord {
            format: FORMAT,
            kind: self.kind,
            status: self.status,
            created_at: datetime(self.created_at)?,
            created_by: self.created_by,
            last_refreshed: self.last_refreshed.map(datetime).transpose()?,
            confidence_note: self.confidence_note.clone(),
            sources: sources.collect(),
            steps,
            artifacts: artifacts.collect(),
        };
        let text = toml::to_string(&written).map_err(|_| "cannot be written as TOML")?;
        Self::parse(text.as_bytes())?;
        Ok(text)
    }
}

impl StoredRecord {
    fn checked(self) -> Result<ArtifactRecord, String> {
        if self.format != FORMAT {
            return Err(format!(
                "has format {}; this program supports {FORMAT}",
                self.format
            ));
        }
        if self.status == Status::Canonical && self.created_by != Maker::HumanExport {
            return Err("says canonical, which only a human_export can be".to_owned());
        }
        let note = self.confidence_note;
        if note
            .as_ref()
            .is_some_and(|note| note.chars().count() > MAX_NOTE)
        {
            return Err(format!("has a confidence_note over {MAX_NOTE} characters"));
        }
        within(self.sources.len(), MAX_SOURCES, "sources")?;
        within(self.steps.len(), MAX_STEPS, "steps")?;
        within(self.artifacts.len(), MAX_ARTIFACTS, "artifacts")?;
        let sources = self.sources.into_iter().map(StoredSource::checked);
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let steps = self.steps.into_iter().enumerate();
        let steps = steps
            .map(|(index, step)| step.checked(index + 1))
            .collect::<Result<Vec<_>, _>>()?;
        let payloads = self.artifacts.into_iter().map(StoredPayload::checked);
        let payloads = payloads.collect::<Result<Vec<_>, _>>()?;
        if payloads.is_empty() {
            return Err("records no artifacts".to_owned());
        }
        let mut seen = HashSet::new();
        if !sources.iter().all(|one| seen.insert(one.notebook.as_str())) {
            return Err("records a source twice".to_owned());
        }
        let mut seen = HashSet::new();
        if !payloads.iter().all(|one| seen.insert(one.file.as_str())) {
            return Err("records a file twice".to_owned());
        }
        Ok(ArtifactRecord {
            kind: self.kind,
            status: self.status,
            created_at: milliseconds(&self.created_at)?,
            created_by: self.created_by,
            last_refreshed: self.last_refreshed.as_ref().map(milliseconds).transpose()?,
            confidence_note: note,
            sources,
            steps,
            payloads,
        })
    }
}

impl StoredSource {
    fn checked(self) -> Result<Source, String> {
        let notebook = NotePath::parse_vault(&self.notebook).ok();
        let notebook = notebook.filter(|path| path.as_str() == self.notebook && is_notebook(path));
        Ok(Source {
            notebook: notebook.ok_or("records a source that is not the path of a notebook")?,
            digest: digest(&self.sha256)?,
        })
    }
}

impl StoredStep {
    fn checked(self, place: usize) -> Result<RecordStep, String> {
        if self.order != place {
            return Err("does not number its steps 1, 2, 3 in order".to_owned());
        }
        if self.tool.is_empty() || self.tool.chars().count() > MAX_TOOL {
            return Err(format!(
                "has no tool, or one with a very long name, in step {place}"
            ));
        }
        within(self.inputs.len(), MAX_DIGESTS, "inputs")?;
        within(self.outputs.len(), MAX_DIGESTS, "outputs")?;
        let parameters: serde_json::Map<String, Value> = self
            .parameters
            .into_iter()
            .map(|(key, value)| (key, json(value)))
            .collect();
        let length = serde_json::to_string(&parameters).map_or(usize::MAX, |text| text.len());
        if length > MAX_PARAMETERS {
            return Err(format!("has parameters over 16 KiB in step {place}"));
        }
        let digests = |written: Vec<String>| {
            let digests = written.iter().map(|digits| digest(digits));
            digests.collect::<Result<Vec<_>, _>>()
        };
        Ok(RecordStep {
            tool: self.tool,
            parameters,
            timestamp: milliseconds(&self.timestamp)?,
            inputs: digests(self.inputs)?,
            outputs: digests(self.outputs)?,
        })
    }
}

impl StoredPayload {
    fn checked(self) -> Result<RecordPayload, String> {
        if !is_payload_name(&self.file) {
            return Err("records a file that is not a plain name".to_owned());
        }
        Ok(RecordPayload {
            digest: digest(&self.sha256)?,
            bytes: self.bytes,
            file: self.file,
        })
    }
}

/// Returns whether a set or a file of a set may have this name.
pub fn is_plain_name(name: &str) -> bool {
    let path = NotePath::parse_vault(name);
    name.len() <= MAX_NAME
        && !name.starts_with('.')
        && !name.contains(['/', ':'])
        && !name.chars().any(char::is_control)
        && path.is_ok_and(|path| path.as_str() == name)
}

/// Returns whether a payload may have this name.
pub fn is_payload_name(name: &str) -> bool {
    is_plain_name(name) && !name.eq_ignore_ascii_case(SIDECAR)
}

fn within(count: usize, most: usize, what: &str) -> Result<(), String> {
    match count <= most {
        true => Ok(()),
        false => Err(format!("has {count} {what}, more than {most}")),
    }
}

/// Parses a digest in its canonical form.
fn digest(digits: &str) -> Result<Digest, String> {
    Digest::parse(digits)
        .filter(|digest| digest.to_string() == digits)
        .ok_or_else(|| "has a digest that is not 64 lower-case hexadecimal digits".to_owned())
}

fn milliseconds(moment: &toml::value::Datetime) -> Result<i64, String> {
    let moment = moment.to_string().parse::<jiff::Timestamp>();
    let moment = moment.map_err(|_| "has a time without a day or an offset")?;
    Ok(moment.as_millisecond())
}

fn datetime(milliseconds: i64) -> Result<toml::value::Datetime, String> {
    jiff::Timestamp::from_millisecond(milliseconds)
        .ok()
        .and_then(|moment| moment.to_string().parse().ok())
        .ok_or_else(|| "has a time that cannot be written".to_owned())
}

/// Numbers that JSON does not have, and times, become strings.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map_or_else(|| Value::String(number.to_string()), Value::Number),
        toml::Value::Boolean(value) => Value::Bool(value),
        toml::Value::Datetime(moment) => Value::String(moment.to_string()),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(json).collect()),
        toml::Value::Table(table) => Value::Object(
            table
                .into_iter()
                .map(|(key, value)| (key, json(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests;
