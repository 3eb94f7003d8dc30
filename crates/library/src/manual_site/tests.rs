//! Tests of sites: folders as the programs expect them, and broken ones.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::path::Path;

use proptest::prelude::*;
use sectile_markdown::Note;
use sectile_vault::Walk;
use tempfile::TempDir;

use super::*;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    folder
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn site_at(path: &Path, kind: Option<SiteKind>) -> ManualSite {
    let root = Root::open(path).unwrap();
    let mut documents = root.walk(&Walk::default(), &|| false).unwrap();
    // A walk does not list pages in MDX yet.
    for name in ["guide/tabs.mdx", "tabs.mdx"] {
        documents.extend(
            path.join(name)
                .exists()
                .then(|| NotePath::parse_vault(name).unwrap()),
        );
    }
    documents.sort();
    ManualSite::find(&root, &documents, kind, |path| {
        let bytes = root.read(path, 1 << 20).unwrap_or_default();
        Note::new(path.as_str(), &bytes).front_matter().clone()
    })
}

fn site(files: &[(&str, &str)]) -> ManualSite {
    site_at(folder(files).path(), None)
}

#[test]
fn changed_settings_are_noticed() {
    let outer = folder(&[
        ("docs/a.md", "# A\n"),
        ("docs/sub/b.md", "# B\n"),
        ("docs/llms.txt", "# Site\n"),
    ]);
    let path = outer.path().join("docs");
    let root = Root::open(&path).unwrap();
    let is_current = |has_changes| site_at(&path, None).files.are_current(&root, has_changes);
    assert!(is_current(true) && is_current(false));
    // In the folder, changes are looked for only if some are reported; outside and out of sight, always.
    for (name, text, is_reported) in [
        ("docs/sub/_category_.json", "{\"position\": 2}", true),
        ("docs/llms.txt", "# Same\n", true),
        ("docs/.vitepress/config.ts", "", false),
        ("mkdocs.yml", "site_name: A\n", false),
    ] {
        let mut files = site_at(&path, None).files;
        let before = std::fs::read(outer.path().join(name)).ok();
        write(outer.path(), &[(name, text)]);
        assert_eq!(
            files.clone().are_current(&root, false),
            is_reported,
            "{name}"
        );
        assert!(!files.are_current(&root, true), "{name}");
        match before {
            Some(before) => std::fs::write(outer.path().join(name), before).unwrap(),
            None => std::fs::remove_file(outer.path().join(name)).unwrap(),
        }
        // It is as it was, although its stamp is not.
        assert!(files.are_current(&root, true), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn settings_behind_a_link_are_noticed_too() {
    let folder = folder(&[("a.md", "# A\n"), ("real.yml", "site_name: A\n")]);
    std::os::unix::fs::symlink("real.yml", folder.path().join("mkdocs.yml")).unwrap();
    let root = Root::open(folder.path()).unwrap();
    let mut files = site_at(folder.path(), None).files;
    assert!(files.are_current(&root, true));
    write(folder.path(), &[("real.yml", "site_name: B\n")]);
    assert!(!files.are_current(&root, true));
}

/// The pages as `path = title @ address`, with `-` for what is missing.
fn rows(site: &ManualSite) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let row = |page: &SitePage| {
        format!(
            "{} = {} @ {}",
            page.path,
            text(&page.title),
            text(&page.url)
        )
    };
    site.pages.iter().map(row).collect()
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

#[test]
fn a_book() {
    const SUMMARY: &str = "# Summary\n\n[Introduction](README.md)\n\n# Guide\n\n- [Set up](./guide/setup.md)\n  - [Draft]()\n- [Gone](guide/gone.md)\n- [Twice](guide/setup.md)\n- [My page](my%20page.md)\n- [Elsewhere](https://example.org/x.md)\n- [Out](../../secret.md)\n";
    let files = [
        ("src/SUMMARY.md", SUMMARY),
        ("src/README.md", "# Hello\n"),
        ("src/guide/setup.md", "# Setup\n"),
        ("src/guide/unlisted.md", "# Unlisted\n"),
        ("src/my page.md", "# Mine\n"),
        ("NOTES.md", "Not in the book.\n"),
    ];
    let expected = [
        "src/README.md = Introduction @ index.html",
        "src/guide/setup.md = Set up @ guide/setup.html",
        "src/my page.md = My page @ my%20page.html",
        "NOTES.md = - @ -",
        "src/SUMMARY.md = - @ -",
        "src/guide/unlisted.md = - @ -",
    ];
    let book = folder(&files);
    // With and without settings.
    for settings in [None, Some("[book]\ntitle = \"A book\"\n")] {
        if let Some(settings) = settings {
            write(book.path(), &[("book.toml", settings)]);
        }
        let site = site_at(book.path(), None);
        assert_eq!(site.kind, SiteKind::MdBook);
        assert_eq!(site.title.is_some(), settings.is_some());
        assert_eq!(rows(&site), expected);
        assert_eq!(site.missing, ["guide/gone.md", "../../secret.md"]);
        assert_eq!(site.pages[1].section.as_deref(), Some("Guide"));
        assert!(site.page(&path("src/SUMMARY.md")).unwrap().is_nav);
        assert_eq!(
            site.url(&path("src/guide/setup.md"), Some("über-x"))
                .unwrap(),
            "guide/setup.html#%C3%BCber-x"
        );
    }
    // The folder of the chapters alone.
    let site = site_at(&book.path().join("src"), None);
    assert_eq!(site.kind, SiteKind::MdBook);
    assert_eq!(rows(&site)[1], "guide/setup.md = Set up @ guide/setup.html");
    // Another folder of chapters.
    let site = site_at(
        folder(&[
            ("book.toml", "book.src = \"./text/\"\n"),
            ("text/SUMMARY.md", "- [A](a.md)\n"),
            ("text/a.md", ""),
        ])
        .path(),
        None,
    );
    assert_eq!(rows(&site)[0], "text/a.md = A @ a.html");
}

const MKDOCS: &str = "site_name: Sample\nmarkdown_extensions:\n  - pymdownx.emoji:\n      emoji_index: !!python/name:material.extensions.emoji.twemoji\nplugins: !ENV [PLUGINS, []]\nnav:\n  - index.md\n  - Guide:\n    - Set up: guide/setup.md\n    - Deep:\n      - guide/deep/README.md\n    - Missing: guide/missing.md\n  - Project: https://example.org/\n";

#[test]
fn a_site_of_mkdocs() {
    let pages = [
        ("docs/index.md", "# Home\n"),
        ("docs/guide/setup.md", "# Setup\n"),
        ("docs/guide/deep/README.md", "# Deep\n"),
        ("docs/about.md", "# About\n"),
        ("docs/extra/a.md", "# A\n"),
    ];
    let project = folder(&pages);
    write(project.path(), &[("mkdocs.yml", MKDOCS)]);
    let below = site_at(&project.path().join("docs"), None);
    assert_eq!(
        (below.kind, below.title.as_deref()),
        (SiteKind::MkDocs, Some("Sample"))
    );
    assert_eq!(
        rows(&below),
        [
            "index.md = - @ ",
            "guide/setup.md = Set up @ guide/setup/",
            "guide/deep/README.md = - @ guide/deep/",
            "about.md = - @ about/",
            "extra/a.md = - @ extra/a/",
        ]
    );
    assert_eq!(below.missing, ["guide/missing.md"]);
    assert_eq!(below.pages[2].section.as_deref(), Some("Guide"));
    assert_eq!(below.problems, []);
    assert_eq!(
        below.url(&path("guide/setup.md"), Some("install")).unwrap(),
        "guide/setup/#install"
    );
    assert_eq!(below.url(&path("nowhere.md"), None), None);
    let whole = site_at(project.path(), None);
    assert_eq!(
        rows(&whole)[1],
        "docs/guide/setup.md = Set up @ guide/setup/"
    );
    // A file beside the folder that publishes another one.
    assert_eq!(
        site_at(&project.path().join("docs/extra"), None).kind,
        SiteKind::Plain
    );
    write(project.path(), &[("mkdocs.yml", "docs_dir: other\n")]);
    assert_eq!(
        site_at(&project.path().join("docs"), None).kind,
        SiteKind::Plain
    );
    // Other settings.
    write(
        project.path(),
        &[("mkdocs.yml", "docs_dir: docs\nuse_directory_urls: false\n")],
    );
    let site = site_at(&project.path().join("docs"), None);
    assert_eq!(rows(&site)[0], "about.md = - @ about.html");
    assert_eq!(rows(&site)[4], "index.md = - @ index.html");
}

#[test]
fn a_site_of_docusaurus() {
    let pages = [
        ("docusaurus.config.ts", "throw new Error('not executed')"),
        (
            "docs/intro.md",
            "---\nslug: /\nsidebar_position: 1\ntitle: Welcome\n---\n",
        ),
        (
            "docs/02-guide/_category_.yml",
            "label: The guide\nposition: 3\n",
        ),
        ("docs/02-guide/index.md", "---\ntitle: Guide\n---\n"),
        ("docs/02-guide/02-second.md", "---\nid: other\n---\n"),
        (
            "docs/02-guide/01-first.md",
            "---\nsidebar_label: First\ntitle: Long\n---\n",
        ),
        (
            "docs/02-guide/late.md",
            "---\nslug: ../moved\nsidebar_position: 1.5\n---\n",
        ),
        ("docs/api/_category_.json", "{\"position\": 2}"),
        ("docs/api/api.md", ""),
        ("docs/api/2024-01-notes.md", ""),
        ("docs/_parts/a.md", ""),
        ("README.md", ""),
    ];
    let project = folder(&pages);
    let expected = [
        "docs/intro.md = Welcome @ docs/",
        "docs/api/api.md = - @ docs/api/",
        "docs/api/2024-01-notes.md = - @ docs/api/2024-01-notes",
        "docs/02-guide/index.md = Guide @ docs/guide/",
        "docs/02-guide/01-first.md = First @ docs/guide/first",
        "docs/02-guide/late.md = - @ docs/moved",
        "docs/02-guide/02-second.md = - @ docs/guide/other",
        "README.md = - @ -",
        "docs/_parts/a.md = - @ -",
    ];
    let whole = site_at(project.path(), None);
    assert_eq!(whole.kind, SiteKind::Docusaurus);
    assert_eq!(rows(&whole), expected);
    assert_eq!(whole.pages[4].section.as_deref(), Some("The guide"));
    let below = site_at(&project.path().join("docs"), None);
    assert_eq!(rows(&below)[0], "intro.md = Welcome @ ");
    assert_eq!(
        below.url(&path("02-guide/01-first.md"), Some("a")).unwrap(),
        "guide/first#a"
    );
    // Sidebars that are data.
    let sidebars = r#"{"docs": [
        {"type": "doc", "id": "guide/other", "label": "Second"},
        {"The API": ["api/api", "api/none"]},
        {"type": "category", "label": "Rest", "link": {"type": "doc", "id": "guide/index"},
         "items": [{"type": "autogenerated", "dirName": "02-guide"}, {"type": "link", "href": "x"}]}]}"#;
    write(project.path(), &[("sidebars.json", sidebars)]);
    let site = site_at(&project.path().join("docs"), None);
    assert_eq!(
        rows(&site)[..4],
        [
            "02-guide/02-second.md = Second @ guide/other",
            "api/api.md = - @ api/",
            "02-guide/index.md = Guide @ guide/",
            "02-guide/01-first.md = First @ guide/first",
        ]
    );
    assert_eq!(site.missing, ["api/none.md"]);
    // Without any file of Docusaurus.
    let site = site_at(
        folder(&[("a.md", ""), ("b.md", "---\nsidebar_position: 1\n---\n")]).path(),
        None,
    );
    assert_eq!(
        (site.kind, rows(&site)[0].as_str()),
        (SiteKind::Docusaurus, "b.md = - @ b")
    );
}

#[test]
fn sites_without_a_navigation() {
    let pages = [
        ("index.md", ""),
        ("guide/index.md", ""),
        ("guide/a.md", ""),
        ("guide/tabs.mdx", ""),
    ];
    let vitepress = [&pages[..], &[(".vitepress/config.mts", "throw 1")]].concat();
    let found = site(&vitepress);
    assert_eq!(found.kind, SiteKind::VitePress);
    assert_eq!(
        rows(&found),
        [
            "guide/a.md = - @ guide/a.html",
            "guide/index.md = - @ guide/",
            "guide/tabs.mdx = - @ guide/tabs.html",
            "index.md = - @ ",
        ]
    );
    assert_eq!(
        found.format(&path("guide/tabs.mdx")).syntax,
        PageSyntax::Mdx
    );
    assert_eq!(
        found.format(&path("guide/a.md")).anchors,
        AnchorStyle::VitePress
    );
    let plain = site(&pages);
    assert_eq!(plain.kind, SiteKind::Plain);
    assert_eq!(
        plain.url(&path("guide/a.md"), Some("x")).unwrap(),
        "guide/a.md#x"
    );
    // A kind that the settings name.
    let wanted = site_at(folder(&pages).path(), Some(SiteKind::MkDocs));
    assert_eq!(
        (wanted.kind, rows(&wanted)[0].as_str()),
        (SiteKind::MkDocs, "guide/a.md = - @ guide/a/")
    );
    assert_eq!(site(&[]).pages, []);
}

#[test]
fn pages_tell_what_they_are_written_for() {
    use SiteKind::{Docusaurus, MkDocs, Plain, VitePress};
    for (text, kind) in [
        ("# A { #a }\n", MkDocs),
        ("# A\n\n## B {: #b .c }\n", MkDocs),
        ("# A\n\n- b\n\n    !!! note \"B\"\n        c\n", MkDocs),
        ("# A\n\n??? tip\n    c\n", MkDocs),
        ("# A\n\n/// warning\nb\n///\n", MkDocs),
        ("# A\n\n=== \"Linux\"\n\n    b\n", MkDocs),
        ("# A\n\n::: tip B\nc\n:::\n", VitePress),
        ("# A\n\n::: code-group\n", VitePress),
        ("<script setup>\nlet a\n</script>\n\n# A\n", VitePress),
        ("# A\n\n<<< @/b.js\n", VitePress),
        ("# A <Badge type=\"tip\" text=\"b\" />\n", VitePress),
        ("# A\n\n:::note\nb\n:::\n", Docusaurus),
        ("# A\n\n:::tip[B]\nc\n:::\n", Docusaurus),
        ("import Tabs from '@theme/Tabs';\n\n# A\n", Docusaurus),
        // Both programs have this one.
        ("# A {#a}\n", Plain),
        // A plugin of MkDocs, a plain word, a comment of Rust.
        ("# A\n\n::: package.module\n", Plain),
        ("# A\n\nWow!!! note: /// b === \"c\"\n\n///\n", Plain),
        ("# A\n\n```md\n::: tip\n!!! note\n```\n", Plain),
        ("# A\n\n- ~~~~\n  ~~~\n  :::note\n  ~~~~\n", Plain),
        ("# A\n\nText.\n", Plain),
    ] {
        assert_eq!(site(&[("a.md", text)]).kind, kind, "{text}");
    }
    // A fence that has ended does not hide what follows.
    let after = "```\na\n```\n\n::: tip\n";
    assert_eq!(site(&[("a.md", after)]).kind, VitePress);
    assert_eq!(site(&[("tabs.mdx", "# A\n")]).kind, Docusaurus);
}

#[test]
fn most_pages_decide_and_settings_outrank_them() {
    let pages = [
        ("a.md", "!!! note\n"),
        ("b.md", "::: tip\n"),
        ("c/d.md", "# D\n\n::: warning\n\n!!! note\n\n!!! note\n"),
        ("c/e.md", "::: info\n"),
    ];
    let found = site(&pages);
    assert_eq!(found.kind, SiteKind::VitePress);
    assert_eq!(found.url(&path("c/e.md"), None).unwrap(), "c/e.html");
    assert_eq!(site(&pages[..2]).kind, SiteKind::MkDocs);
    let with_settings = [&pages[..], &[("mkdocs.yml", "docs_dir: '.'\n")]].concat();
    assert_eq!(site(&with_settings).kind, SiteKind::MkDocs);
    let wanted = site_at(folder(&pages).path(), Some(SiteKind::Docusaurus));
    assert_eq!(wanted.kind, SiteKind::Docusaurus);
    // Of many pages, those that are looked at are spread over the folder.
    let names: Vec<String> = (0..1_000).map(|number| format!("{number:04}.md")).collect();
    let many = |first: usize| {
        let text = |number| ["# Plain\n", "!!! note\n"][usize::from(number >= first)];
        let pages = names.iter().enumerate();
        let pages: Vec<(&str, &str)> = pages.map(|(at, name)| (name.as_str(), text(at))).collect();
        site(&pages).kind
    };
    assert_eq!(many(900), SiteKind::MkDocs);
    assert_eq!(many(1_000), SiteKind::Plain);
    // Not everything in a folder is text.
    let folder = folder(&[("a.md", "::: tip\n")]);
    std::fs::write(folder.path().join("b.md"), b"!!! \xff\xfe\0").unwrap();
    assert_eq!(site_at(folder.path(), None).kind, SiteKind::VitePress);
}

#[test]
fn a_list_for_models_is_the_navigation_of_a_folder_without_another() {
    let list = "# Acme\n\n> About.\n\n- [Start](./start.md)\n\n## Guides\n\n\
        - [Deploy](https://acme.example/docs/guide/deploy/): How.\n\
        - [Guides](https://acme.example/docs/guide/)\n\
        - [Gone](guide/gone.md)\n\
        - [Elsewhere](https://acme.example/blog/)\n\n\
        ## Optional\n\n- [With space](guide/a%20b.html.md#part)\n";
    let pages = [
        ("guide/a b.md", "# A\n"),
        ("guide/deploy.md", "# D\n"),
        ("guide/index.md", "# G\n"),
        ("more.md", "# M\n"),
        ("start.md", "# S\n"),
    ];
    let found = site(&[&pages[..], &[("llms.txt", list)]].concat());
    assert_eq!(found.kind, SiteKind::Plain);
    assert_eq!(found.title.as_deref(), Some("Acme"));
    assert_eq!(
        rows(&found),
        [
            "start.md = Start @ start.md",
            "guide/deploy.md = Deploy @ guide/deploy.md",
            "guide/index.md = Guides @ guide/index.md",
            "guide/a b.md = With space @ guide/a%20b.md",
            "more.md = - @ more.md",
        ]
    );
    let section = |name: &str| found.page(&path(name)).unwrap().section.as_deref();
    assert_eq!(section("start.md"), None);
    assert_eq!(section("guide/deploy.md"), Some("Guides"));
    assert_eq!(found.missing, ["guide/gone.md"]);
    // Another navigation counts more.
    let nav = "site_name: B\nnav: [more.md]\ndocs_dir: '.'\n";
    let files = [&pages[..], &[("llms.txt", list), ("mkdocs.yml", nav)]].concat();
    assert_eq!(rows(&site(&files))[0], "more.md = - @ more/");
}

#[test]
fn broken_and_hostile_files_are_problems() {
    let large = format!("# {}", "x".repeat(MAX_SETTINGS_BYTES as usize));
    for (file, text, kind, reason) in [
        (
            "mkdocs.yml",
            "nav: [unclosed",
            SiteKind::MkDocs,
            ProblemReason::Malformed,
        ),
        (
            "mkdocs.yml",
            large.as_str(),
            SiteKind::MkDocs,
            ProblemReason::TooLarge,
        ),
        (
            "book.toml",
            "[book",
            SiteKind::MdBook,
            ProblemReason::Malformed,
        ),
        (
            "sub/_category_.json",
            "{",
            SiteKind::Docusaurus,
            ProblemReason::Malformed,
        ),
    ] {
        let site = site(&[(file, text), ("sub/a.md", "")]);
        assert_eq!(site.kind, kind, "{file}");
        let problem = SiteProblem {
            file: file.to_owned(),
            reason,
        };
        assert_eq!(site.problems, [problem], "{file}");
        assert_eq!(site.pages.len(), 1);
    }
    let nav = format!("nav: {}a.md{}", "[x: ".repeat(60), "]".repeat(60));
    let many = format!("nav:\n{}", "  - gone.md\n  - a.md\n".repeat(15_000));
    for text in [nav, many] {
        let site = site(&[("mkdocs.yml", &text), ("docs/a.md", "")]);
        assert_eq!(site.pages.len(), 1);
        assert!(site.missing.len() <= MAX_MISSING);
    }
    let gone: String = (0..500)
        .map(|number| format!("- [x](gone{number}.md)\n"))
        .collect();
    let site = site(&[("SUMMARY.md", &gone)]);
    assert_eq!((site.missing.len(), site.missing_count), (MAX_MISSING, 500));
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_not_followed() {
    let outside = folder(&[
        ("secret.md", "- [Secret](a.md)\n"),
        ("mkdocs.yml", "site_name: x\n"),
    ]);
    let inside = folder(&[("a.md", ""), ("SUMMARY.md", "")]);
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(outside.path().join(to), inside.path().join(name)).unwrap();
    };
    std::fs::remove_file(inside.path().join("SUMMARY.md")).unwrap();
    link("secret.md", "SUMMARY.md");
    link("mkdocs.yml", "mkdocs.yml");
    let site = site_at(inside.path(), None);
    assert_eq!((site.kind, site.title), (SiteKind::Plain, None));
    write(inside.path(), &[("book.toml", "book.src = \".\"\n")]);
    let site = site_at(inside.path(), None);
    assert_eq!(site.kind, SiteKind::MdBook);
    let reason = ProblemReason::LeadsOut;
    assert_eq!(
        site.problems,
        [SiteProblem {
            file: "SUMMARY.md".to_owned(),
            reason
        }]
    );
    assert!(!site.pages[0].is_in_nav);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_document_is_a_page_once(
        names in proptest::collection::btree_set("([ab0-9_-]{1,3}/){0,2}[a-cA-C0-9_-]{1,3}", 0..12),
        nav in proptest::collection::vec("(\\./)?([ab0-9_-]{1,3}/){0,2}[a-c0-9_-]{1,3}", 0..12),
        kind in 0..5_usize,
    ) {
        let mut documents: Vec<NotePath> = names.iter().map(|name| path(&format!("{name}.md"))).collect();
        documents.sort();
        let links: String = nav.iter().chain(&names).step_by(2).map(|name| format!("- [t]({name}.md)\n")).collect();
        let items: String = nav.iter().chain(&names).step_by(2).map(|name| format!("  - '{name}.md'\n")).collect();
        let settings = [
            ("SUMMARY.md", links.as_str()),
            ("mkdocs.yml", &format!("docs_dir: .\nnav:\n{items}")),
            ("docusaurus.config.js", ""),
            (".vitepress/config.js", ""),
            ("plain.txt", ""),
        ];
        let folder = folder(&settings[kind..=kind]);
        let root = Root::open(folder.path()).unwrap();
        let site = ManualSite::find(&root, &documents, None, |_| Mapping::default());
        let mut pages: Vec<NotePath> = site.pages.iter().map(|page| page.path.clone()).collect();
        let first_rest = site.pages.iter().position(|page| !page.is_in_nav).unwrap_or(pages.len());
        prop_assert!(site.pages[first_rest..].iter().all(|page| !page.is_in_nav));
        prop_assert!(pages[first_rest..].is_sorted());
        for page in &pages {
            prop_assert_eq!(&site.page(page).unwrap().path, page);
        }
        pages.sort();
        prop_assert_eq!(pages, documents);
    }
}
