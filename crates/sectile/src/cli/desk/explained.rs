//! Formatting of explained searches for people: each result on one line as usual, and below it, indented, why it is there.

use serde_json::Value;

use super::{
    super::ui::{DIM, StyledText, visible},
    show::{count, list, result, search_remarks, text},
};

pub(super) fn search(answer: &Value) -> String {
    let mut out = String::new();
    for hit in list(answer, "results") {
        out += &result(hit);
        for line in reasons(hit, answer) {
            out += &format!("{}\n", StyledText(DIM, format!("    {}", visible(&line))));
        }
    }
    for line in remarks(answer) {
        out += &format!("{}\n", StyledText(DIM, visible(&line)));
    }
    out + &search_remarks(answer)
}

/// Returns the reasons for the place of a result, one line each.
fn reasons(hit: &Value, answer: &Value) -> Vec<String> {
    let why = &hit["why"];
    if why.is_null() {
        let order = match text(answer, "order") {
            "modified" => "last modified first",
            _ => "by path",
        };
        return vec![format!("it passes the filters; {order}")];
    }
    let roots = list(&answer["ranking"], "roots").iter();
    let mut roots = roots.filter(|root| root["root"] == hit["root"]);
    let root = roots.next().unwrap_or(&Value::Null);
    let part = |name: &str, weight: &str| {
        let (part, weight) = (&why[name], count(root, weight));
        match part.is_null() {
            true => format!("{name} -"),
            false => format!(
                "{name} {} (rank {}) x {}",
                fraction(count(part, "score")),
                count(part, "rank"),
                fraction(weight)
            ),
        }
    };
    let verbatim = match why["verbatim"] == true {
        true => "; has the query word for word",
        false => "",
    };
    let fused = &why["fused"];
    let mut lines = vec![format!(
        "score {} (rank {}): {}, {}{verbatim}",
        fraction(count(fused, "score")),
        count(fused, "rank"),
        part("words", "words_weight"),
        part("meaning", "meaning_weight"),
    )];
    lines.extend(list(why, "terms").iter().map(|term| {
        let form = match text(term, "form") {
            "exact" => "exact".to_owned(),
            form => format!("{form}, {}", text(term, "found")),
        };
        format!(
            "{:>7}  {} ({form}): {}; in {} of {} passages",
            count(term, "score"),
            text(term, "term"),
            places(term),
            count(term, "passages"),
            count(root, "passages"),
        )
    }));
    let together = count(why, "together");
    if together > 0 {
        lines.push(format!("{together:>7}  words together"));
    }
    if !list(why, "terms").is_empty() {
        lines.push(format!(
            "{:>7}  in all, of {}",
            count(why, "word_score"),
            count(root, "reachable")
        ));
    }
    lines
}

/// Returns how often the fields of a passage have a term.
fn places(term: &Value) -> String {
    let fields = [
        ("in_heading", "in the heading"),
        ("in_trail", "above"),
        ("in_body", "in the text"),
    ];
    let places = fields
        .iter()
        .filter(|(key, _)| count(term, key) > 0)
        .map(|(key, place)| format!("{} {place}", count(term, key)));
    places.collect::<Vec<_>>().join(", ")
}

/// Returns what the answer says about all results.
fn remarks(answer: &Value) -> Vec<String> {
    let ranking = &answer["ranking"];
    let used = match text(ranking, "used") {
        "filters" => "listed by filters".to_owned(),
        "words" => "ranked by words alone".to_owned(),
        tier => format!("ranked by words and meaning ({tier} tier)"),
    };
    let incomplete = list(ranking, "roots")
        .iter()
        .any(|root| text(root, "best_tier") != "transformer");
    let incomplete = match (text(ranking, "asked"), incomplete) {
        ("full", true) if text(ranking, "used") == "static" => {
            "; the transformer tier is not complete"
        }
        _ => "",
    };
    let mut lines = vec![format!("{used}{incomplete}")];
    let words = |key: &str| {
        let words = list(answer, key).iter().filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(" ")
    };
    for (key, what) in [("filters", "filters"), ("unknown", "in no note")] {
        let words = words(key);
        if !words.is_empty() {
            lines.push(format!("{what}: {words}"));
        }
    }
    for corrected in list(answer, "corrected") {
        let used = list(corrected, "used").iter().filter_map(Value::as_str);
        let used = used.collect::<Vec<_>>().join(" ");
        lines.push(format!("{} was read as: {used}", text(corrected, "word")));
    }
    lines
}

/// Returns a number of millionths with three digits after the point.
fn fraction(millionths: usize) -> String {
    format!(
        "{}.{:03}",
        millionths / 1_000_000,
        millionths / 1_000 % 1_000
    )
}
