//! `sectile search --explain` and `--ranking`: why a result is where it is, and where another ranking puts it.

use serde_json::Value;

use super::{Home, text};

const NOTES: [(&str, &str); 7] = [
    (
        "boats.md",
        "# Boats\n\n## Anchoring\n\nDrop the anchor, then anchor again. The anchor holds.\n",
    ),
    (
        "harbour.md",
        "# Harbour\n\nThe pilot anchored outside and waited for the tide.\n",
    ),
    (
        "garage.md",
        "---\ntags: [car]\n---\n# Garage\n\nFixing an automobile takes a mechanic.\n",
    ),
    (
        "food/cake.md",
        "# Apple cake\n\nFlour, butter and apples.\n",
    ),
    ("food/bread.md", "# Bread\n\nFlour, water, salt and time.\n"),
    (
        "tasks.md",
        "# Tasks\n\n- [ ] Buy an anchor\n- [ ] Paint the anchor\n- [x] Call the pilot\n",
    ),
    (
        "long.md",
        "# Long\n\n## One\n\nThe tide and the anchor.\n\n## Two\n\nThe anchor and the tide.\n",
    ),
];

const QUERIES: [&[&str]; 9] = [
    &["anchor"],
    &["car", "repair"],
    &["flour", "for", "a", "cake", "path:food/"],
    &["\"the tide\""],
    &["is:task", "anchor"],
    &["is:task"],
    &["tag:car"],
    &["anchor", "sort:path", "--limit", "2"],
    &["nothingofthekind", "tag:nowhere"],
];

fn notes() -> Home {
    let home = Home::new();
    std::fs::create_dir(home.path("work/.obsidian")).unwrap();
    for (path, note) in NOTES {
        home.write(path, note);
    }
    home
}

fn json(home: &Home, arguments: &[&[&str]]) -> Value {
    let ran = home.run(&[&["search", "--json"], &*arguments.concat()].concat());
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

fn ids(answer: &Value) -> Vec<&str> {
    let results = list(answer, "results").iter();
    results
        .map(|result| result["id"].as_str().unwrap())
        .collect()
}

/// Returns the reasons of the result whose note has this path.
fn why<'a>(answer: &'a Value, path: &str) -> &'a Value {
    let mut results = list(answer, "results").iter();
    let result = results.find(|result| result["path"] == path);
    &result.unwrap_or_else(|| panic!("{path}: {answer:#}"))["why"]
}

/// Checks that an explained search has the results of the `search` tool, and returns it.
fn checked(home: &Home, arguments: &[&str]) -> Value {
    let plain = json(home, &[arguments]);
    let explained = json(home, &[arguments, &["--explain"]]);
    assert_eq!(ids(&plain), ids(&explained), "{arguments:?}");
    for (one, other) in list(&plain, "results")
        .iter()
        .zip(list(&explained, "results"))
    {
        for key in ["id", "title", "url", "snippet", "tokens", "base"] {
            assert_eq!(one[key], other[key], "{arguments:?}");
        }
    }
    for key in ["total", "next", "try", "index"] {
        assert_eq!(plain[key], explained[key], "{arguments:?}");
    }
    let full = json(home, &[arguments, &["--ranking", "full"]]);
    assert_eq!(ids(&plain), ids(&full), "{arguments:?}");
    assert!(
        list(&full, "results")
            .iter()
            .all(|one| one["why"].is_null())
    );
    explained
}

#[test]
fn an_explained_search_has_the_results_of_the_tool() {
    let home = notes();
    for query in QUERIES {
        let answer = checked(&home, query);
        assert_eq!(answer, json(&home, &[query, &["--explain"]]), "{query:?}");
        if let Some(next) = answer["next"].as_str() {
            let rest = checked(&home, &[query, &["--cursor", next]].concat());
            assert!(rest["results"][0]["place"].as_u64() > Some(2), "{rest:#}");
        }
    }
}

