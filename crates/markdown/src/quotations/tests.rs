//! What counts as a quotation, and what is said about where it is from.

use proptest::prelude::*;

use super::*;

/// The quotations of a draft as they are read, with their citations after an arrow.
fn found(draft: &str) -> Vec<String> {
    let list = quotations(draft);
    let shown = list.quotations.iter().map(|one| {
        let cited: Vec<&str> = one
            .citations
            .iter()
            .map(|cited| cited.target.as_str())
            .collect();
        match cited.is_empty() {
            true => one.quoted.read.clone(),
            false => format!("{} -> {}", one.quoted.read, cited.join(", ")),
        }
    });
    shown.collect()
}

#[test]
fn marks_of_many_languages_are_quotations() {
    for (draft, quoted) in [
        (
            "He wrote \"the budget is agreed\" in May.",
            "the budget is agreed",
        ),
        (
            "He wrote \u{201c}the budget is agreed\u{201d}.",
            "the budget is agreed",
        ),
        (
            "Er schrieb \u{201e}das Budget steht fest\u{201c}.",
            "das Budget steht fest",
        ),
        (
            "Il écrit \u{ab}\u{a0}le budget est fixé\u{a0}\u{bb}.",
            "le budget est fixé",
        ),
        (
            "Er schrieb \u{bb}das Budget steht fest\u{ab}.",
            "das Budget steht fest",
        ),
        (
            "Hon skrev \u{201d}budgeten är klar nu\u{201d}.",
            "budgeten är klar nu",
        ),
        (
            "彼は\u{300c}予算は四千ユーロに決まりました\u{300d}と書いた。",
            "予算は四千ユーロに決まりました",
        ),
        (
            "他写道\u{201c}预算已经定为四千欧元整啦\u{201d}。",
            "预算已经定为四千欧元整啦",
        ),
        (
            "He wrote 'the budget isn't agreed yet' in May.",
            "the budget isn't agreed yet",
        ),
        (
            "\u{201c}He said \u{2018}no\u{2019} to it\u{201d}",
            "He said \u{2018}no\u{2019} to it",
        ),
        ("a \"**bold** word\nand `code`\" b", "bold word\nand code"),
    ] {
        assert_eq!(found(draft), [quoted], "{draft}");
    }
}

#[test]
fn names_code_and_apostrophes_are_not_quotations() {
    for draft in [
        "The \"budget\" and the \"other one\" are titles. \"Closed, and then some here\".",
        "x\n\n```\n\"in a block of code\"\n```\n\nand `\"in a span of code\"` too. \"Closed, and then some here\"",
        "The dogs' toys and the cats' toys are not. \"Closed, and then some here\"",
        "A 5\" pipe and a 6\" pipe are not. \"Closed, and then some here\"",
        "> [!note]\n> A remark is not.\n\n\"Closed, and then some here\"",
    ] {
        let all: Vec<String> = found(draft);
        assert_eq!(all.len(), 1, "{draft}: {all:?}");
        assert!(all[0].starts_with("Closed, and then some here"), "{all:?}");
    }
}

#[test]
fn block_quotations_are_whole() {
    for (draft, quoted) in [
        (
            "Text\n\n> The pilot\n> costs 350.\n\nmore",
            "The pilot\ncosts 350.",
        ),
        ("> One.\n>\n> - two\n> - three", "One.\ntwo\nthree"),
        ("> outer\n> > inner", "outer\ninner"),
        ("> lazy\ncontinuation", "lazy\ncontinuation"),
        ("> ```\n> let x = 1;\n> ```", "let x = 1;"),
        ("> [!quote] Title\n> The words.", "The words."),
        ("- item\n\n  > in a list", "in a list"),
    ] {
        assert_eq!(found(draft), [quoted], "{draft}");
    }
    let list = quotations("x\n\n> a **b**\n> c\n");
    assert_eq!(list.quotations[0].quoted.written, "a **b**\nc");
    assert_eq!(list.quotations[0].form, QuotationForm::Block);
}

