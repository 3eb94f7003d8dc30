//! Properties of repaired links, over random folders: a link that led somewhere leads to the same section afterwards,
//! nothing but links and the heading changes, and one undo restores all of it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sectile_markdown::{
    Anchors, FragmentResolution, Link, PathResolution, Source, links, name_key, resolve_path,
};

use super::*;

const PATHS: [&str; 5] = ["a.md", "b.md", "sub/c.md", "sub/d e.md", "sub/deep/a.md"];
const HEADINGS: [&str; 6] = ["One", "One", "Two words", "Drei & vier", "`code`", "One 1"];
const SPELLINGS: [&str; 18] = [
    "[l](PATH#ANCHOR)",
    "[l](PATH)",
    "[l](./PATH#ANCHOR)",
    "[l](<PATH#TEXT>)",
    "[l](#ANCHOR)",
    "![l](/ROOT#ANCHOR \"t\")",
    "[l](/ROOT)",
    "[[NAME#TEXT|x]]",
    "[[NAME]]",
    "[[#TEXT]]",
    "![[ROOT#TEXT]]",
    "[[NAME#One#TEXT]]",
    "> [l](PATH#ANCHOR) `[no](#one)`",
    "- [l](#ANCHOR-1)",
    "a <a href=\"PATH#ANCHOR\" title=x>l</a> `<a href=\"PATH\">`",
    "<div>\n<img src='PATH'>\n</div>",
    "> <p>\n> <a href=/ROOT#ANCHOR>",
    "<a href='#ANCHOR'>",
];

/// A folder, by path.
type Texts = BTreeMap<String, String>;

/// The destination of a link: the path and, for a heading, the unique line below it.
type Destination = (String, Option<String>);

/// A link: its spelling, and the path and the heading that it names, all by index.
type Written = (usize, usize, usize);

/// A section: its level, its heading by index, whether it is in a quote, and its links.
type Part = (usize, usize, bool, Vec<Written>);

fn document() -> impl Strategy<Value = Vec<Part>> {
    let link = (0..SPELLINGS.len(), 0..PATHS.len(), 0..HEADINGS.len());
    let section = (
        1..4_usize,
        0..HEADINGS.len(),
        proptest::bool::weighted(0.2),
        proptest::collection::vec(link, 0..4),
    );
    proptest::collection::vec(section, 1..5)
}

fn anchor(heading: &str) -> String {
    sectile_markdown::github_anchor(&heading.replace('`', ""))
}

/// Builds a folder. Every section names itself in a line of its own, so that it can be told apart anywhere.
fn folder(documents: &[Vec<Part>]) -> Texts {
    let mut texts = Texts::new();
    for (number, (path, sections)) in PATHS.iter().zip(documents).enumerate() {
        let line_end = ["\n", "\r\n", "\r"][number % 3];
        // The links of the first section are in the front matter as well, unless they are HTML.
        let mut text = format!("---\ntitle: n{number}\n");
        let first = sections.iter().take(1).flat_map(|section| &section.3);
        for (at, link) in first.enumerate() {
            let link = written(path, link);
            if !link.contains(['\'', '\n']) && !link.contains("href") {
                text += &format!("link{at}: 'see {link}'\n");
            }
        }
        text += "---\n";
        for (at, (level, heading, nested, links)) in sections.iter().enumerate() {
            let quote = if *nested { "> " } else { "" };
            let marks = "#".repeat(*level);
            let heading = HEADINGS[*heading];
            text += &format!("{quote}{marks} {heading}\n{quote}\n{quote}Mark {number}x{at}.\n\n");
            for link in links {
                text += &format!("{}\n\n", written(path, link));
            }
        }
        texts.insert((*path).to_owned(), text.replace('\n', line_end));
    }
    texts
}

/// A link in the document at `path`.
fn written(path: &str, (spelling, to, heading): &Written) -> String {
    let to = PATHS[*to];
    let name = to.rsplit('/').next().unwrap();
    let relative = relative(path, to).replace(' ', "%20");
    let link = SPELLINGS[*spelling]
        .replace("ANCHOR", &anchor(HEADINGS[*heading]))
        .replace("TEXT", &HEADINGS[*heading].replace(['&', '`'], ""))
        .replace("NAME", name.strip_suffix(".md").unwrap())
        .replace("/ROOT", &format!("/{}", to.replace(' ', "%20")))
        .replace("ROOT", to.strip_suffix(".md").unwrap());
    let path = if link.contains("<PATH") {
        relative.replace("%20", " ")
    } else {
        relative
    };
    link.replace("PATH", &path)
}

fn relative(from: &str, to: &str) -> String {
    let depth = from.matches('/').count();
    format!("{}{to}", "../".repeat(depth))
}

