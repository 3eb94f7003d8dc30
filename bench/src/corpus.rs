//! Generated notes to measure with, the same every time.

/// A small pseudo-random number generator, so that every run sees the same notes.
pub(crate) struct Dice(u64);

impl Dice {
    /// The sequence depends on `seed` alone, and differs widely between neighbouring seeds.
    pub(crate) fn new(seed: usize) -> Self {
        let mut dice = Self((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        // The first numbers of neighbouring seeds are similar.
        for _ in 0..4 {
            dice.roll(2);
        }
        dice
    }

    /// Returns a number below `sides`, which must be far below 2 to the power of 31.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }
}

const WORDS: [&str; 40] = [
    "harbour",
    "the",
    "a",
    "of",
    "letter",
    "boat",
    "and",
    "plan",
    "Monday",
    "budget",
    "on",
    "meeting",
    "notes",
    "from",
    "river",
    "design",
    "is",
    "open",
    "question",
    "about",
    "weather",
    "garden",
    "to",
    "reading",
    "chapter",
    "first",
    "draft",
    "Größe",
    "naïve",
    "日本語",
    "team",
    "music",
    "with",
    "bridge",
    "source",
    "index",
    "small",
    "table",
    "light",
    "winter",
];

/// Returns `count` notes of about `size` bytes each: front matter, headings, paragraphs with inline markup, lists, code,
/// quotes.
pub(crate) fn ordinary_notes(count: usize, size: usize) -> Vec<String> {
    let mut dice = Dice(42);
    (0..count)
        .map(|number| note(&mut dice, number, size))
        .collect()
}

fn note(dice: &mut Dice, number: usize, size: usize) -> String {
    let mut text = format!("---\ntitle: Note {number}\ntags: [a, b]\n---\n\n# Note {number}\n\n");
    while text.len() < size {
        match dice.roll(10) {
            0 | 1 => {
                let level = 2 + dice.roll(3);
                let words = 1 + dice.roll(5);
                text += &format!("{} {}\n\n", "#".repeat(level), sentence(dice, words));
            }
            2 => (0..3 + dice.roll(4)).for_each(|_| text += &format!("- {}\n", sentence(dice, 8))),
            3 => {
                text += &format!(
                    "```rust\nfn f() {{\n    // {}\n}}\n```\n",
                    sentence(dice, 6)
                )
            }
            4 => text += &format!("> {}\n", sentence(dice, 15)),
            _ => text += &format!("{}\n", sentence(dice, 60)),
        }
        text.push('\n');
    }
    text
}

fn sentence(dice: &mut Dice, words: usize) -> String {
    let mut text = String::new();
    for number in 0..words {
        if number > 0 {
            text.push(if number % 14 == 13 { '\n' } else { ' ' });
        }
        let word = WORDS[dice.roll(WORDS.len())];
        match dice.roll(24) {
            0 => text += &format!("*{word}*"),
            1 => text += &format!("**{word}**"),
            2 => text += &format!("`{word}`"),
            3 => text += &format!("[{word}](https://example.com/{word})"),
            _ => text += word,
        }
    }
    text
}

/// A kind of input, and a function that generates that many bytes of it.
type Hostile = (&'static str, fn(usize) -> String);

/// Input designed to slow a parser down.
pub(crate) const HOSTILE: [Hostile; 8] = [
    ("nested quotes", |size| ">".repeat(size)),
    ("nested lists", |size| "- ".repeat(size.min(40_000) / 2)),
    ("open brackets", |size| "[".repeat(size)),
    ("bracket pairs", |size| "[a](".repeat(size / 4)),
    ("emphasis", |size| "*a_ ".repeat(size / 4)),
    ("backticks", |size| {
        (1..)
            .map(|n| "`".repeat(n % 60 + 1) + " ")
            .scan(0, |sum, run| {
                *sum += run.len();
                (*sum < size).then_some(run)
            })
            .collect()
    }),
    ("short headings", |size| "# a\n".repeat(size / 4)),
    ("quoted headings", |size| "> # a\n\n".repeat(size / 7)),
];
