//! The sentences that passages are made of, read from the files in `words`.

use std::sync::LazyLock;

/// A thing that passages are about.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) area: &'static str,
    pub(crate) name: &'static str,
    /// Its name in words that its passages avoid.
    pub(crate) plain: &'static str,
    pub(crate) place: &'static str,
    /// Names and values of the fields that sentences may use.
    pub(crate) fields: [(&'static str, &'static str); 7],
    pub(crate) facts: Vec<&'static str>,
}

/// A topic that a passage covers about its thing.
#[derive(Debug)]
pub(crate) struct Aspect {
    pub(crate) heading: &'static str,
    /// The topic as a question, in other words.
    pub(crate) question: &'static str,
    /// A sentence that means the same as the heading, and has none of its words.
    pub(crate) gist: &'static str,
    pub(crate) sentences: Vec<&'static str>,
}

pub(crate) static THINGS: LazyLock<Vec<Topic>> = LazyLock::new(|| {
    let mut things: Vec<Topic> = Vec::new();
    let mut area = "";
    for line in lines(include_str!("../words/things.txt")) {
        if let Some(name) = line.strip_prefix("## ") {
            area = name;
        } else if let Some(fact) = line.strip_prefix("- ") {
            let thing = things.last_mut().expect("a fact must follow its thing");
            thing.facts.push(fact);
        } else {
            things.push(thing(area, line));
        }
    }
    things
});

pub(crate) static ASPECTS: LazyLock<Vec<Aspect>> = LazyLock::new(|| {
    let mut aspects: Vec<Aspect> = Vec::new();
    for line in lines(include_str!("../words/aspects.txt")) {
        if let Some(sentence) = line.strip_prefix("- ") {
            let aspect = aspects
                .last_mut()
                .expect("a sentence must follow its aspect");
            aspect.sentences.push(sentence);
        } else {
            let fields: Vec<&str> = line.split(" | ").collect();
            let [heading, question, gist] = fields[..] else {
                panic!("an aspect has three fields: {line}");
            };
            aspects.push(Aspect {
                heading,
                question,
                gist,
                sentences: Vec::new(),
            });
        }
    }
    aspects
});

/// Returns the lines that are neither empty nor comments.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = text.lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with("# "))
}

fn thing(area: &'static str, line: &'static str) -> Topic {
    let fields: Vec<&str> = line.split(" | ").collect();
    let [name, plain, place, part, other, stuff, hazard, sign, keeper] = fields[..] else {
        panic!("a thing has nine fields: {line}");
    };
    Topic {
        area,
        name,
        plain,
        place,
        fields: [
            ("name", name),
            ("part", part),
            ("other", other),
            ("stuff", stuff),
            ("hazard", hazard),
            ("sign", sign),
            ("keeper", keeper),
        ],
        facts: Vec::new(),
    }
}