#[test]
fn words_and_meaning_say_what_they_contributed() {
    let home = notes();
    let answer = checked(&home, &["anchor", "nowhereatall", "path:boats.md"]);
    assert_eq!(answer["filters"], serde_json::json!(["path:boats.md"]));
    assert_eq!(answer["unknown"], serde_json::json!(["nowhereatall"]));
    assert_eq!(answer["words"], "anchor nowhereatall");
    let boats = why(&answer, "boats.md");
    let term = &boats["terms"][0];
    assert_eq!(term["form"], "exact", "{boats:#}");
    assert_eq!(term["in_body"], 3, "{boats:#}");
    assert_eq!(boats["words"]["rank"], 1);
    let root = &answer["ranking"]["roots"][0];
    let weighed = |part: &str, weight: &str| {
        let score = boats[part]["score"].as_u64().unwrap_or(0);
        score * root[weight].as_u64().unwrap()
    };
    let sum = weighed("words", "words_weight") + weighed("meaning", "meaning_weight");
    assert_eq!(boats["fused"]["score"], sum / 1_000_000, "{answer:#}");

    let answer = checked(&home, &["car", "repair"]);
    let garage = why(&answer, "garage.md");
    assert_eq!(garage["meaning"]["rank"], 1, "{garage:#}");
    assert!(garage["words"].is_null() && list(garage, "terms").is_empty());
    assert_eq!(answer["ranking"]["used"], "static");
    // The same question by words alone finds nothing, and says so.
    let by_words = json(
        &home,
        &[&["car", "repair", "--explain", "--ranking", "words"]],
    );
    assert!(ids(&by_words).is_empty(), "{by_words:#}");
    assert_eq!(by_words["ranking"]["used"], "words");
    assert_eq!(by_words["ranking"]["asked"], "words");
    let by_static = json(&home, &[&["car", "repair", "--ranking", "static"]]);
    assert_eq!(ids(&by_static), ids(&answer));

    let listed = checked(&home, &["tag:car"]);
    assert_eq!(listed["ranking"]["used"], "filters");
    assert!(why(&listed, "garage.md").is_null());
}

#[test]
fn people_read_the_reasons_below_each_result() {
    let home = notes();
    let ran = home.run(&["search", "anchor", "--explain"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("boats.md#"));
    let below = &lines[at.unwrap() + 1..];
    assert!(below[0].starts_with("    score 0."), "{ran:?}");
    assert!(below[0].contains("words ") && below[0].contains("(rank 1)"));
    assert!(
        below[1].contains("anchor (exact): 3 in the text; in "),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("anchor (stem, anchor): 1 in the text"),
        "{ran:?}"
    );
    let last = "ranked by words and meaning (static tier); the transformer tier is not complete\n";
    assert!(ran.stdout.ends_with(last), "{ran:?}");
    let ran = home.run(&["search", "tag:car", "--explain"]);
    assert!(
        ran.stdout
            .contains("\n    it passes the filters; by path\n"),
        "{ran:?}"
    );
    let ran = home.run(&["search", "anchor", "--ranking", "best"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = home.run(&["search", "tag:", "--explain", "--json"]);
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(
        (ran.code, &error["code"]),
        (Some(1), &"invalid_query".into())
    );
}

/// Each root is ranked by itself, and the results of all are merged by score.
#[test]
fn several_roots_are_explained_together() {
    let home = notes();
    let config = home.path("sectile.toml");
    let roots = [("food", "work/food"), ("sea", "sea")];
    std::fs::create_dir(home.path("sea")).unwrap();
    std::fs::write(
        home.path("sea/tide.md"),
        "# Tide\n\nFlour floats on the tide.\n",
    )
    .unwrap();
    let roots = roots.map(|(name, path)| format!("{name} = {:?}\n", text(&home.path(path))));
    std::fs::write(&config, format!("[desk.roots]\n{}", roots.concat())).unwrap();
    let config = text(&config);
    let answer = checked(&home, &["flour", "--config", config]);
    let results = list(&answer, "results");
    let of = |root: &str| results.iter().filter(|one| one["root"] == root).count();
    assert_eq!((of("food"), of("sea")), (2, 1), "{answer:#}");
    let scores = results
        .iter()
        .map(|one| one["why"]["fused"]["score"].as_u64());
    assert!(
        scores
            .collect::<Vec<_>>()
            .is_sorted_by(|one, next| one >= next)
    );
    let best = results.iter().find(|one| one["root"] == "sea").unwrap();
    assert_eq!(best["why"]["fused"]["rank"], 1, "{best:#}");
    assert!(
        best["id"].as_str().unwrap().starts_with("sea:tide.md"),
        "{best:#}"
    );
    assert_eq!(best["path"], "tide.md");
    let roots = list(&answer["ranking"], "roots").iter();
    let roots = roots.map(|root| {
        (
            root["root"].as_str().unwrap(),
            root["passages"].as_u64().unwrap(),
        )
    });
    assert_eq!(roots.collect::<Vec<_>>(), [("food", 2), ("sea", 1)]);
}
