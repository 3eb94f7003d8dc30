//! The encoder agrees with the reference, whatever the batch.

use sectile_markdown::Digest;

use super::*;
use crate::transformer;

const FILE: &[u8] = sectile_model_transformer::FILE;
/// The output of `model/reference_transformer.py`.
const VECTORS: &str = include_str!("../../../../../model/vectors-transformer-1.jsonl");
/// The output of `model/agreement.py` for the first passages of the test corpus.
const AGREEMENT: &[u8] = include_bytes!("../../../../../model/agreement-transformer-1.i8");

/// How far a cosine may be from one.
const FAR: f64 = 1e-3;

fn cosine(one: impl Iterator<Item = f64> + Clone, other: impl Iterator<Item = f64> + Clone) -> f64 {
    let dot = |one: &dyn Fn() -> Vec<f64>, other: &dyn Fn() -> Vec<f64>| {
        let pairs = one().into_iter().zip(other());
        pairs.map(|(one, other)| one * other).sum::<f64>()
    };
    let one = &|| one.clone().collect::<Vec<f64>>();
    let other = &|| other.clone().collect::<Vec<f64>>();
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

/// Returns the first passages of the test corpus, with an empty title above each.
fn texts(count: usize) -> Vec<String> {
    let passages = sectile_test_corpus::passages().iter().take(count);
    passages
        .map(|passage| format!("\n{}", passage.text))
        .collect()
}

#[test]
fn texts_have_the_tokens_and_the_vectors_of_the_reference() {
    let model = transformer().unwrap();
    let mut reader = model.reader();
    let mut vectors = 0;
    for line in VECTORS.lines() {
        let expected: serde_json::Value = serde_json::from_str(line).unwrap();
        let times = expected["text_repeat"].as_u64().unwrap_or(1);
        let text = expected["text"].as_str().unwrap();
        let text = text.repeat(usize::try_from(times).unwrap());
        let windows = model.windows(&[&text]);
        assert_eq!(serde_json::json!(windows), expected["windows"], "{text}");
        let Some(expected) = expected["vector"].as_array() else {
            continue;
        };
        let found = reader.embed(&[&text]).unwrap();
        let expected = expected.iter().map(|number| number.as_f64().unwrap());
        let near = cosine(found.iter().map(|number| f64::from(*number)), expected);
        assert!(near > 1.0 - FAR, "{text}: {near}");
        vectors += 1;
    }
    assert!(vectors > 15);
}

#[test]
fn a_thousand_passages_have_the_vectors_of_the_reference() {
    let model = transformer().unwrap();
    let texts = texts(1_000);
    let expected: Vec<&[u8]> = AGREEMENT.chunks_exact(model.dimensions()).collect();
    assert_eq!((texts.len(), expected.len()), (1_000, 1_000));
    // Several threads, because it takes a while.
    let half = texts.len() / 2;
    let least = std::thread::scope(|scope| {
        let parts = [
            (&texts[..half], &expected[..half]),
            (&texts[half..], &expected[half..]),
        ];
        let parts = parts.map(|(texts, expected)| {
            scope.spawn(move || {
                let texts: Vec<Vec<&str>> = texts.iter().map(|text| vec![text.as_str()]).collect();
                let found = model.reader().embed_all(&texts);
                let pairs = found.iter().zip(expected);
                let cosines = pairs.map(|(found, expected)| {
                    let found = found
                        .as_ref()
                        .unwrap()
                        .iter()
                        .map(|number| f64::from(*number));
                    cosine(
                        found,
                        expected
                            .iter()
                            .map(|number| f64::from(number.cast_signed())),
                    )
                });
                cosines.fold(1.0, f64::min)
            })
        });
        let parts = parts.map(|part| part.join().unwrap());
        parts.into_iter().fold(1.0, f64::min)
    });
    assert!(least > 1.0 - FAR, "{least}");
}

#[test]
fn a_vector_does_not_depend_on_what_is_embedded_with_it() {
    let model = transformer().unwrap();
    let texts = texts(24);
    let short = sectile_test_corpus::passages().iter().take(24);
    let short = short.map(|passage| passage.heading.as_str());
    let texts: Vec<Vec<&str>> = texts
        .iter()
        .map(String::as_str)
        .chain(short)
        .chain([""])
        .map(|text| vec![text])
        .collect();
    let digest = |vectors: Vec<Option<Vector>>| {
        let numbers = vectors.into_iter().flatten().flatten();
        Digest::of(&numbers.map(i8::cast_unsigned).collect::<Vec<u8>>()).to_string()
    };
    let mut reader = model.reader();
    let one_by_one = digest(texts.iter().map(|text| reader.embed(text)).collect());
    for size in [2, 5, texts.len()] {
        let batches = texts.chunks(size).flat_map(|texts| reader.embed_all(texts));
        assert_eq!(digest(batches.collect()), one_by_one, "{size} at a time");
    }
    let threads = std::thread::scope(|scope| {
        let parts: Vec<_> = texts
            .chunks(texts.len().div_ceil(4))
            .map(|texts| scope.spawn(move || model.reader().embed_all(texts)))
            .collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap());
        digest(parts.flatten().collect())
    });
    assert_eq!(threads, one_by_one);
    // The same on every machine.
    assert_eq!(
        one_by_one,
        "8257b2dbeacbd5c439fad2bcac193bf3d5a8619e6ea24978faac9381ff96d51c"
    );
}

