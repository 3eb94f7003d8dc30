//! Encoding speed of the models, on one thread, with texts of 128 tokens; side by side with ONNX Runtime.

use std::{
    collections::HashSet,
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use sectile_retrieval::{Embedder, TransformerModel};

use super::{model_folder, yardstick::Onnx};
use crate::{
    Bench,
    report::{Report, Verdict},
};

/// The number of tokens of a text, including its start and end tokens.
const TOKENS: usize = 128;
const TEXTS: usize = 64;
/// The batch sizes.
const TOGETHER: [usize; 2] = [1, 8];
const SAME_SHAPE: f64 = 1.6;
const HALF_AS_DEEP: f64 = 1.8;
const ALIGNMENT: usize = 64;
const GROUP: usize = 32;

pub(super) fn run(report: &mut Report, bench: &Bench, models: &[&dyn Embedder]) -> Result<()> {
    let deep = *models.last().context("no model")?;
    let file = fs::read(model_folder().join(format!("{}.bin", deep.name())))?;
    let head = Head::of(&file)?;
    let texts = texts(&head.words(&file)?)?;
    let turn = Duration::from_millis(if bench.quick { 100 } else { 400 });
    for model in models {
        let mut encoder = Encoder::new(*model, &texts);
        encoder.run(turn, TOGETHER[1]);
        let speeds = (0..5).map(|_| encoder.run(turn, TOGETHER[1])).collect();
        let speed = median(speeds);
        let figures = format!("{speed:.0} texts/s, {:.0} tokens/s", speed * TOKENS as f64);
        report.seen(&format!("{} encodes", model.name()), &figures);
    }
    let shallow: &'static [u8] = Vec::leak(head.with_half_the_layers(&file)?);
    let shallow = TransformerModel::new("half as deep", shallow)?;
    let mut deep = Encoder::new(deep, &texts);
    let mut shallow = Encoder::new(&shallow, &texts);
    let mut onnx = match Onnx::start(bench) {
        Ok(onnx) => Some(onnx),
        Err(missing) => {
            report.seen("skipped, ONNX Runtime", &format!("{missing:#}"));
            None
        }
    };
    let what = |layers: usize| format!("{layers} layers of {}", head.dimensions);
    let (all, half) = (what(head.layers), what(head.layers / 2));
    for together in TOGETHER {
        let mut ratios = [const { Vec::new() }; 3];
        // In turns, so that a busy moment of the machine affects all of them.
        for _ in 0..bench.size(25, 9) {
            let ours = deep.run(turn, together);
            let half = shallow.run(turn, together);
            ratios[0].push(half / ours);
            if let Some(onnx) = &mut onnx {
                let theirs = onnx.run(turn, together)?;
                ratios[1].push(ours / theirs);
                ratios[2].push(half / theirs);
            }
        }
        let [depth, same, other] = ratios.map(median);
        let end = format!("{together} at a time");
        report.line(
            &format!("{half} against {all}, {end}"),
            &format!("{depth:.2} times as fast (target {HALF_AS_DEEP} or more)"),
            Verdict::at_least(depth, HALF_AS_DEEP),
        );
        if onnx.is_some() {
            report.line(
                &format!("{all} against ONNX Runtime f32 with the same, {end}"),
                &format!("{same:.2} times as fast (target {SAME_SHAPE} or more)"),
                Verdict::at_least(same, SAME_SHAPE),
            );
            report.line(
                &format!("{half} against ONNX Runtime f32 with {all}, {end}"),
                &format!("{other:.2} times as fast (target {HALF_AS_DEEP} or more)"),
                Verdict::at_least(other, HALF_AS_DEEP),
            );
        }
    }
    Ok(())
}

/// An encoder that cycles through the texts.
struct Encoder<'a> {
    reader: Box<dyn sectile_retrieval::EmbeddingReader + 'a>,
    texts: &'a [String],
    at: usize,
}

impl<'a> Encoder<'a> {
    fn new(model: &'a dyn Embedder, texts: &'a [String]) -> Self {
        Self {
            reader: model.reader(),
            texts,
            at: 0,
        }
    }

    /// Encodes batches of `together` texts for about `time`. Returns the number of texts per second.
    fn run(&mut self, time: Duration, together: usize) -> f64 {
        let started = Instant::now();
        let mut count = 0;
        while started.elapsed() < time {
            let some = (0..together).map(|number| {
                let text = &self.texts[(self.at + number) % self.texts.len()];
                vec![text.as_str()]
            });
            let some: Vec<Vec<&str>> = some.collect();
            std::hint::black_box(self.reader.embed_all(&some));
            self.at += together;
            count += together;
        }
        count as f64 / started.elapsed().as_secs_f64()
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

/// Returns texts of words from the test corpus that are one token each, so that a text has [`TOKENS`] tokens with its start
/// and end.
fn texts(known: &HashSet<&str>) -> Result<Vec<String>> {
    let words = sectile_test_corpus::passages()
        .iter()
        .flat_map(|passage| passage.text.split_whitespace());
    let words: Vec<&str> = words
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()) && known.contains(word))
        .take(TEXTS * (TOKENS - 2))
        .collect();
    ensure!(
        words.len() == TEXTS * (TOKENS - 2),
        "the passages are too short"
    );
    Ok(words
        .chunks(TOKENS - 2)
        .map(|words| words.join(" "))
        .collect())
}

/// The header of the transformer's file, which `model/pack.py` defines.
struct Head {
    dimensions: usize,
    layers: usize,
    inner: usize,
    word_bytes: usize,
}

impl Head {
    fn of(file: &[u8]) -> Result<Self> {
        let number = |at: usize| {
            let bytes = file.get(at..at + 4).context("no head")?;
            Ok::<_, anyhow::Error>(u32::from_le_bytes(bytes.try_into()?) as usize)
        };
        Ok(Self {
            dimensions: number(12)?,
            layers: number(16)?,
            inner: number(24)?,
            word_bytes: number(36)?,
        })
    }

    /// Returns the pieces that are whole words.
    fn words<'f>(&self, file: &'f [u8]) -> Result<HashSet<&'f str>> {
        let mut rest = file.get(64..64 + self.word_bytes).context("no words")?;
        let mut words = HashSet::new();
        while let Some((length, behind)) = rest.split_first() {
            let (word, behind) = behind
                .split_at_checked(usize::from(*length))
                .context("a word that is cut off")?;
            words.insert(std::str::from_utf8(word)?);
            rest = behind;
        }
        Ok(words)
    }

    /// Returns the same model with the first half of its layers: only useful for measuring speed.
    fn with_half_the_layers(&self, file: &[u8]) -> Result<Vec<u8>> {
        let (width, inner) = (self.dimensions, self.inner);
        let map = |rows: usize, columns: usize| {
            let numbers = rows * columns;
            [numbers / 2, numbers / GROUP * 2, rows * 2]
        };
        let parts = [map(width, width); 4]
            .into_iter()
            .chain([map(inner, width), map(width, inner)])
            .flatten()
            .chain([width * 2; 4]);
        let layer: usize = parts.map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum();
        let cut = layer * (self.layers - self.layers / 2);
        let kept = file
            .len()
            .checked_sub(cut)
            .context("a file that is too short")?;
        let mut half = file[..kept].to_vec();
        half[16..20].copy_from_slice(&u32::try_from(self.layers / 2)?.to_le_bytes());
        Ok(half)
    }
}
