//! Problems as text that shows the line and marks the place. What is quoted is
//! made visible first: the only escape sequences in the result are its colours.

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use rlxp_types::text::{one_line, visible};

use crate::problem::{Problem, Severity};
use crate::source::Source;

/// A line longer than this is named but not shown.
const LONGEST_LINE: usize = 400;

/// All of `problems`, each with the line of its source where that is among
/// `sources`.
pub fn render(problems: &[Problem], sources: &[Source], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let sources: Vec<Lines<'_>> =
        sources.iter().map(|source| (source.name.as_str(), source.text.split('\n').collect())).collect();
    let parts: Vec<String> =
        problems.iter().map(|problem| renderer.render(&[group(problem, &sources)])).collect();
    parts.join("\n\n")
}

/// A source's name and its lines, split once for all problems.
type Lines<'a> = (&'a str, Vec<&'a str>);

fn group<'a>(problem: &'a Problem, sources: &[Lines<'a>]) -> annotate_snippets::Group<'a> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let group = level.primary_title(one_line(&problem.message)).element(place(problem, sources));
    match &problem.hint {
        Some(hint) => group.element(Level::HELP.with_name("hint").message(one_line(hint))),
        None => group,
    }
}

fn place<'a>(problem: &'a Problem, sources: &[Lines<'a>]) -> Element<'a> {
    let line = sources
        .iter()
        .find(|(name, _)| *name == problem.file)
        .and_then(|(_, lines)| lines.get(problem.line.saturating_sub(1)).copied())
        .map(|line| line.trim_end_matches('\r'))
        .filter(|line| line.len() <= LONGEST_LINE && !line.is_empty());
    match line {
        Some(line) => {
            let span = span(line, problem);
            let shown = |end: usize| visible(&line[..end]).len();
            Snippet::source(visible(line))
                .path(one_line(&problem.file))
                .line_start(problem.line)
                .annotation(AnnotationKind::Primary.span(shown(span.start)..shown(span.end)))
                .into()
        }
        None => Origin::path(one_line(&problem.file)).line(problem.line).char_column(problem.column).into(),
    }
}

/// The bytes of the offending text within its line; a place without text is a
/// caret of its own.
fn span(line: &str, problem: &Problem) -> std::ops::Range<usize> {
    let start = line.char_indices().nth(problem.column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let text = problem.text.strip_suffix('…').unwrap_or(&problem.text);
    let length = if line[start..].starts_with(text) { text.len() } else { 0 };
    start..start + length
}
