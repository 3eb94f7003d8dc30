//! The page of searches: what an agent would be given, and why each result is where it is, beside a second query or ranking.

use maud::{Markup, html};
use sectile_library::tiers::RankingChoice;
use sectile_mcp::{CallContext, Failure, PageAnswer, PageRequest};

use super::{
    super::{
        DeskWorld,
        explained_search::{
            ExplainedRequest, ExplainedResult, ExplainedSearch, MatchedTerm, ResultReasons,
            ScoredRank,
        },
    },
    layout::{SEARCH, address_of, counted, grouped, page},
};

/// Number of results of each search.
const LIMIT: usize = 10;
/// The rankings that can be chosen, with their names.
const RANKINGS: [(RankingChoice, &str, &str); 3] = [
    (RankingChoice::Full, "full", "Words and meaning"),
    (
        RankingChoice::Static,
        "static",
        "Words and the static model",
    ),
    (RankingChoice::Words, "words", "Words alone"),
];

/// What the person asked for: a search, and perhaps a second one beside it.
struct SearchQuery<'r> {
    query: &'r str,
    ranking: RankingChoice,
    /// The second query; empty for the same one.
    second: &'r str,
    second_ranking: Option<RankingChoice>,
}

impl<'r> SearchQuery<'r> {
    fn of(request: &'r PageRequest) -> Self {
        let choice = |field: &str| {
            let given = request.field(field);
            let known = RANKINGS.iter().find(|(_, name, _)| *name == given);
            known.map(|(choice, ..)| *choice)
        };
        Self {
            query: request.field("q").trim(),
            ranking: choice("ranking").unwrap_or(RankingChoice::Full),
            second: request.field("q2").trim(),
            second_ranking: choice("ranking2"),
        }
    }

    /// Returns the second search, if there is one.
    fn beside(&self) -> Option<(&'r str, RankingChoice)> {
        let query = if self.second.is_empty() {
            self.query
        } else {
            self.second
        };
        let ranking = self.second_ranking.unwrap_or(self.ranking);
        let is_other = query != self.query || ranking != self.ranking;
        (is_other && !query.is_empty()).then_some((query, ranking))
    }
}

pub(super) fn render(
    world: &DeskWorld,
    request: &PageRequest,
    context: &CallContext,
) -> Result<PageAnswer, Failure> {
    let query = SearchQuery::of(request);
    let found = match query.query {
        "" => None,
        asked => Some(search(world, asked, query.ranking, context)?),
    };
    let beside = match (&found, query.beside()) {
        (Some(_), Some((asked, ranking))) => Some(search(world, asked, ranking, context)?),
        _ => None,
    };
    let content = html! {
        h1 { "Search" }
        (form(&query))
        @match (&found, &beside) {
            (None, _) => {
                p.empty {
                    "Ask as an agent would: words, a question, or filters such as " code { "tag:travel" } ", "
                    code { "path:projects/" } ", " code { "is:task" } " and " code { "sort:modified" } "."
                }
            }
            (Some(found), None) => { (results(found, None)) }
            (Some(found), Some(beside)) => {
                div.side-by-side {
                    (results(found, Some(beside)))
                    (results(beside, Some(found)))
                }
            }
        }
    };
    let title = if query.query.is_empty() {
        "Search"
    } else {
        query.query
    };
    Ok(page(request, title, &content))
}

fn search(
    world: &DeskWorld,
    query: &str,
    ranking: RankingChoice,
    context: &CallContext,
) -> Result<ExplainedSearch, Failure> {
    let request = ExplainedRequest {
        query,
        limit: Some(LIMIT),
        cursor: None,
        ranking,
        explain: true,
    };
    world.explained_search(&request, context)
}