/// The destination of `link`, found without the editor.
fn destination(texts: &Texts, path: &str, link: &Link) -> Option<Destination> {
    let by_name = |name: &str| {
        let key = name_key(name);
        let fits = |path: &&String| {
            let file = name_key(path.rsplit('/').next().unwrap());
            file == key || file.strip_suffix(".md") == Some(&key)
        };
        texts.keys().filter(fits).cloned().collect()
    };
    let to = match resolve_path(path, link, &|path| texts.contains_key(path), &by_name) {
        PathResolution::SameDocument => path.to_owned(),
        PathResolution::Document(path) => path,
        _ => return None,
    };
    let source = Source::new(texts[&to].as_bytes());
    match Anchors::new(&source).resolve(link.form, link.fragment_text()) {
        FragmentResolution::Heading(index) => {
            let start = source.parse().sections()[index].heading.end;
            let mark = texts[&to][start..].split("Mark ").nth(1)?;
            Some((to.clone(), Some(mark.split('.').next()?.to_owned())))
        }
        FragmentResolution::Missing => None,
        _ => Some((to, None)),
    }
}

/// The destinations of all links, in order, by the document that they are in.
fn destinations(texts: &Texts) -> BTreeMap<String, Vec<Option<Destination>>> {
    let of = |(path, text): (&String, &String)| {
        let found = links(&Source::new(text.as_bytes()));
        let leads = found.iter().map(|link| destination(texts, path, link));
        (path.clone(), leads.collect())
    };
    texts.iter().map(of).collect()
}

/// Returns the text with `?` in place of what links name.
fn masked(text: &str) -> String {
    let mut masked = text.as_bytes().to_vec();
    for link in links(&Source::new(text.as_bytes())).iter().rev() {
        let end = link
            .fragment
            .as_ref()
            .map_or(link.path.span.end, |fragment| fragment.span.end);
        masked.splice(link.path.span.start..end, *b"?");
    }
    String::from_utf8(masked).unwrap()
}

fn on_disk(bench: &Bench) -> Texts {
    let all = texts(bench).into_iter();
    all.map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap()))
        .collect()
}

fn bench(folder: &Texts) -> Bench {
    let documents: Vec<(&str, &str)> = folder
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    Bench::new(&documents)
}

