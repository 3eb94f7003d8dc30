//! The titles and headings above the chunks of a file, each stored once.
//!
//! For each chunk: the number of steps that it shares with the chunk before it in the same document, the number of other
//! steps, and these. The last step is the heading of the chunk, unless that is empty. Lengths are [`varint`]s.

use std::ops::Range;

use crate::{
    Passage,
    bytes::Bytes,
    varint::{self, Numbers},
};

/// More headings above each other than any document has.
const DEEPEST: usize = 64;
/// Marks a chunk without steps, and a step without one above it.
const NONE: u32 = u32::MAX;

/// Builds the headings of a file.
#[derive(Default)]
pub(crate) struct HeadingBuilder {
    pub(crate) bytes: Vec<u8>,
    last: Vec<String>,
}

impl HeadingBuilder {
    /// Starts the next document.
    pub(crate) fn document(&mut self) {
        self.last.clear();
    }

    /// Adds the headings of a chunk.
    pub(crate) fn add(&mut self, passage: &Passage<'_>) {
        let steps = passage.trail.iter().chain([&passage.heading]);
        let steps: Vec<&str> = steps.copied().filter(|step| !step.is_empty()).collect();
        // The innermost ones say most.
        let steps = &steps[steps.len().saturating_sub(DEEPEST)..];
        let shared = self.last.iter().zip(steps);
        let shared = shared.take_while(|(last, step)| last == *step).count();
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        varint::write(
            &mut self.bytes,
            number(shared) << 1 | u32::from(passage.heading.is_empty()),
        );
        varint::write(&mut self.bytes, number(steps.len() - shared));
        self.last.truncate(shared);
        for step in &steps[shared..] {
            varint::write(&mut self.bytes, number(step.len()));
            self.bytes.extend_from_slice(step.as_bytes());
            self.last.push((*step).to_owned());
        }
    }
}

/// The headings of an open file.
#[derive(Debug)]
pub(crate) struct Headings {
    part: Bytes,
    /// Each step: the one above it, and where its text is.
    steps: Vec<HeadingStep>,
    /// The innermost step of each chunk, and whether that is not its heading.
    chunks: Vec<(u32, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct HeadingStep {
    above: u32,
    start: u32,
    end: u32,
}

impl Headings {
    /// Reads the headings of this many chunks; `None` if they are damaged.
    pub(crate) fn open(part: Bytes, chunks: usize) -> Option<Self> {
        let mut headings = Self {
            steps: Vec::new(),
            chunks: Vec::new(),
            part: part.clone(),
        };
        let bytes = part.as_ref();
        let mut numbers = Numbers::new(bytes);
        let mut last: Vec<u32> = Vec::new();
        while !numbers.is_at_end() {
            let head = numbers.next()?;
            let (shared, is_without) = ((head >> 1) as usize, head & 1 == 1);
            let more = numbers.next()? as usize;
            if shared > last.len() || more > DEEPEST || shared + more > DEEPEST {
                return None;
            }
            last.truncate(shared);
            for _ in 0..more {
                let length = numbers.next()? as usize;
                let start = bytes.len() - numbers.rest().len();
                let text = bytes.get(start..start.checked_add(length)?)?;
                std::str::from_utf8(text).ok()?;
                numbers = Numbers::new(&bytes[start + length..]);
                let above = last.last().copied().unwrap_or(NONE);
                last.push(u32::try_from(headings.steps.len()).ok()?);
                headings.steps.push(HeadingStep {
                    above,
                    start: u32::try_from(start).ok()?,
                    end: u32::try_from(start + length).ok()?,
                });
            }
            let innermost = last.last().copied().unwrap_or(NONE);
            headings.chunks.push((innermost, is_without));
        }
        (headings.chunks.len() == chunks).then_some(headings)
    }

    /// Returns the steps of a chunk, outermost first.
    pub(crate) fn path(&self, chunk: usize) -> Option<Vec<&str>> {
        let (innermost, _) = self.chunks.get(chunk).copied()?;
        let step = |number: u32| self.steps.get(number as usize);
        let steps = std::iter::successors(step(innermost), |one| step(one.above));
        let mut path: Vec<&str> = steps.map(|step| self.text(step)).collect();
        path.reverse();
        Some(path)
    }

    /// Returns the trail of a chunk and its heading.
    pub(crate) fn trail_and_heading(&self, chunk: usize) -> (Vec<&str>, &str) {
        let mut trail = self.path(chunk).unwrap_or_default();
        let is_without = self.chunks.get(chunk).is_some_and(|(_, without)| *without);
        let heading = if is_without { None } else { trail.pop() };
        (trail, heading.unwrap_or_default())
    }

    fn text(&self, step: &HeadingStep) -> &str {
        let range: Range<usize> = step.start as usize..step.end as usize;
        let text = self.part.as_ref().get(range).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }
}
