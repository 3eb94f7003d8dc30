//! The site that a folder of pages is published as: its kind, the order and the titles of its pages, and their addresses.
//!
//! [`ManualSite::find`] reads the files that the generators of such sites read, as far as they are data: `book.toml` and
//! `SUMMARY.md` (mdBook), `mkdocs.yml` (MkDocs), `_category_` files, `sidebars.json` and front matter (Docusaurus).
//! Configurations that are programs are never executed; that they exist says what kind of site it is. Without any of them,
//! the syntax of the pages says it. Where nothing else gives an order, `llms.txt` does. Whatever is in the folder is
//! untrusted: sizes, numbers and depths are bounded, nothing is read outside the folder except the settings
//! beside it, and a broken file is a [`SiteProblem`].

mod docusaurus;
mod llms_txt;
mod mdbook;
mod mkdocs;
mod page_signs;
mod settings_files;
mod site_files;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use sectile_markdown::{AnchorStyle, Mapping, NotePath, PageFormat, PageSyntax};
use sectile_vault::Root;

use self::{docusaurus::DocusaurusPages, page_signs::PageSigns, settings_files::SettingsFiles};
pub use self::{
    settings_files::{ProblemReason, SiteProblem},
    site_files::SiteFiles,
};

/// The most bytes that are read of one settings file.
pub const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// The most entries of a navigation that count.
pub const MAX_NAV_ENTRIES: usize = 20_000;
/// The most missing pages that are named.
pub const MAX_MISSING: usize = 100;
/// The most documents and folders that are looked at to find out the kind of site.
const MOST_PROBED: usize = 64;
/// The most bytes kept of a title, or of the name of a missing page.
const MOST_TEXT_BYTES: usize = 256;

/// The program that publishes a manual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// mdBook.
    MdBook,
    /// MkDocs.
    MkDocs,
    /// Docusaurus.
    Docusaurus,
    /// VitePress.
    VitePress,
    /// None that is known: pages are read where their files are, as on GitHub.
    #[default]
    Plain,
}

/// A folder of pages as a site.
#[derive(Clone, Debug, Default)]
pub struct ManualSite {
    /// The program that publishes it.
    pub kind: SiteKind,
    /// The title of the site, if its settings have one.
    pub title: Option<String>,
    /// Every document, once: in the order of the navigation, then the others by path.
    pub pages: Vec<SitePage>,
    /// Pages that the navigation names and that are not among the documents, as written there: the first
    /// [`MAX_MISSING`].
    pub missing: Vec<String>,
    /// How many such pages there are.
    pub missing_count: usize,
    /// Files that could not be used.
    pub problems: Vec<SiteProblem>,
    /// The files that it was found out from.
    pub files: SiteFiles,
    probed: ProbedPages,
    by_path: HashMap<NotePath, usize>,
}

/// The pages whose text says what program publishes a folder, if nothing else does.
#[derive(Clone, Debug, Default)]
struct ProbedPages {
    /// The pages whose syntax was looked at.
    signs: BTreeMap<NotePath, PageSigns>,
    /// The pages whose front matter was looked at.
    first: BTreeSet<NotePath>,
}

/// A page of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePage {
    /// The document.
    pub path: NotePath,
    /// Its title in the navigation.
    pub title: Option<String>,
    /// The part of the navigation that it is in.
    pub section: Option<String>,
    /// Whether the navigation names it.
    pub is_in_nav: bool,
    /// Whether it is the navigation itself, `SUMMARY.md`, and not a page for readers.
    pub is_nav: bool,
    /// Its address relative to that of the folder, percent-encoded, without a fragment. Empty for the page at the
    /// folder's own address, `None` for a document that is not published.
    pub url: Option<String>,
}

impl SiteKind {
    /// Returns the style of the site's anchors.
    #[must_use]
    pub fn anchors(self) -> AnchorStyle {
        match self {
            Self::MdBook => AnchorStyle::MdBook,
            Self::MkDocs => AnchorStyle::MkDocs,
            Self::Docusaurus => AnchorStyle::Docusaurus,
            Self::VitePress => AnchorStyle::VitePress,
            Self::Plain => AnchorStyle::GitHub,
        }
    }

    /// Returns the name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MdBook => "mdBook",
            Self::MkDocs => "MkDocs",
            Self::Docusaurus => "Docusaurus",
            Self::VitePress => "VitePress",
            Self::Plain => "plain",
        }
    }
}