#[test]
fn citations_belong_to_the_nearest_quotation() {
    for (draft, all) in [
        (
            "As [[Plan]] says, \"one two three\", but [x](b.md#Two) has \"four five six\" ([[C|c]]).",
            vec!["one two three -> b.md#Two", "four five six -> C"],
        ),
        (
            "[\"one two three\"](plan.md)",
            vec!["one two three -> plan.md"],
        ),
        (
            "\"one two three\" (`my notes/plan.md#budget-1kebc1`)",
            vec!["one two three -> my notes/plan.md#budget-1kebc1"],
        ),
        (
            "\"one two three\", projects/plan.md#budget-1kebc1.",
            vec!["one two three -> projects/plan.md#budget-1kebc1"],
        ),
        (
            "\"one two three\" <sectile:///plan.md#a-1>",
            vec!["one two three -> sectile:///plan.md#a-1"],
        ),
        ("> one\n> \u{2014} plan.md", vec!["one -> plan.md"]),
        (
            "> one\n>\n> \u{2014} [Plan](plan.md), Budget",
            vec!["one -> plan.md"],
        ),
        ("> one\n> \u{2014} Winter feed", vec!["one -> Winter feed"]),
        (
            "> one\n\n\u{2014} [[Plan#Budget]]\n",
            vec!["one -> Plan#Budget"],
        ),
        ("> one\n\nSource: plan.md\n", vec!["one -> plan.md"]),
        (
            "> one\n\nA paragraph about something else that mentions [[Other]].\n",
            vec!["one"],
        ),
        ("As [[Plan]] says:\n\n> one\n", vec!["one -> Plan"]),
        (
            "> see [[Other]] for it\n> and more",
            vec!["see Other for it\nand more"],
        ),
    ] {
        assert_eq!(found(draft), all, "{draft}");
    }
}

#[test]
fn a_draft_without_quotations_is_one() {
    assert_eq!(
        found("# Budget\n\nThe pilot costs 350.\n\n- food\n- water\n\n\u{2014} plan.md\n"),
        ["Budget", "The pilot costs 350.", "food", "water -> plan.md"]
    );
    assert_eq!(
        found("The pilot costs 350.\n\u{2014} plan.md"),
        ["The pilot costs 350. -> plan.md"]
    );
    assert_eq!(found("```\ncode\n```\n"), [""; 0]);
    assert_eq!(found(""), [""; 0]);
}

#[test]
fn an_attribution_may_be_speech() {
    let list = quotations("> \u{2014} Ты где?\n> \u{2014} Дома.\n");
    let one = &list.quotations[0];
    assert_eq!(one.quoted.read, "\u{2014} Ты где?");
    let whole = one.with_attribution.as_ref().unwrap();
    assert_eq!(whole.read, "\u{2014} Ты где?\n\u{2014} Дома.");
}

#[test]
fn ellipses_separate_parts() {
    for (text, parts) in [
        ("one \u{2026} two", vec!["one", "two"]),
        ("one [...] two ... three", vec!["one", "two", "three"]),
        ("\u{2026}one (\u{2026}) two....", vec!["one", "two"]),
        ("one", vec!["one"]),
        ("...", vec![]),
    ] {
        assert_eq!(QuotedText::parts(text), parts, "{text}");
    }
}

#[test]
fn there_is_an_end() {
    let many = "> one\n\ntwo\n\n".repeat(MAX_QUOTATIONS + 7);
    let list = quotations(&many);
    assert_eq!((list.quotations.len(), list.left_out), (MAX_QUOTATIONS, 7));
    let long = format!("> {}\n", "word ".repeat(MAX_QUOTATION_BYTES));
    assert_eq!(quotations(&long).too_long, 1);
    let open = "\"a ".repeat(100_000);
    assert!(quotations(&open).quotations.len() <= MAX_QUOTATIONS);
}

proptest! {
    #[test]
    fn any_draft_is_read(draft in "([#>*`\\[\\]|_ \"'“”„«»—-]{0,3}[a-c一\\.\r\n\0]{0,4}){0,30}") {
        let list = quotations(&draft);
        let mut last = 0;
        for one in &list.quotations {
            prop_assert!(draft.get(one.span.range()).is_some());
            prop_assert!(one.span.start >= last);
            last = one.span.start;
            prop_assert!(one.quoted.read.contains(char::is_alphanumeric));
            for cited in &one.citations {
                prop_assert!(draft.get(cited.span.range()).is_some());
            }
        }
    }
}
