//! Generated notes: each has a title, a place among others on the same topic, and text with everything that notes contain.

use std::collections::BTreeSet;

use super::words::Words;
use crate::corpus::Dice;

const AREAS: usize = 25;
const TOPICS: usize = 8;
/// The number of words that the notes of one folder have in common.
const TOPIC_WORDS: usize = 120;
/// The number of words that are too frequent to be a topic.
const FREQUENT: usize = 400;

/// A note being generated.
pub(crate) struct Note<'w> {
    words: &'w Words,
    dice: Dice,
    number: usize,
    count: usize,
    title: String,
    text: String,
}

impl<'w> Note<'w> {
    /// Starts note `number` of `count`.
    pub(crate) fn new(words: &'w Words, number: usize, count: usize) -> Self {
        let mut note = Self {
            words,
            dice: Dice::new(number),
            number,
            count,
            title: String::new(),
            text: String::new(),
        };
        let length = 2 + note.dice.roll(4);
        let title: Vec<&str> = (0..length).map(|_| note.topic_word()).collect();
        note.title = capital(&title.join(" "));
        note
    }

    /// Returns its path in the collection.
    pub(crate) fn path(&self) -> String {
        let slug = self.title.to_lowercase().replace(' ', "-");
        format!("{}/{slug}-{}.md", self.folder(), self.number)
    }

    pub(crate) fn folder(&self) -> String {
        let topic = self.topic();
        let area = self.words.word(900 + 17 * (topic % AREAS));
        let topic = self.words.word(2_000 + 11 * topic);
        format!("{area}/{topic}")
    }

    fn topic(&self) -> usize {
        self.number % (AREAS * TOPICS)
    }

    /// Returns the text of an ordinary note.
    pub(crate) fn ordinary(self) -> String {
        // Few notes are long and many are short.
        self.with_sections(|dice| 1 + dice.roll(3) + dice.roll(3) + dice.roll(3), 0)
    }

    /// Returns a text of at least `bytes`.
    pub(crate) fn long(self, bytes: usize) -> String {
        self.with_sections(|_| usize::MAX, bytes)
    }

    fn with_sections(mut self, sections: fn(&mut Dice) -> usize, bytes: usize) -> String {
        if self.dice.roll(5) < 2 {
            self.front_matter();
        }
        self.text += &format!("# {}\n\n", self.title);
        self.blocks();
        let sections = sections(&mut self.dice);
        let mut done = 0;
        while done < sections && (bytes == 0 || self.text.len() < bytes) {
            let level = if self.dice.roll(4) == 0 && done > 0 {
                3
            } else {
                2
            };
            let length = 1 + self.dice.roll(5);
            let heading = capital(&self.plain_words(length));
            self.text += &format!("{} {heading}\n\n", "#".repeat(level));
            self.blocks();
            done += 1;
        }
        self.text
    }

    fn front_matter(&mut self) {
        let (year, month, day) = (
            2012 + self.dice.roll(14),
            1 + self.dice.roll(12),
            1 + self.dice.roll(28),
        );
        let tags: Vec<&str> = (0..1 + self.dice.roll(4))
            .map(|_| self.topic_word())
            .collect();
        self.text += &format!(
            "---\ntitle: {}\ndate: {year}-{month:02}-{day:02}\ntags: [{}]\n---\n\n",
            self.title,
            tags.join(", ")
        );
    }

    /// Adds the blocks below one heading.
    fn blocks(&mut self) {
        for _ in 0..1 + self.dice.roll(3) {
            match self.dice.roll(20) {
                0..3 => self.list(),
                3 => self.code(),
                4 => self.table(),
                5 => {
                    let sentence = self.sentence();
                    self.text += &format!("> {sentence}\n");
                }
                _ => self.paragraph(),
            }
            self.text.push('\n');
        }
    }

    fn paragraph(&mut self) {
        let sentences: Vec<String> = (0..2 + self.dice.roll(3))
            .map(|_| self.sentence())
            .collect();
        self.text += &sentences.join(" ");
        self.text.push('\n');
    }

    fn list(&mut self) {
        let mark = ["-", "*", "1.", "- [ ]"][self.dice.roll(4)];
        for _ in 0..3 + self.dice.roll(4) {
            let length = 3 + self.dice.roll(9);
            let item = self.marked_words(length);
            self.text += &format!("{mark} {item}\n");
        }
    }

    fn code(&mut self) {
        let language = ["rust", "sh", "python", "json", ""][self.dice.roll(5)];
        self.text += &format!("```{language}\n");
        for _ in 0..2 + self.dice.roll(6) {
            let (one, other, third) = (self.topic_word(), self.any_word(), self.any_word());
            let number = self.dice.roll(4096);
            self.text += &format!("let {one}_{other} = {third}({number});\n");
        }
        self.text += "```\n";
    }

    fn table(&mut self) {
        let columns = 2 + self.dice.roll(3);
        let row = |note: &mut Self| {
            let cells: Vec<String> = (0..columns).map(|_| note.plain_words(2)).collect();
            note.text += &format!("| {} |\n", cells.join(" | "));
        };
        row(self);
        self.text += &format!("|{}\n", "---|".repeat(columns));
        for _ in 0..2 + self.dice.roll(4) {
            row(self);
        }
    }