fn form(query: &SearchQuery<'_>) -> Markup {
    let options = |chosen: Option<RankingChoice>| {
        html! {
            @for (choice, name, title) in RANKINGS {
                option value=(name) selected[chosen == Some(choice)] { (title) }
            }
        }
    };
    html! {
        form.filters method="get" action={ "/" (SEARCH) } role="search" {
            div.grow {
                label for="q" { "Query" }
                input #q type="search" name="q" value=(query.query) dir="auto";
            }
            div { label for="ranking" { "Ranking" } select #ranking name="ranking" { (options(Some(query.ranking))) } }
            details.beside open[query.beside().is_some()] {
                summary { "Compare" }
                div.fields {
                    div.grow {
                        label for="q2" { "Second query (empty: the same)" }
                        input #q2 type="search" name="q2" value=(query.second) dir="auto";
                    }
                    div {
                        label for="ranking2" { "Its ranking" }
                        select #ranking2 name="ranking2" {
                            option value="" { "The same" }
                            (options(query.second_ranking))
                        }
                    }
                }
            }
            button type="submit" { "Search" }
        }
    }
}

/// Renders one search. `other` is the one beside it, in which the same results are looked up.
fn results(found: &ExplainedSearch, other: Option<&ExplainedSearch>) -> Markup {
    html! {
        section.results aria-label={ "Results for " (found.query) } {
            @if other.is_some() { h2 { bdi { (found.query) } } }
            (summary(found))
            @if found.results.is_empty() {
                div.empty {
                    p { "Nothing was found." }
                    @if !found.suggestions.is_empty() {
                        p { "Try:" }
                        ul { @for suggestion in &found.suggestions { li { (suggestion) } } }
                    }
                }
            }
            ol.hits {
                @for (index, result) in found.results.iter().enumerate() {
                    (hit(result, other.map(|other| (index + 1, place_in(other, result)))))
                }
            }
        }
    }
}

fn summary(found: &ExplainedSearch) -> Markup {
    let used = match found.ranking.used {
        "filters" => "filters alone",
        "words" => "words",
        "static" => "words and the static model",
        _ => "words and the transformer",
    };
    let fell_back = found.ranking.asked == "full" && found.ranking.used == "static";
    html! {
        p.quiet {
            (counted(found.total, "place", "places")) ", ranked by " (used) "."
            @if fell_back { " The transformer has not read all notes yet." }
            @if let Some(index) = &found.index { " Still reading: " (index) "." }
            @if found.order != "relevance" { " In order of " (found.order) "." }
        }
        @if !found.filters.is_empty() {
            p.quiet { "Filters: " @for filter in &found.filters { code { (filter) } " " } }
        }
        @if !found.unknown.is_empty() {
            p.quiet { "In no note: " @for word in &found.unknown { code { bdi { (word) } } " " } }
        }
        @if !found.dropped.is_empty() {
            p.quiet { "Left out of a long query: " @for word in &found.dropped { code { bdi { (word) } } " " } }
        }
        @for word in &found.corrected {
            p.quiet { "Searched for " strong { bdi { (word.used.join(", ")) } } " instead of " bdi { (word.word) } "." }
        }
    }
}

/// Returns the place of the same section in another search, from 1.
fn place_in(other: &ExplainedSearch, result: &ExplainedResult) -> Option<usize> {
    let mut results = other.results.iter();
    let index = results.position(|one| one.result.id == result.result.id)?;
    Some(index + 1)
}

/// Renders a result. With `places`, its own and that in the other search, it says how far it moved.
fn hit(found: &ExplainedResult, places: Option<(usize, Option<usize>)>) -> Markup {
    let result = &found.result;
    html! {
        li.hit {
            div.hit-head {
                a href=(address_of(&result.id)) { bdi { (result.title) } }
                @match places {
                    Some((_, None)) => { span.mark { "only here" } }
                    Some((here, Some(there))) if here < there => { span.mark { "↑ " (there - here) " against the other" } }
                    Some((here, Some(there))) if here > there => { span.mark { "↓ " (here - there) " against the other" } }
                    Some(_) => { span.mark { "same place" } }
                    None => {}
                }
            }
            p.snippet dir="auto" { (result.snippet) }
            p.quiet { code { (result.id) } " · " (counted(result.tokens, "token", "tokens")) }
            @if let Some(why) = &found.why { (reasons(why)) }
        }
    }
}

