//! `sectile docs llms-txt`: the list of all documents that sites publish for models, or all of their text.

use sectile_library::manual_page::{stem, text_with_title};
use sectile_markdown::{LinkList, ListedLink};

use super::{current, world};
use crate::{
    cli::{
        args::DocsLlmsTxtArgs,
        ui::{CliError, print_note_text, visible},
    },
    worlds::docs::corpus::Doc,
};

pub(super) fn llms_txt(args: &DocsLlmsTxtArgs) -> Result<(), CliError> {
    let (docs, _) = world(&args.documents)?;
    let corpus = current(&docs)?;
    let pages: Vec<&Doc> = corpus
        .listed
        .iter()
        .map(|at| &*corpus.documents[*at])
        .collect();
    let home = pages.iter().find(|doc| is_home(doc));
    let title = corpus.title.clone();
    let title = title.or_else(|| Some(home.or(pages.first())?.title.clone()));
    let mut list = LinkList {
        title: title.unwrap_or_else(|| "Documentation".to_owned()),
        summary: home.map_or_else(String::new, |home| home.description.clone()),
        ..LinkList::default()
    };
    if args.full {
        print_note_text(&list.to_llms_txt())?;
        for doc in pages {
            let bytes = corpus.pages.read(doc.page).ok_or_else(|| {
                CliError::failed(format_args!(
                    "`{}` changed while it was read.",
                    visible(&doc.label)
                ))
                .next("run the same command again")
            })?;
            let text = text_with_title(&bytes, &doc.title);
            let address = docs.address(doc);
            print_note_text(&format!("\n---\n\nSource: {address}\n\n{text}\n"))?;
        }
        return Ok(());
    }
    list.links = pages
        .iter()
        .map(|doc| ListedLink {
            title: doc.title.clone(),
            target: docs.address(doc),
            description: doc.description.clone(),
            section: doc.section.clone().unwrap_or_default(),
        })
        .collect();
    print_note_text(&list.to_llms_txt())
}

/// Returns whether a document is the first page of a manual.
fn is_home(doc: &Doc) -> bool {
    let is_at_top = !doc.path.as_str().contains('/');
    let name = stem(doc.path.file_name());
    let is_index = name.eq_ignore_ascii_case("index") || name.eq_ignore_ascii_case("readme");
    is_at_top && is_index || matches!(doc.url.as_deref(), Some("" | "index.html"))
}