impl ManualSite {
    /// Finds out what site the folder `root` with these documents is, or reads the settings of a site of the given kind.
    ///
    /// `front_matter` returns the front matter of a document, empty if it has none. It is called for every document of a
    /// Docusaurus site, and else at most 64 times.
    pub fn find(
        root: &Root,
        documents: &[NotePath],
        kind: Option<SiteKind>,
        mut front_matter: impl FnMut(&NotePath) -> Mapping,
    ) -> Self {
        let mut files = SettingsFiles::new(root);
        let mut plan = SitePlan::default();
        let is_wanted = |one: SiteKind| kind.is_none_or(|kind| kind == one);
        let known = (is_wanted(SiteKind::MdBook) && mdbook::read(&mut files, documents, &mut plan))
            || (is_wanted(SiteKind::MkDocs) && mkdocs::read(&mut files, &mut plan))
            || (is_wanted(SiteKind::Docusaurus)
                && docusaurus::is_here(&mut files, documents, &mut front_matter, &mut plan))
            || (is_wanted(SiteKind::VitePress) && is_vitepress(&mut files, &mut plan));
        let mut probed = ProbedPages::default();
        if !known {
            plan.kind = kind.unwrap_or_else(|| {
                probed.signs = page_signs::probe(root, documents);
                probed.first = documents.iter().take(MOST_PROBED).cloned().collect();
                page_signs::kind(&probed.signs)
            });
        }
        let docusaurus = (plan.kind == SiteKind::Docusaurus)
            .then(|| docusaurus::read(&mut files, documents, &mut front_matter, &mut plan));
        // Without chapters, a book is not published.
        if !plan.has_nav && plan.kind != SiteKind::MdBook {
            llms_txt::read(&mut files, documents, &mut plan);
        }
        let mut site = plan.site(documents, docusaurus.as_ref());
        site.problems = files.problems;
        site.files = files.log.finish(files.parent);
        site.probed = probed;
        site
    }

    /// Returns whether it may be another site, or have other addresses, now that the text of a page has changed, and values
    /// in its front matter too if `has_other_fields`.
    #[must_use]
    pub fn depends_on(&self, root: &Root, path: &NotePath, has_other_fields: bool) -> bool {
        let ProbedPages { signs, first } = &self.probed;
        let has_other_signs = |known: &PageSigns| page_signs::signs(root, path) != *known;
        signs.get(path).is_some_and(has_other_signs)
            || (has_other_fields && (self.kind == SiteKind::Docusaurus || first.contains(path)))
    }

    /// Returns the format of a page.
    #[must_use]
    pub fn format(&self, path: &NotePath) -> PageFormat {
        PageFormat {
            syntax: PageSyntax::of_file(path.file_name()),
            anchors: self.kind.anchors(),
        }
    }

    /// Returns the page of a document.
    #[must_use]
    pub fn page(&self, path: &NotePath) -> Option<&SitePage> {
        self.pages.get(*self.by_path.get(path)?)
    }

    /// Returns the position of a document among the pages; those that are not known come last.
    #[must_use]
    pub fn position(&self, path: &NotePath) -> usize {
        self.by_path.get(path).copied().unwrap_or(usize::MAX)
    }

    /// Returns the published address of a document, or of the heading with this anchor, relative to that of the folder:
    /// `guide/intro/#install`. `None` for a document that is not published.
    #[must_use]
    pub fn url(&self, path: &NotePath, anchor: Option<&str>) -> Option<String> {
        let mut url = self.page(path)?.url.clone()?;
        if let Some(anchor) = anchor {
            url.push('#');
            url.extend(utf8_percent_encode(anchor, ENCODED));
        }
        Some(url)
    }
}

/// Characters that are percent-encoded in addresses: all but letters, digits, and punctuation that has no meaning there.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// What the settings of a site say, before it is compared with the documents.
#[derive(Debug)]
struct SitePlan {
    kind: SiteKind,
    title: Option<String>,
    /// The folder of the pages below the root. Empty for the root itself.
    base: String,
    nav: Vec<NavEntry>,
    has_nav: bool,
    /// The document that is the navigation.
    nav_document: Option<NotePath>,
    has_directory_urls: bool,
}

impl Default for SitePlan {
    fn default() -> Self {
        Self {
            kind: SiteKind::Plain,
            title: None,
            base: String::new(),
            nav: Vec::new(),
            has_nav: false,
            nav_document: None,
            has_directory_urls: true,
        }
    }
}

/// An entry of a navigation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NavEntry {
    title: Option<String>,
    section: Option<String>,
    /// The path of the page below the folder of the pages.
    target: String,
}

impl SitePlan {
    fn push(&mut self, entry: NavEntry) {
        self.has_nav = true;
        if self.nav.len() < MAX_NAV_ENTRIES {
            self.nav.push(NavEntry {
                title: entry.title.map(cut),
                section: entry.section.map(cut),
                ..entry
            });
        }
    }

