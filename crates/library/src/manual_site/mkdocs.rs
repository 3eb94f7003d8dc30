//! MkDocs: `mkdocs.yml`, in the folder or beside it.

use sectile_markdown::{Mapping, NotePath, Value};

use super::{
    MAX_NAV_ENTRIES, NavEntry, SiteKind, SitePlan,
    settings_files::{Place, SettingsFiles},
};

const NAMES: [&str; 2] = ["mkdocs.yml", "mkdocs.yaml"];

/// Reads the settings of the site whose pages are in the folder, or below it.
pub(super) fn read(files: &mut SettingsFiles<'_>, plan: &mut SitePlan) -> bool {
    if let Some(name) = NAMES.iter().find(|name| files.has(name)) {
        let settings = files.yaml(Place::Here, name);
        take(settings.as_ref(), plan);
        return true;
    }
    let Some(name) = NAMES.iter().find(|name| files.exists(Place::Above, name)) else {
        return false;
    };
    // A file beside the folder counts only if the folder is the one that it publishes.
    let settings = files.yaml(Place::Above, name);
    let folder = files
        .root
        .location()
        .file_name()
        .and_then(|name| name.to_str());
    let Some(settings) = settings.filter(|settings| folder == pages_folder(settings).as_deref())
    else {
        return false;
    };
    take(Some(&settings), plan);
    plan.base.clear();
    true
}

fn take(settings: Option<&Mapping>, plan: &mut SitePlan) {
    plan.kind = SiteKind::MkDocs;
    let empty = Mapping::default();
    let settings = settings.unwrap_or(&empty);
    plan.base = pages_folder(settings).unwrap_or_default();
    plan.title = text(settings.get("site_name"));
    plan.has_directory_urls = settings.get("use_directory_urls") != Some(&Value::Bool(false));
    if let Some(Value::List(items)) = settings.get("nav") {
        plan.has_nav = true;
        items.iter().for_each(|item| add(item, None, plan));
    }
}

/// Returns the folder of the pages, below that of the settings.
fn pages_folder(settings: &Mapping) -> Option<String> {
    match text(settings.get("docs_dir")) {
        None => Some("docs".to_owned()),
        Some(folder) => Some(NotePath::parse_vault(&folder).ok()?.as_str().to_owned()),
    }
}

/// Adds an item: a page, a page with a title, or a section with items. Their depth is bounded by the parser.
fn add(item: &Value, section: Option<&str>, plan: &mut SitePlan) {
    if plan.nav.len() >= MAX_NAV_ENTRIES {
        return;
    }
    let entry = |title: Option<&str>, target: &str| NavEntry {
        title: title.map(str::to_owned),
        section: section.map(str::to_owned),
        target: target.to_owned(),
    };
    match item {
        Value::String(target) => plan.push(entry(None, target)),
        Value::Map(pairs) => {
            for (title, value) in pairs.iter() {
                match value {
                    Value::String(target) => plan.push(entry(Some(title), target)),
                    Value::List(items) => {
                        let section = section.unwrap_or(title);
                        items.iter().for_each(|item| add(item, Some(section), plan));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}