/// The links that a report calls broken, by document and target.
fn told(report: &WriteReport) -> Vec<(&str, &str)> {
    let links = report.broken_links.iter();
    links
        .map(|link| (link.path.as_str(), link.target.as_str()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn links_follow_a_renamed_heading(
        documents in proptest::collection::vec(document(), PATHS.len()),
        which in any::<proptest::sample::Index>(),
        section in any::<proptest::sample::Index>(),
        heading in proptest::sample::select(vec!["One", "Two words", "Neu ~ 1", "one-1", "X"]),
    ) {
        let before = folder(&documents);
        let bench = bench(&before);
        let path = PATHS[which.index(PATHS.len())];
        let ids = bench.editor.view(&note(path)).unwrap().ids().to_vec();
        prop_assume!(!ids.is_empty());
        let id = section.get(&ids);
        let report = bench.write(rename(path, by_id(id), heading)).unwrap();
        let after = on_disk(&bench);
        let (led, leads) = (destinations(&before), destinations(&after));
        for (path, led) in &led {
            for (number, (was, is)) in led.iter().zip(&leads[path]).enumerate() {
                if was.is_some() && was != is {
                    // Only if no spelling leads there, and then it is reported.
                    let link = &links(&Source::new(after[path].as_bytes()))[number];
                    prop_assert!(link.form.is_wiki(), "{path} {number}: {was:?} {is:?}\n{}", after[path]);
                    prop_assert!(!told(&report).is_empty());
                }
            }
            prop_assert_eq!(led.len(), leads[path].len());
        }
        for (other, text) in &before {
            let (mut was, mut is) = (masked(text), masked(&after[other]));
            if other == path {
                let view = bench.editor.view(&note(path)).unwrap();
                let position = view.position_of(id).unwrap();
                was = without_heading(&was, position);
                is = without_heading(&is, position);
            }
            prop_assert_eq!(was, is, "{}", other);
        }
        if report.entry.is_some() {
            bench.undo(path).unwrap();
        }
        prop_assert_eq!(on_disk(&bench), before);
    }

    #[test]
    fn links_follow_a_renamed_document(
        documents in proptest::collection::vec(document(), PATHS.len()),
        which in any::<proptest::sample::Index>(),
        new_path in proptest::sample::select(vec!["new.md", "sub/n w.md", "x/y/b.md", "sub/deep/z.md", "one.md"]),
    ) {
        let before = folder(&documents);
        let bench = bench(&before);
        let path = PATHS[which.index(PATHS.len())];
        let report = bench.write(rename_document(path, new_path)).unwrap();
        prop_assert_eq!(told(&report), vec![]);
        let after = on_disk(&bench);
        let renamed = |at: &String| if at == path { new_path.to_owned() } else { at.clone() };
        let leads = destinations(&after);
        for (at, led) in destinations(&before) {
            for (was, is) in led.iter().zip(&leads[&renamed(&at)]) {
                if let Some((to, heading)) = was {
                    prop_assert_eq!(Some((renamed(to), heading.clone())), is.clone());
                }
            }
            prop_assert_eq!(masked(&before[&at]), masked(&after[&renamed(&at)]));
        }
        bench.undo(new_path).unwrap();
        prop_assert_eq!(on_disk(&bench), before);
    }

    #[test]
    fn links_follow_a_section_into_another_document(
        documents in proptest::collection::vec(document(), PATHS.len()),
        which in any::<proptest::sample::Index>(),
        section in any::<proptest::sample::Index>(),
        to in any::<proptest::sample::Index>(),
        place in any::<proptest::sample::Index>(),
    ) {
        let before = folder(&documents);
        let bench = bench(&before);
        let path = PATHS[which.index(PATHS.len())];
        let to = PATHS[to.index(PATHS.len())];
        let ids = bench.editor.view(&note(path)).unwrap().ids().to_vec();
        prop_assume!(!ids.is_empty());
        let places = bench.editor.view(&note(to)).unwrap().ids().len() + 1;
        let Ok(report) = bench.write(relocate(by_id(&ids[section.index(ids.len())]), Some(to), place.index(places))) else {
            // The placement was refused, such as one inside the section itself.
            return Ok(());
        };
        let after = on_disk(&bench);
        prop_assert!(keeps_counts(&before, &after, &report), "{before:#?}\n{after:#?}");
        let only_wiki = report.broken_links.iter().all(|link| {
            let text = after[&link.path].replace("\r\n", "\n").replace('\r', "\n");
            let line = text.lines().nth(link.line - 1).unwrap();
            line.contains("[[")
        });
        prop_assert!(only_wiki, "{:?}", told(&report));
        if report.entry.is_some() {
            bench.undo(to).unwrap();
        }
        prop_assert_eq!(on_disk(&bench), before);
    }

    #[test]
    fn links_follow_several_changes_at_once(
        documents in proptest::collection::vec(document(), PATHS.len()),
        renamed in any::<[proptest::sample::Index; 2]>(),
        moved in any::<[proptest::sample::Index; 3]>(),
        path in any::<proptest::sample::Index>(),
        order in 0..6_usize,
    ) {
        let before = folder(&documents);
        let bench = bench(&before);
        let ids = |path: &str| bench.editor.view(&note(path)).unwrap().ids().to_vec();
        let [from, to] = [PATHS[renamed[0].index(PATHS.len())], PATHS[moved[0].index(PATHS.len())]];
        let (heads, tails) = (ids(from), ids(PATHS[moved[1].index(PATHS.len())]));
        prop_assume!(!heads.is_empty() && !tails.is_empty());
        let mut operations = vec![
            Operation::Rename(RenameSection {
                path: None,
                section: by_id(&heads[renamed[1].index(heads.len())]),
                heading: "New name".to_owned(),
                level: None,
                repair_links: true,
                expected_hash: None,
            }),
            relocate(by_id(&tails[moved[2].index(tails.len())]), Some(to), 0),
            rename_document(PATHS[path.index(PATHS.len())], "x/new.md"),
        ];
        operations.rotate_left(order % 3);
        if order > 2 {
            operations.swap(0, 1);
        }
        let Ok(report) = bench.editor.write(&request(operations), CallHooks::none()) else {
            prop_assert_eq!(on_disk(&bench), before);
            return Ok(());
        };
        let after = on_disk(&bench);
        prop_assert!(keeps_counts(&before, &after, &report), "{before:#?}\n{after:#?}");
        bench.undo("x/new.md").unwrap();
        prop_assert_eq!(on_disk(&bench), before);
    }
}

/// Returns whether as many links lead to each section as before, unless the report says otherwise. Sections move, and
/// with them the order of links, so links cannot be compared one by one.
fn keeps_counts(before: &Texts, after: &Texts, report: &WriteReport) -> bool {
    let count = |texts: &Texts| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let leads = destinations(texts).into_values().flatten().flatten();
        for heading in leads.filter_map(|(_, heading)| heading) {
            *counts.entry(heading).or_default() += 1;
        }
        counts
    };
    let now = count(after);
    let mut counts = count(before).into_iter();
    !told(report).is_empty() || counts.all(|(heading, times)| now.get(&heading) >= Some(&times))
}

/// Returns the text without the heading line of the section at `position`.
fn without_heading(text: &str, position: usize) -> String {
    let document = Source::new(text.as_bytes()).parse();
    let (_, section, _) = document.top_level().nth(position).unwrap();
    let mut text = text.to_owned();
    text.replace_range(section.heading.range(), "");
    text
}