    /// Returns the path of a page below the folder of the pages.
    fn below_base<'p>(&self, path: &'p NotePath) -> Option<&'p str> {
        match self.base.is_empty() {
            true => Some(path.as_str()),
            false => path.as_str().strip_prefix(&self.base)?.strip_prefix('/'),
        }
    }

    /// Returns the document that an entry names.
    fn document(&self, target: &str) -> Option<NotePath> {
        let path = match self.base.is_empty() {
            true => target.to_owned(),
            false => format!("{}/{target}", self.base),
        };
        NotePath::parse_vault(&path).ok()
    }

    /// Arranges the documents.
    fn site(self, documents: &[NotePath], docusaurus: Option<&DocusaurusPages>) -> ManualSite {
        let mut site = ManualSite {
            kind: self.kind,
            title: self.title.clone().map(cut),
            ..ManualSite::default()
        };
        let mut remaining: BTreeSet<&NotePath> = documents.iter().collect();
        let mut missing = BTreeSet::new();
        for entry in &self.nav {
            let path = self.document(&entry.target);
            match path.as_ref().and_then(|path| remaining.take(path)) {
                Some(path) => {
                    let mut page = self.page(path, true, docusaurus);
                    page.title = entry.title.clone();
                    page.section = entry.section.clone();
                    site.add(page);
                }
                None if path.is_some_and(|path| site.by_path.contains_key(&path)) => {}
                None => {
                    if is_page_name(&entry.target) {
                        missing.insert(entry.target.as_str());
                    }
                    if missing.len() > site.missing.len() && site.missing.len() < MAX_MISSING {
                        site.missing.push(cut(entry.target.clone()));
                    }
                }
            }
        }
        site.missing_count = missing.len();
        for path in remaining {
            site.add(self.page(path, false, docusaurus));
        }
        site
    }

    fn page(
        &self,
        path: &NotePath,
        is_in_nav: bool,
        docusaurus: Option<&DocusaurusPages>,
    ) -> SitePage {
        let url = match docusaurus {
            Some(pages) => pages.url(path),
            None => self.below_base(path).and_then(|below| {
                // mdBook publishes only what its navigation names.
                let is_published = self.kind != SiteKind::MdBook || is_in_nav || !self.has_nav;
                is_published.then(|| self.published(below))
            }),
        };
        SitePage {
            is_nav: self.nav_document.as_ref() == Some(path),
            title: None,
            section: None,
            is_in_nav,
            url: url
                .filter(|_| self.nav_document.as_ref() != Some(path))
                .map(|url| utf8_percent_encode(&url, ENCODED).to_string()),
            path: path.clone(),
        }
    }

    /// Returns the address of the page at `path` below the folder of the pages.
    fn published(&self, path: &str) -> String {
        let (folder, name) = path
            .rsplit_once('/')
            .map_or(("", path), |(folder, name)| (folder, name));
        let stem = without_ending(name);
        let in_folder = |rest: &str| match folder {
            "" => rest.to_owned(),
            folder => format!("{folder}/{rest}"),
        };
        let is_readme = stem.eq_ignore_ascii_case("readme");
        match self.kind {
            SiteKind::Plain => path.to_owned(),
            SiteKind::MdBook if is_readme => in_folder("index.html"),
            SiteKind::MkDocs if stem == "index" || stem == "README" => {
                in_folder(if self.has_directory_urls {
                    ""
                } else {
                    "index.html"
                })
            }
            SiteKind::MkDocs if self.has_directory_urls => in_folder(&format!("{stem}/")),
            SiteKind::VitePress if stem == "index" => in_folder(""),
            _ => in_folder(&format!("{stem}.html")),
        }
    }
}

impl ManualSite {
    fn add(&mut self, page: SitePage) {
        self.by_path.insert(page.path.clone(), self.pages.len());
        self.pages.push(page);
    }
}

/// Returns whether VitePress publishes the folder, or the folder `docs` in it.
fn is_vitepress(files: &mut SettingsFiles<'_>, plan: &mut SitePlan) -> bool {
    const ENDINGS: [&str; 6] = ["js", "ts", "mjs", "mts", "cjs", "cts"];
    for base in ["", "docs"] {
        let folder = if base.is_empty() { "" } else { "docs/" };
        let mut names = ENDINGS
            .map(|ending| format!("{folder}.vitepress/config.{ending}"))
            .into_iter();
        if names.any(|name| files.has(&name)) {
            plan.kind = SiteKind::VitePress;
            plan.base = base.to_owned();
            return true;
        }
    }
    false
}

/// Returns a name without the ending of pages.
fn without_ending(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if is_page_name(name) => stem,
        _ => name,
    }
}

/// Returns whether a name in a navigation is that of a page in the folder.
fn is_page_name(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_page = ["md", "mdx", "markdown"]
        .iter()
        .any(|one| ending.eq_ignore_ascii_case(one));
    is_page && !name.contains("://") && !name.starts_with('/')
}

fn cut(mut text: String) -> String {
    let end = text.floor_char_boundary(MOST_TEXT_BYTES);
    text.truncate(end);
    text
}

#[cfg(test)]
mod tests;