fn reasons(why: &ResultReasons) -> Markup {
    html! {
        div.why {
            (bar("Together", Some(&why.fused)))
            (bar("Words", why.words.as_ref()))
            (bar("Meaning", why.meaning.as_ref()))
            @if why.verbatim { p.quiet { "It has the whole query word for word, so it comes first." } }
        }
        @if !why.terms.is_empty() {
            details.terms {
                summary { (counted(why.terms.len(), "word of the query", "words of the query")) }
                div.table role="region" aria-label="Words of the query" tabindex="0" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Word" } th scope="col" { "Found as" } th.number scope="col" { "Heading" }
                                th.number scope="col" { "Above" } th.number scope="col" { "Text" }
                                th.number scope="col" { "Passages with it" } th.number scope="col" { "Score" }
                            }
                        }
                        tbody { @for term in &why.terms { (term_row(term)) } }
                    }
                }
                p.quiet {
                    "Words score " (scaled(why.word_score, 1024)) " in all, " (scaled(why.together, 1024))
                    " of it because they are next to each other."
                }
            }
        }
    }
}

/// Renders a score from 0 to 1 as a bar with its rank.
fn bar(name: &str, score: Option<&ScoredRank>) -> Markup {
    const ONE: u64 = 1_000_000;
    html! {
        div.score {
            span.score-name { (name) }
            @match score {
                Some(score) => {
                    meter min="0" max=(ONE) value=(score.score.min(ONE)) aria-label={ (name) " score" } {}
                    span.score-value { (scaled(score.score, ONE)) ", rank " (grouped(score.rank)) }
                }
                None => { span.score-value { "did not count" } }
            }
        }
    }
}

fn term_row(term: &MatchedTerm) -> Markup {
    let form = match term.form {
        "exact" => "as written",
        "stem" => "another form",
        "part" => "part of a name",
        _ => "spelt almost the same",
    };
    html! {
        tr {
            th scope="row" { bdi { (term.term) } }
            td { bdi { (term.found) } " " span.quiet { (form) } }
            td.number { (term.in_heading) } td.number { (term.in_trail) } td.number { (term.in_body) }
            td.number { (grouped(term.passages)) } td.number { (scaled(term.score, 1024)) }
        }
    }
}

/// Returns a number of parts of `whole` with two decimals.
fn scaled(parts: u64, whole: u64) -> String {
    let hundredths = parts.saturating_mul(100) / whole;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(fields: &[(&str, &str)]) -> PageRequest {
        let fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        PageRequest {
            fields: fields.collect(),
            ..PageRequest::default()
        }
    }

    #[test]
    fn a_second_search_differs_in_its_words_or_its_ranking() {
        for (fields, expected) in [
            (&[("q", "hay")][..], None),
            (&[("q", "hay"), ("q2", "hay")], None),
            (
                &[("q", "hay"), ("q2", "feed")],
                Some(("feed", RankingChoice::Full)),
            ),
            (
                &[("q", "hay"), ("ranking2", "words")],
                Some(("hay", RankingChoice::Words)),
            ),
            (&[("q", "hay"), ("ranking2", "nonsense")], None),
            (&[("q2", "hay")], Some(("hay", RankingChoice::Full))),
        ] {
            let request = request(fields);
            assert_eq!(SearchQuery::of(&request).beside(), expected, "{fields:?}");
        }
    }

    #[test]
    fn scores_have_two_decimals() {
        assert_eq!(scaled(1_000_000, 1_000_000), "1.00");
        assert_eq!(scaled(523_456, 1_000_000), "0.52");
        assert_eq!(scaled(1536, 1024), "1.50");
    }
}
