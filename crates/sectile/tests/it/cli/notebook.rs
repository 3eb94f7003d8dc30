//! `sectile notebook`: artifacts added with their record, and everything verified.

use std::{fs, os::unix::fs::symlink, process::Command};

use serde_json::Value;

use super::{Home, Ran};

fn library() -> Home {
    let home = Home::new();
    home.write("lib/lab/week-1.md", "# Week 1\n\nWe measured.\n");
    home.write("lib/lab/deep/week-2.md", "# Week 2\n");
    home.write("lib/diary/day.md", "Quiet.\n");
    home.write("lib/_drafts/x.md", "no collection\n");
    home.write("summary.md", "They measured.\n");
    home.write("facts.json", "{\"n\": 1}");
    home
}

fn add(home: &Home, more: &[&str]) -> Ran {
    let mut arguments = vec!["notebook", "artifact", "add", "lib"];
    arguments.extend(more);
    home.run(&arguments)
}

fn added(home: &Home) {
    let ran = add(
        home,
        &[
            "lab",
            "week-1",
            "summary.md",
            "facts.json",
            "--type",
            "summary",
            "--source",
            "week-1.md",
            "--step",
            "tool=summarise;model=small",
            "--note",
            "Not reviewed.",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn verified(home: &Home, more: &[&str]) -> (Option<i32>, Value) {
    let mut arguments = vec!["notebook", "verify", "lib", "--json"];
    arguments.extend(more);
    let ran = home.run(&arguments);
    let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    (ran.code, report)
}

/// Names below a folder, sorted.
fn names(home: &Home, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(home.path("work").join(folder))
        .map(|entries| {
            let names = entries.map(|entry| entry.unwrap().file_name());
            names.map(|name| name.into_string().unwrap()).collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

#[test]
fn a_set_is_added_with_its_record() {
    let home = library();
    added(&home);
    let set = "lib/lab/_artifacts/week-1";
    assert_eq!(names(&home, set), ["facts.json", "set.toml", "summary.md"]);
    assert_eq!(names(&home, "lib/lab/_artifacts"), ["week-1"]);
    assert_eq!(home.read(&format!("{set}/summary.md")), "They measured.\n");
    let record = home.read(&format!("{set}/set.toml"));
    let record: toml::Table = record.parse().unwrap();
    let digest = |text: &str| sectile_markdown::Digest::of(text.as_bytes()).to_string();
    let (source, summary) = (
        digest("# Week 1\n\nWe measured.\n"),
        digest("They measured.\n"),
    );
    assert_eq!(record["type"].as_str(), Some("summary"));
    assert_eq!(record["status"].as_str(), Some("offered"));
    assert_eq!(record["created_by"].as_str(), Some("synthesis_pipeline"));
    assert_eq!(record["confidence_note"].as_str(), Some("Not reviewed."));
    assert_eq!(record["sources"][0]["notebook"].as_str(), Some("week-1.md"));
    assert_eq!(
        record["sources"][0]["sha256"].as_str(),
        Some(source.as_str())
    );
    let step = &record["steps"][0];
    assert_eq!(step["tool"].as_str(), Some("summarise"));
    assert_eq!(step["parameters"]["model"].as_str(), Some("small"));
    assert_eq!(step["inputs"][0].as_str(), Some(source.as_str()));
    assert_eq!(step["outputs"][0].as_str(), Some(summary.as_str()));
    assert_eq!(record["artifacts"][0]["bytes"].as_integer(), Some(15));
    let (code, report) = verified(&home, &[]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["verified"], true);
    let collections = report["collections"].as_array().unwrap();
    assert_eq!(collections.len(), 2);
    assert_eq!(collections[1]["sets"][0]["artifacts"], 2);
}

#[test]
fn nothing_is_ever_overwritten() {
    let home = library();
    added(&home);
    let before = home.read("lib/lab/_artifacts/week-1/set.toml");
    let again = add(&home, &["lab", "week-1", "facts.json", "--type", "index"]);
    assert_eq!(again.code, Some(1));
    assert!(
        again.stderr.contains("a set with this name exists already"),
        "{again:?}"
    );
    assert_eq!(home.read("lib/lab/_artifacts/week-1/set.toml"), before);
    assert_eq!(names(&home, "lib/lab/_artifacts"), ["week-1"], "no traces");
    home.write("lib/lab/_artifacts/file", "in the way");
    let file = add(&home, &["lab", "file", "facts.json", "--type", "index"]);
    assert_eq!(file.code, Some(1), "{file:?}");
    assert_eq!(home.read("lib/lab/_artifacts/file"), "in the way");
    let outside = home.path("work").join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, home.path("work").join("lib/lab/_artifacts/link")).unwrap();
    let link = add(&home, &["lab", "link", "facts.json", "--type", "index"]);
    assert_eq!(link.code, Some(1), "{link:?}");
    symlink(&outside, home.path("work").join("lib/diary/_artifacts")).unwrap();
    let link = add(&home, &["diary", "s", "facts.json", "--type", "index"]);
    assert_eq!(link.code, Some(1), "{link:?}");
    assert_eq!(names(&home, "outside"), [""; 0]);
}

#[test]
fn a_set_that_nobody_would_see_is_told() {
    let home = library();
    home.write("lib/.gitignore", "_artifacts/\n");
    let ran = add(&home, &["lab", "s", "facts.json", "--type", "index"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("the library does not see it"),
        "{ran:?}"
    );
}

#[test]
fn what_an_interrupted_add_leaves_is_no_set() {
    let home = library();
    home.write("lib/lab/_artifacts/.sectile-x1/summary.md", "half");
    fs::create_dir(home.path("work").join("lib/lab/_artifacts/week-1")).unwrap();
    let (code, report) = verified(&home, &["lab"]);
    assert_eq!((code, report["verified"].as_bool()), (Some(0), Some(true)));
    assert_eq!(
        report["collections"][0]["sets"].as_array().unwrap().len(),
        0
    );
    added(&home);
    assert_eq!(verified(&home, &["lab"]).0, Some(0));
}

/// Arguments that are refused, with the exit code and some words of the reason.
const WRONG_CALLS: [(&str, i32, &str); 18] = [
    (
        "none s summary.md --type index",
        1,
        "the collections are: diary, lab",
    ),
    ("LAB s summary.md --type index", 1, "no such collection"),
    ("_drafts s summary.md --type index", 1, "no such collection"),
    (
        "lab ../s summary.md --type index",
        2,
        "valid name for a set",
    ),
    ("lab .s summary.md --type index", 2, "valid name for a set"),
    ("lab s none.md --type index", 1, "cannot be read"),
    ("lab s x --type index", 1, "cannot be read"),
    ("lab s set.toml --type index", 2, "artifacts may not have"),
    ("lab s .dot.md --type index", 2, "artifacts may not have"),
    ("lab s summary.md x/summary.md --type index", 2, "same name"),
    ("lab s summary.md --type poem", 2, "invalid value"),
    ("lab s summary.md", 2, "--type"),
    ("lab s --type index", 2, "FILE"),
    (
        "lab s summary.md --type index --source none.md",
        1,
        "no notebook",
    ),
    (
        "lab s summary.md --type index --source ../diary/day.md",
        1,
        "no notebook",
    ),
    (
        "lab s summary.md --type index --step model=x",
        2,
        "name its tool",
    ),
    (
        "lab s summary.md --type index --status canonical --by synthesis_pipeline",
        2,
        "cannot be canonical",
    ),
    (
        "lab s summary.md --type index --source week-1.md --step tool=a --step tool=b",
        2,
        "leaves a gap",
    ),
];

#[test]
fn wrong_calls_leave_nothing_behind() {
    let home = library();
    home.write("x/summary.md", "same name");
    home.write("set.toml", "");
    home.write(".dot.md", "");
    for (arguments, code, reason) in WRONG_CALLS {
        let ran = add(&home, &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(code), "{arguments} {ran:?}");
        assert!(ran.stderr.contains(reason), "{arguments} {ran:?}");
    }
    assert_eq!(names(&home, "lib/lab"), ["deep", "week-1.md"]);
}

#[test]
fn steps_are_chained_by_the_files_between_them() {
    let home = library();
    home.write("raw.json", "{}");
    let ran = add(
        &home,
        &[
            "lab",
            "facts",
            "facts.json",
            "--type",
            "extraction",
            "--source",
            "week-1.md",
            "--source",
            "deep/week-2.md",
            "--step",
            "tool=extract;out=raw.json",
            "--step",
            "tool=clean",
            "--json",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["artifacts"][0]["artifact_id"], "facts/facts.json");
    assert_eq!(
        (
            &answer["steps"],
            answer["sources"].as_array().unwrap().len()
        ),
        (&2.into(), 2)
    );
    let record: toml::Table = home
        .read("lib/lab/_artifacts/facts/set.toml")
        .parse()
        .unwrap();
    assert_eq!(record["steps"][0]["outputs"], record["steps"][1]["inputs"]);
    let canonical = add(
        &home,
        &[
            "lab",
            "own",
            "summary.md",
            "--type",
            "synthesis",
            "--status",
            "canonical",
        ],
    );
    assert_eq!(canonical.code, Some(0), "{canonical:?}");
    let record: toml::Table = home
        .read("lib/lab/_artifacts/own/set.toml")
        .parse()
        .unwrap();
    assert_eq!(record["created_by"].as_str(), Some("human_export"));
    assert_eq!(record.get("steps"), None, "nobody described a step");
}

#[test]
fn drift_is_told_and_fails() {
    let home = library();
    added(&home);
    home.write("lib/lab/_artifacts/week-1/summary.md", "They measured!\n");
    home.write("lib/lab/week-1.md", "# Week 1, rewritten\n");
    home.write("lib/lab/_artifacts/broken/set.toml", "format = 2");
    let (code, report) = verified(&home, &[]);
    assert_eq!((code, &report["verified"]), (Some(1), &false.into()));
    let lab = &report["collections"][1];
    let set = &lab["sets"][0];
    assert_eq!(set["drifted_artifacts"][0]["id"], "week-1/summary.md");
    assert_eq!(set["drifted_artifacts"].as_array().unwrap().len(), 1);
    assert_eq!(set["drifted_sources"][0]["id"], "week-1.md");
    assert_eq!(lab["damaged"][0]["id"], "broken");
    assert_eq!(verified(&home, &["diary"]).0, Some(0));
    let ran = home.run(&["notebook", "verify", "lib"]);
    assert!(ran.stderr.contains("3 items do not verify"), "{ran:?}");
    assert_eq!(
        home.run(&["notebook", "verify", "lib", "none"]).code,
        Some(1)
    );
    assert_eq!(home.run(&["notebook", "verify", "nowhere"]).code, Some(1));
    assert_eq!(
        home.run(&["notebook", "verify", "lib", "--sums"]).code,
        Some(2)
    );
}

/// A shell computes what the program prints, and `sha256sum` takes the list.
#[test]
fn roots_can_be_computed_with_ordinary_tools() {
    let home = library();
    added(&home);
    let (_, report) = verified(&home, &["lab"]);
    let root = report["collections"][0]["root"]
        .as_str()
        .unwrap()
        .to_owned();
    let help = home.run(&["notebook", "verify", "--help"]).stdout;
    let lines = help.lines().skip_while(|line| !line.contains("find . "));
    let script: Vec<&str> = lines.collect();
    let shell = |script: &str| {
        let ran = Command::new("sh")
            .args(["-c", script])
            .current_dir(home.path("work/lib/lab"))
            .output();
        ran.ok()
            .filter(|ran| ran.status.success() && !ran.stdout.is_empty())
    };
    if shell("printf x | sha256sum").is_none() {
        return;
    }
    let printed = shell(&script.join("\n")).unwrap();
    assert_eq!(
        String::from_utf8(printed.stdout).unwrap(),
        format!("{root}  -\n")
    );
    let sums = home.run(&["notebook", "verify", "lib", "lab", "--sums"]);
    assert_eq!(
        sectile_markdown::Digest::of(sums.stdout.as_bytes()).to_string(),
        root
    );
    home.write("lib/lab/sums.txt", &sums.stdout);
    assert!(shell("sha256sum --check sums.txt").is_some());
}

#[test]
fn an_artifact_added_without_steps_records_none() {
    let home = library();
    let ran = add(
        &home,
        &[
            "lab",
            "plain",
            "summary.md",
            "--type",
            "summary",
            "--source",
            "week-1.md",
            "--json",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["steps"], 0, "{report}");
    let record = home.read("lib/lab/_artifacts/plain/set.toml");
    assert!(
        !record.contains("steps") && !record.contains("unknown"),
        "{record}"
    );
    let (code, report) = verified(&home, &["lab"]);
    assert_eq!((code, &report["verified"]), (Some(0), &Value::Bool(true)));
}

#[test]
fn a_binary_payload_is_refused_when_it_is_added() {
    let home = library();
    let files = home.path("work");
    fs::write(files.join("picture.png"), b"\x89PNG\r\n\x1a\n\xff").unwrap();
    fs::write(files.join("zeros.txt"), b"text\0text").unwrap();
    fs::write(files.join("broken.json"), b"{\"a\": \"\xff\"}").unwrap();
    for file in ["picture.png", "zeros.txt", "broken.json"] {
        let ran = add(
            &home,
            &["lab", "s", "summary.md", file, "--type", "summary"],
        );
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stderr.contains(file) && ran.stderr.contains("neither text nor JSON"),
            "{ran:?}"
        );
        assert_eq!(
            names(&home, "lib/lab/_artifacts"),
            [""; 0],
            "nothing is left"
        );
    }
}

#[test]
fn a_payload_larger_than_a_client_may_retrieve_is_refused_when_it_is_added() {
    let home = library();
    home.write(
        "small.toml",
        "[vault]\nmax_note_bytes = 14\n[notebook]\nroot = \"lib\"\n",
    );
    let add = |file: &str| {
        let set = ["lab", "s", file, "--type", "summary"];
        let mut arguments = vec!["notebook", "artifact", "add", "small.toml"];
        arguments.extend(set);
        home.run(&arguments)
    };
    let ran = add("summary.md");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("more than 14 bytes"), "{ran:?}");
    assert_eq!(
        names(&home, "lib/lab/_artifacts"),
        [""; 0],
        "nothing is left"
    );
}