    fn sentence(&mut self) -> String {
        let length = 6 + self.dice.roll(18);
        let mut sentence = capital(&self.marked_words(length));
        sentence.push(if self.dice.roll(12) == 0 { '?' } else { '.' });
        sentence
    }

    fn plain_words(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.any_word()).collect();
        words.join(" ")
    }

    /// Returns words with markup, links and numbers here and there.
    fn marked_words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for at in 0..count {
            if at > 0 {
                text += if self.dice.roll(14) == 0 { ", " } else { " " };
            }
            let word = self.any_word();
            match self.dice.roll(120) {
                0 | 1 => text += &format!("*{word}*"),
                2 | 3 => text += &format!("**{word}**"),
                4 | 5 => text += &format!("`{word}_{}`", self.any_word()),
                6 => text += &format!("[{word}](https://example.com/{word}/{})", self.any_word()),
                7 => {
                    let other = self.other();
                    text += &format!("[{word}](../../{})", other.path());
                }
                8 => {
                    let other = self.other();
                    text += &format!("[[{}]]", other.title);
                }
                9 | 10 => text += &self.dice.roll(10_000).to_string(),
                _ => text += word,
            }
        }
        text
    }

    fn other(&mut self) -> Self {
        let number = self.dice.roll(self.count);
        Self::new(self.words, number, self.count)
    }

    /// Returns one of the words shared with neighbouring notes, or any word.
    fn any_word(&mut self) -> &'w str {
        match self.dice.roll(10) {
            0..3 => self.topic_word(),
            _ => self.words.word(self.words.any(&mut self.dice)),
        }
    }

    fn topic_word(&mut self) -> &'w str {
        // The lower of two, so that some are more frequent than others.
        let at = self.dice.roll(TOPIC_WORDS).min(self.dice.roll(TOPIC_WORDS));
        let mut dice = Dice::new(1_000_000 + self.topic() * TOPIC_WORDS + at);
        self.words.word(self.words.rarer(&mut dice, FREQUENT))
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let mut capital = String::with_capacity(text.len());
    if let Some(first) = letters.next() {
        capital.extend(first.to_uppercase());
    }
    capital + letters.as_str()
}

/// Returns `count` different questions of 2 to 8 words: half are consecutive words from notes, half are any words.
pub(crate) fn questions(words: &Words, notes: usize, count: usize) -> Vec<String> {
    let mut dice = Dice::new(4_000_000);
    let mut questions = Vec::with_capacity(count);
    let mut known = BTreeSet::new();
    while questions.len() < count {
        let length = 2 + dice.roll(7);
        let mut question = String::new();
        if questions.len().is_multiple_of(2) {
            let text = Note::new(words, dice.roll(notes), notes).ordinary();
            let lines: Vec<&str> = text
                .lines()
                .filter(|line| line.split(' ').count() > 20)
                .collect();
            if lines.is_empty() {
                continue;
            }
            let line: Vec<&str> = lines[dice.roll(lines.len())]
                .split([' ', ',', '.', '?'])
                .filter(|word| {
                    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
                })
                .collect();
            let start = dice.roll(line.len().saturating_sub(length).max(1));
            question += &line[start..line.len().min(start + length)].join(" ");
        } else {
            for _ in 0..length {
                // A question contains more rare words than a text does.
                question += words.word(words.rarer(&mut dice, 100));
                question.push(' ');
            }
        }
        let question = question.trim().to_owned();
        if question.contains(' ') && known.insert(question.clone()) {
            questions.push(question);
        }
    }
    questions
}

#[cfg(test)]
mod tests {
    use super::*;
    use sectile_markdown::{Source, chunks};

    #[test]
    fn notes_are_the_same_every_time_and_have_the_size_of_real_ones() {
        let words = Words::new().unwrap();
        let note = |number| Note::new(&words, number, 20_000);
        assert_eq!(note(7).path(), note(7).path());
        assert_eq!(note(7).ordinary(), note(7).ordinary());
        let notes: Vec<String> = (0..400).map(|number| note(number).ordinary()).collect();
        let bytes: usize = notes.iter().map(String::len).sum();
        let cut = |note: &String| chunks(&Source::new(note.as_bytes()), 2_000).chunks.len();
        let chunks: usize = notes.iter().map(cut).sum();
        assert!((3_200..3_700).contains(&(bytes / 400)), "{bytes}");
        assert!((1_900..2_100).contains(&chunks), "{chunks}");
        assert!(note(7).long(100_000).len() >= 100_000);
    }

    #[test]
    fn questions_differ_and_have_two_to_eight_words() {
        let words = Words::new().unwrap();
        let asked = questions(&words, 100, 200);
        let different: BTreeSet<&String> = asked.iter().collect();
        assert_eq!((asked.len(), different.len()), (200, 200));
        assert_eq!(asked, questions(&words, 100, 200));
        for question in asked {
            assert!((2..=8).contains(&question.split(' ').count()), "{question}");
        }
    }
}
