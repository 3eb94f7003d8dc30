//! `sectile docs llms-txt`: a list for models, made from the navigation.

use super::Desk;

const BOOK: [(&str, &str); 6] = [
    ("book/book.toml", "[book]\ntitle = \"The [Acme] book\"\n"),
    (
        "book/src/SUMMARY.md",
        "# Summary\n\n[Welcome](README.md)\n\n# Guides\n\n- [Set up](setup.md)\n- [Deploy](ops/deploy.md)\n\n# Reference\n\n- [Options](options.md)\n",
    ),
    (
        "book/src/README.md",
        "# Welcome\n\nAcme makes *anvils*. More.\n",
    ),
    ("book/src/setup.md", "# Set up\n\nInstall it first.\n"),
    (
        "book/src/ops/deploy.md",
        "---\ntitle: Deploy\n---\n\nTo a server.\n\n## Steps\n\nOne.\n",
    ),
    ("book/src/options.md", "# Options\n"),
];

fn printed(desk: &Desk, arguments: &[&str]) -> String {
    let ran = desk.run(&[&["docs", "llms-txt"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[test]
fn the_navigation_of_a_book_is_the_list() {
    let desk = Desk::new(&BOOK);
    let list = printed(&desk, &["--path", "book"]);
    assert_eq!(
        list,
        "# The \\[Acme\\] book\n\n> Acme makes anvils.\n\n\
         ## Docs\n\n- [Welcome](index.html): Acme makes anvils.\n\n\
         ## Guides\n\n- [Set up](setup.html): Install it first.\n- [Deploy](ops/deploy.html): To a server.\n\n\
         ## Reference\n\n- [Options](options.html)\n"
    );
    assert_eq!(printed(&desk, &["--path", "book"]), list);
    let settings = "[docs]\ninclude_default_docs = false\nextra_paths = ['book']\nsite = 'auto'\nurl_template = 'https://acme.example/{url}'\n";
    desk.write("sectile.toml", settings.as_bytes());
    let linked = printed(&desk, &["--config", "sectile.toml"]);
    assert!(
        linked.contains("- [Deploy](https://acme.example/ops/deploy.html): To a server.\n"),
        "{linked}"
    );
}

#[test]
fn the_full_text_has_every_page_in_the_same_order() {
    let desk = Desk::new(&BOOK);
    assert_eq!(
        printed(&desk, &["--path", "book", "--full"]),
        "# The \\[Acme\\] book\n\n> Acme makes anvils.\n\
         \n---\n\nSource: index.html\n\n# Welcome\n\nAcme makes *anvils*. More.\n\
         \n---\n\nSource: setup.html\n\n# Set up\n\nInstall it first.\n\
         \n---\n\nSource: ops/deploy.html\n\n# Deploy\n\nTo a server.\n\n## Steps\n\nOne.\n\
         \n---\n\nSource: options.html\n\n# Options\n"
    );
}

/// A list that was written can be read again: it is the navigation of a folder without another.
#[test]
fn a_list_in_the_folder_gives_the_order() {
    let desk = Desk::new(&[
        ("pages/a.md", "# A\n\nFirst by name.\n"),
        ("pages/b.md", "# B\n\nSecond by name.\n"),
        ("pages/c.md", "# C\n\nNot in the list.\n"),
    ]);
    let by_name = printed(&desk, &["--path", "pages"]);
    assert_eq!(
        by_name,
        "# A\n\n## Docs\n\n- [A](a.md): First by name.\n- [B](b.md): Second by name.\n- [C](c.md): Not in the list.\n"
    );
    let list = "# Letters\n\n## Later\n\n- [Bee](b.md)\n\n## Sooner\n\n- [Ay](a.md)\n";
    desk.write("pages/llms.txt", list.as_bytes());
    let by_list = printed(&desk, &["--path", "pages"]);
    assert_eq!(
        by_list,
        "# Letters\n\n## Later\n\n- [B](b.md): Second by name.\n\n## Sooner\n\n- [A](a.md): First by name.\n\n\
         ## Optional\n\n- [C](c.md): Not in the list.\n"
    );
    desk.write("pages/llms.txt", by_list.as_bytes());
    assert_eq!(printed(&desk, &["--path", "pages"]), by_list);
}
