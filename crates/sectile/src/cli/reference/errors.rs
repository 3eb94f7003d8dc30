//! The page of error codes: those of the framework, then those of each world.

use sectile_mcp::{ErrorList, ErrorRow, UnknownTool, WorldCard, frame_errors};

use super::page::MarkdownPage;

pub(super) fn page(worlds: &[WorldCard]) -> String {
    let mut page = MarkdownPage::new(
        "errors",
        "Error codes",
        "Every error code that a client can get from Sectile, what it means and what to do next.",
    );
    page.paragraph(
        "A code is a word that never changes. The number next to it is the JSON-RPC code, if there is one.",
    );
    page.heading(2, "Errors of every world");
    write(&mut page, "every world", &frame_errors());
    for world in worlds {
        page.heading(2, format_args!("Errors of the {} world", world.name));
        page.paragraph(match world.unknown_tool {
            UnknownTool::Code(code) => format!(
                "A tool that does not exist in the `{}` world answers `unknown_tool` with the number {code}.",
                world.name
            ),
            UnknownTool::Answer(failure) => format!(
                "A tool that does not exist in the `{}` world answers `{}`, as a result like the errors below.",
                world.name,
                failure().name()
            ),
        });
        write(
            &mut page,
            &format!("the {} world", world.name),
            &(world.errors)(),
        );
    }
    page.into_text()
}

fn write(page: &mut MarkdownPage, owner: &str, list: &ErrorList) {
    if !list.form.is_empty() {
        page.paragraph(list.form);
    }
    for group in distinct(list.codes.iter().map(|row| row.group)) {
        page.heading(3, format_args!("Errors of {owner}: {group}"));
        let of_group = list.codes.iter().copied().filter(|row| row.group == group);
        let of_group: Vec<&ErrorRow> = of_group.collect();
        let lines: Vec<[String; 3]> = distinct(of_group.iter().map(|row| row.code))
            .into_iter()
            .map(|code| line(code, &of_group))
            .collect();
        page.table(["code", "what is wrong", "what to do"], &lines);
    }
}

/// Returns one line of the page for all causes of a code.
fn line(code: &str, rows: &[&ErrorRow]) -> [String; 3] {
    let of_code = || rows.iter().filter(|row| row.code == code);
    let numbers = distinct(of_code().filter_map(|row| row.number));
    let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
    let name = match numbers.as_slice() {
        [] => format!("`{code}`"),
        numbers => format!("`{code}` ({})", numbers.join(" or ")),
    };
    let causes = distinct(of_code().map(|row| row.meaning));
    let recoveries = distinct(of_code().map(|row| row.recovery));
    [name, told(&causes), told(&recoveries)]
}

/// Joins sentences in one cell, numbered if there are several, so that each cause can be matched with its remedy.
fn told(sentences: &[&str]) -> String {
    match sentences {
        [one] => (*one).to_owned(),
        several => {
            let numbered = (1..).zip(several);
            let numbered: Vec<String> = numbered
                .map(|(place, sentence)| format!("({place}) {sentence}"))
                .collect();
            numbered.join(" ")
        }
    }
}

/// Returns the values without repetitions, in order.
fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}
