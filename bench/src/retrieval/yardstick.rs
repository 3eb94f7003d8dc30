//! The baseline: the model that ours was distilled from, in f32. Its vectors come from `model/yardstick.py`, and its speed
//! from `model/onnx_yardstick.py`. Both run in a Python environment that `cargo xtask bench` creates; without it they are
//! skipped.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use sectile_markdown::Digest;
use sectile_retrieval::evaluation::TestSet;

use super::{model_folder, sets};
use crate::Bench;

const DIMENSIONS: usize = 384;

/// Unit vectors.
pub(super) struct Vectors {
    documents: Vec<Vec<f32>>,
    /// The vectors of the queries of each set.
    pub(super) queries: Vec<Vec<Vec<f32>>>,
}

impl Vectors {
    /// Returns the cosines of a query's vector with all documents.
    pub(super) fn cosines(&self, vector: &[f32]) -> Vec<f32> {
        let cosine = |document: &Vec<f32>| document.iter().zip(vector).map(|(a, b)| a * b).sum();
        self.documents.iter().map(cosine).collect()
    }
}

/// Returns the vectors of all documents and queries. Computing them takes minutes, so they are kept.
pub(super) fn vectors(bench: &Bench, sets: &[TestSet]) -> Result<Vectors> {
    let script = script("yardstick.py")?;
    let python = python(bench)?;
    let folder = bench.target.join("retrieval");
    let out = folder.join(format!("yardstick-{}", &stamp(bench, &script)?[..16]));
    let done = out.join("done");
    if !done.is_file() {
        println!("       embedding with MiniLM f32: minutes, once; kept for next time");
        fs::create_dir_all(&out)?;
        let mut command = Command::new(python);
        command.env("OMP_NUM_THREADS", "1").arg(script);
        command.arg(sets::folder(bench));
        command.arg(sets::questions()).arg(&out);
        let output = command.stdin(Stdio::null()).output()?;
        ensure!(
            output.status.success(),
            "model/yardstick.py failed: {}",
            last_line(&output.stderr)
        );
        fs::write(&done, "")?;
    }
    let read = |name: &str, count: usize| rows(&out.join(format!("{name}.f32")), count);
    let documents = sets.first().map_or(0, |set| set.documents.len());
    let queries = sets::SETS.iter().zip(sets);
    Ok(Vectors {
        documents: read("documents", documents)?,
        queries: queries
            .map(|((_, queries, _), set)| read(&of_queries(queries), set.queries.len()))
            .collect::<Result<_>>()?,
    })
}

/// Returns the name of the vectors for a file of queries.
fn of_queries(file: &str) -> String {
    match file.strip_prefix("queries") {
        Some("") => format!("{file}-path"),
        Some(_) => file.to_owned(),
        None => format!("queries-{file}"),
    }
}

/// Reads vectors stored as rows of little-endian numbers.
fn rows(path: &Path, count: usize) -> Result<Vec<Vec<f32>>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = fs::read(path).with_context(|| format!("model/yardstick.py left no {name}"))?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    ensure!(
        rest.is_empty() && numbers.len() == count * DIMENSIONS,
        "{name} has {} bytes, not {DIMENSIONS} numbers for each of {count} texts",
        bytes.len()
    );
    let rows = numbers.chunks(DIMENSIONS).map(|row| {
        let row: Vec<f32> = row.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        row.iter().map(|value| value / length.max(1e-9)).collect()
    });
    Ok(rows.collect())
}

/// Returns a digest of everything the vectors depend on.
fn stamp(bench: &Bench, script: &Path) -> Result<String> {
    let mut all = fs::read(script)?;
    let names = sets::SETS.iter().map(|(_, queries, _)| *queries);
    for name in names.chain(["corpus"]) {
        all.extend(fs::read(sets::path(bench, &format!("{name}.jsonl")))?);
    }
    Ok(Digest::of(&all).to_string())
}

fn script(name: &str) -> Result<PathBuf> {
    let script = model_folder().join(name);
    ensure!(script.is_file(), "model/{name} does not exist");
    Ok(script)
}

fn python(bench: &Bench) -> Result<PathBuf> {
    let home = bench.target.join("outside/yardstick");
    ensure!(
        home.join("installed").is_file(),
        "its Python environment does not exist; `cargo xtask bench --retrieval` says why"
    );
    Ok(home.join("bin/python"))
}

fn last_line(output: &[u8]) -> String {
    let output = String::from_utf8_lossy(output);
    output.lines().last().unwrap_or_default().to_owned()
}

/// ONNX Runtime with a model of MiniLM's shape, on one thread, in turns with ours.
pub(super) struct Onnx {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Onnx {
    pub(super) fn start(bench: &Bench) -> Result<Self> {
        let script = script("onnx_yardstick.py")?;
        let mut child = Command::new(python(bench)?)
            .arg(script)
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut started = Self {
            child,
            input,
            output,
        };
        let line = started.line()?;
        ensure!(
            line == "ready",
            "model/onnx_yardstick.py starts with another line"
        );
        Ok(started)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let length = self.output.read_line(&mut line)?;
        ensure!(length > 0, "model/onnx_yardstick.py does not run here");
        Ok(line.trim().to_owned())
    }

    /// Encodes batches of `together` texts of 128 tokens for about `time`. Returns the number of texts per second.
    pub(super) fn run(&mut self, time: Duration, together: usize) -> Result<f64> {
        writeln!(self.input, "run {} {together}", time.as_millis())?;
        let line = self.line()?;
        let (texts, nanoseconds) = line.split_once(' ').context("two numbers")?;
        let (texts, nanoseconds): (f64, f64) = (texts.parse()?, nanoseconds.parse()?);
        Ok(texts * 1e9 / nanoseconds.max(1.0))
    }
}

impl Drop for Onnx {
    fn drop(&mut self) {
        // It ends by itself when its input does; nothing is lost if it is killed before.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}
