//! `sectile notebook` on libraries as people have them: flat ones, mixed ones, and empty ones.

use serde_json::{Value, json};

use super::{Home, Ran};

fn flat() -> Home {
    let home = Home::new();
    for number in 1..=3 {
        home.write(
            &format!("flat/{number}.md"),
            &format!("# Note {number}\n\nBees need winter feed.\n"),
        );
    }
    home
}

fn mixed() -> Home {
    let home = Home::new();
    home.write("vault/MOC.md", "# Map\n\nZeppelin hangar.\n");
    home.write("vault/Areas/a.md", "# A\n\nText about airships.\n");
    home.write("vault/Projects/deep/b.md", "# B\n\nThe hangar is empty.\n");
    home
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

/// Runs a command that must succeed, and gives its JSON.
fn done(home: &Home, arguments: &[&str]) -> Value {
    let ran = home.run(&[&["notebook"], arguments, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{arguments:?} {ran:?}");
    json_of(&ran)
}

#[test]
fn a_flat_folder_is_one_collection() {
    let home = flat();
    let rows = done(&home, &["index", "flat", "--tier", "static"]);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["collection_id"], ".");
    assert_eq!(
        (&rows[0]["notebooks"], &rows[0]["indexed"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(rows[0]["notes_at_top"], json!(["1.md", "2.md", "3.md"]));
    let report = done(&home, &["verify", "flat"]);
    assert_eq!(report["verified"], true);
    assert_eq!(report["collections"][0]["notebooks"], 3);
    let found = done(&home, &["search", "flat", ".", "winter", "feed"]);
    assert_eq!(found["total_matches"], 3);
    assert_eq!(found["index_on_disk"], true);
    let id = found["results"][0]["reference_id"].as_str().unwrap();
    assert!(id.starts_with("./1.md@"), "{id}");
    let quote = done(&home, &["quote", "flat", id]);
    assert_eq!(quote["exact_text"], "Bees need winter feed.");
    // What the shell says of the folder is what the id names.
    home.write("summary.md", "They feed them.\n");
    let ran = home.run(&[
        "notebook",
        "artifact",
        "add",
        "flat",
        ".",
        "feed",
        "summary.md",
        "--type",
        "summary",
        "--source",
        "1.md",
        "--step",
        "tool=x",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        home.read("flat/_artifacts/feed/summary.md"),
        "They feed them.\n"
    );
    let report = done(&home, &["verify", "flat", "."]);
    assert_eq!(report["collections"][0]["sets"][0]["artifacts"], 1);
}

#[test]
fn notes_at_the_top_of_a_library_belong_to_a_collection_too() {
    let home = mixed();
    let rows = done(&home, &["index", "vault", "--tier", "static"]);
    let names: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["collection_id"].as_str().unwrap())
        .collect();
    assert_eq!(names, [".", "Areas", "Projects"]);
    assert_eq!(rows[0]["notes_at_top"], json!(["MOC.md"]));
    assert!(rows[1].get("notes_at_top").is_none(), "{rows}");
    let found = done(&home, &["search", "vault", ".", "zeppelin"]);
    assert_eq!(found["results"][0]["text"], "Zeppelin hangar.");
    assert_eq!(
        found["total_matches"], 1,
        "notes of other collections are not in it"
    );
    assert_eq!(
        home.run(&["notebook", "search", "vault", "Nowhere", "x"])
            .stderr,
        "error: there is no such collection.\nhint: the collections are: ., Areas, Projects\n"
    );
}

/// Ids carry the name of their collection, and no name depends on what else lies in the library or on what that is called.
#[test]
fn ids_of_passages_stay_what_they_are_when_notes_come_to_the_top_or_the_library_is_renamed() {
    let home = mixed();
    std::fs::remove_file(home.path("work/vault/MOC.md")).unwrap();
    let of = |home: &Home, root: &str, collection: &str| {
        done(home, &["search", root, collection, "hangar"])["results"][0]["reference_id"].clone()
    };
    let before = of(&home, "vault", "Projects");
    home.write("vault/MOC.md", "# Map\n\nZeppelin hangar.\n");
    // A folder that is called like the library, or like a note at its top, is a collection of its own.
    home.write("vault/vault/x.md", "# X\n\nAnother hangar.\n");
    home.write("vault/MOC/x.md", "# X\n\nYet another hangar.\n");
    assert_eq!(of(&home, "vault", "Projects"), before);
    let top = of(&home, "vault", ".");
    assert!(top.as_str().unwrap().starts_with("./MOC.md@"), "{top}");
    std::fs::rename(home.path("work/vault"), home.path("work/renamed")).unwrap();
    assert_eq!(of(&home, "renamed", "Projects"), before);
    assert_eq!(of(&home, "renamed", "."), top);
}

#[test]
fn the_root_of_the_notes_at_the_top_can_be_computed_with_ordinary_tools() {
    let home = mixed();
    home.write("vault/.hidden.md", "x\n");
    home.write("vault/A.MD", "x\n");
    let report = done(&home, &["verify", "vault", "."]);
    let root = report["collections"][0]["root"]
        .as_str()
        .unwrap()
        .to_owned();
    let help = home.run(&["notebook", "verify", "--help"]).stdout;
    let lines = help.lines().skip_while(|line| !line.contains("find . "));
    let script: Vec<&str> = lines.collect();
    let script = script.join("\n").replace("find . ", "find . -maxdepth 1 ");
    let ran = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(home.path("work/vault"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(ran.stdout).unwrap(),
        format!("{root}  -\n")
    );
}

#[test]
fn search_over_all_collections_is_possible_from_the_shell() {
    let home = mixed();
    let found = done(&home, &["search", "--all", "vault", "hangar"]);
    let ids: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["reference_id"].as_str().unwrap())
        .collect();
    assert!(ids.iter().any(|id| id.starts_with("./MOC.md@")), "{ids:?}");
    assert!(
        ids.iter().any(|id| id.starts_with("Projects/deep/b.md@")),
        "{ids:?}"
    );
    let scores: Vec<f64> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    let searched: Vec<&str> = found["collections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["collection_id"].as_str().unwrap())
        .collect();
    assert_eq!(searched, [".", "Areas", "Projects"]);
    let total: u64 = found["collections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["total_matches"].as_u64().unwrap())
        .sum();
    assert_eq!(found["total_matches"], total);
    let one = done(&home, &["search", "--all", "vault", "hangar", "-k", "1"]);
    assert_eq!(one["results"].as_array().unwrap().len(), 1);
    assert_eq!(one["results"][0], found["results"][0]);
    // A word that one collection has is not unknown.
    let words = done(
        &home,
        &["search", "--all", "vault", "airships", "xylophone"],
    );
    assert_eq!(words["unknown_words"], json!(["xylophone"]));
    assert_eq!(
        home.run(&["notebook", "search", "--all", "vault"]).code,
        Some(2)
    );
    assert_eq!(
        home.run(&["notebook", "search", "vault", "."]).code,
        Some(2)
    );
}

#[test]
fn notebook_index_on_nothing_is_an_error() {
    let home = Home::new();
    for folder in ["empty", "hidden/.git", "private/_drafts", "hollow/notes"] {
        std::fs::create_dir_all(home.path("work").join(folder)).unwrap();
    }
    home.write("private/_drafts/x.md", "x\n");
    home.write("hidden/.git/x.md", "x\n");
    home.write("hollow/notes/x.txt", "x\n");
    for root in ["empty", "hidden", "private"] {
        for arguments in [&["index", root][..], &["search", "--all", root, "x"]] {
            let ran = home.run(&[&["notebook"], arguments].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
            assert!(
                ran.stderr.starts_with(
                    "error: there is no collection in ROOT.\nhint: a collection is a folder"
                ),
                "{ran:?}"
            );
        }
    }
    let ran = home.run(&["notebook", "index", "hollow", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(json_of(&ran)[0]["notebooks"], 0);
    assert!(
        ran.stderr
            .starts_with("error: nothing was indexed: there are no notebooks.\n"),
        "{ran:?}"
    );
    let ran = home.run(&["notebook", "index", "nowhere"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
}

#[test]
fn verify_of_nothing_is_not_verified() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("work/empty")).unwrap();
    std::fs::create_dir_all(home.path("work/hollow/notes")).unwrap();
    let ran = home.run(&["notebook", "verify", "empty", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("error: there is no collection in ROOT.\n"),
        "{ran:?}"
    );
    for more in [&[][..], &["notes"]] {
        let ran = home.run(&[&["notebook", "verify", "hollow", "--json"], more].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(json_of(&ran)["verified"], false);
        assert!(
            ran.stderr.starts_with("error: nothing was verified"),
            "{ran:?}"
        );
    }
    let ran = home.run(&["notebook", "verify", "hollow", "notes", "--sums"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    // One that is empty beside one that is not takes nothing away.
    home.write("hollow/lab/x.md", "# X\n");
    let report = done(&home, &["verify", "hollow"]);
    assert_eq!(report["verified"], true);
}