#[test]
fn every_set_of_instructions_gives_the_same_bits() {
    let model = transformer().unwrap();
    let texts = texts(3);
    let embedded = instructions::with_each(|| {
        let mut reader = model.reader();
        let each: Vec<Option<Vector>> = texts.iter().map(|text| reader.embed(&[text])).collect();
        let together =
            reader.embed_all(&texts.iter().map(|text| vec![&**text]).collect::<Vec<_>>());
        (each, together)
    });
    assert!(embedded.len() > 1);
    for (each, together) in &embedded {
        assert_eq!((each, together), (&embedded[0].0, &embedded[0].0));
    }
}

#[test]
fn a_long_passage_is_read_in_windows_below_its_headings() {
    let model = transformer().unwrap();
    let text = "water ".repeat(300);
    let windows = model.windows(&["Gates", "Locks", &text]);
    let [gates, locks] = ["Gates", "Locks"].map(|text| model.windows(&[text])[0][1]);
    let lengths: Vec<usize> = windows.iter().map(Vec::len).collect();
    assert_eq!(lengths, [128, 128, 56]);
    for window in &windows {
        assert_eq!(&window[..3], [START, gates, locks]);
        assert_eq!(window.last(), Some(&END));
    }
    assert_eq!(model.windows(&["Gates", &"water ".repeat(5_000)]).len(), 4);
    assert_eq!(model.windows(&["Gates", ""]), [[START, gates, END]]);
    // Of long headings, the last tokens count.
    let heading = format!("{}gates", "lock ".repeat(200));
    let windows = model.windows(&[&heading, &text]);
    assert_eq!(windows[0][MOST_ABOVE], gates);
    assert!(windows.iter().all(|window| window.len() <= MOST_TOKENS));
    // What only the end of a passage says counts.
    let mut reader = model.reader();
    let [plain, other] = ["", "Volcanoes erupt. ".repeat(8).as_str()]
        .map(|end| reader.embed(&["Gates", &format!("{text}{end}")]).unwrap());
    assert_ne!(plain, other);
}

#[test]
fn text_that_it_cannot_read_has_no_vector() {
    let mut reader = transformer().unwrap().reader();
    let found = reader.embed_all(&[vec!["築地市場"], vec!["water"], vec!["Гавань", "лодки"]]);
    assert_eq!(found[1], reader.embed(&["water"]));
    assert!(found[0].is_none() && found[1].is_some() && found[2].is_none());
}

#[test]
fn meaning_counts_less_in_languages_that_it_hardly_knows() {
    let model = transformer().unwrap();
    let weight = |query: &str| model.weight_of(query);
    assert_eq!(weight("Where is the water kept?"), model.weight());
    assert_eq!(weight("42?"), model.weight());
    let german = weight("Wohin fließt überschüssiges Schleusenwasser?");
    assert!(german.most < model.weight().most, "{german:?}");
    assert!(german.most >= model.weight().most * 4 / 5, "{german:?}");
    // Letters that it cannot read take their share as well.
    let mixed = weight("water вода");
    assert!(mixed.most < model.weight().most * 3 / 5, "{mixed:?}");
}

#[test]
fn the_digest_of_the_model_is_known() {
    let model = TransformerModel::new("x", FILE).unwrap();
    assert_eq!(transformer().unwrap().fingerprint(), model.fingerprint());
}

#[test]
fn parts_of_a_text_are_read_one_after_the_other() {
    let mut reader = transformer().unwrap().reader();
    let whole = reader.embed(&["Gates\nGates hold the water back."]);
    assert_eq!(
        reader.embed(&["Gates", "Gates hold the water back."]),
        whole
    );
    assert!(reader.embed(&[]).is_some());
}

#[test]
fn a_damaged_model_is_refused() {
    let refused = |file: &'static [u8]| TransformerModel::new("x", file).err();
    assert_eq!(refused(b""), Some(ModelError::Damaged));
    assert_eq!(refused(&FILE[..FILE.len() - 1]), Some(ModelError::Damaged));
    assert_eq!(refused(&FILE[..100]), Some(ModelError::Damaged));
    let table = sectile_model_static::FILE;
    assert_eq!(refused(table), Some(ModelError::OtherKind));
}
