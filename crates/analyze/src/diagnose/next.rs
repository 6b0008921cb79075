//! Commands to paste: templates with the run's own words in them.
//!
//! `{run}` is replaced by the word `run`; `{algo.learning_rate*0.1}` by a
//! tenth of that number, which must not be zero. `{{` and `}}` stand for single
//! braces. `{seed}` and `{step}` are those of the finding's
//! first citation.

use std::collections::BTreeMap;

use super::outcome::Citation;

/// The first template whose words are all known, filled in.
pub(super) fn command(
    templates: &[String],
    words: &BTreeMap<String, String>,
    citation: Option<&Citation>,
) -> Option<String> {
    templates.iter().find_map(|template| fill(template, words, citation))
}

fn fill(template: &str, words: &BTreeMap<String, String>, citation: Option<&Citation>) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some(place) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(place);
        text.push_str(before);
        if let Some(behind) = after.strip_prefix("{{").or_else(|| after.strip_prefix("}}")) {
            text.push_str(&after[..1]);
            rest = behind;
        } else {
            let (name, behind) = after.strip_prefix('{')?.split_once('}')?;
            text.push_str(&word(name, words, citation)?);
            rest = behind;
        }
    }
    text.push_str(rest);
    Some(text)
}

fn word(name: &str, words: &BTreeMap<String, String>, citation: Option<&Citation>) -> Option<String> {
    if let Some((name, factor)) = name.split_once('*') {
        let number: f64 = words.get(name)?.parse().ok()?;
        let scaled = number * factor.parse::<f64>().ok()?;
        if scaled == 0.0 || !scaled.is_finite() {
            return None;
        }
        // Six digits: a tenth of 0.003 must print as 0.0003 despite rounding.
        let rounded: f64 = format!("{scaled:.5e}").parse().ok()?;
        return Some(rounded.to_string());
    }
    match name {
        "seed" => Some(citation?.seed?.to_string()),
        "step" => Some(citation?.from_step.to_string()),
        _ => words.get(name).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_or_passed_over() {
        let words = BTreeMap::from([
            ("run".to_owned(), "a_001".to_owned()),
            ("algo.learning_rate".to_owned(), "0.003".to_owned()),
        ]);
        let templates =
            ["x {unknown}", "rlx train {run} --set a={algo.learning_rate*0.1}"].map(str::to_owned);
        assert_eq!(command(&templates, &words, None).unwrap(), "rlx train a_001 --set a=0.0003");
        assert_eq!(command(&["{seed}".to_owned()], &words, None), None);
        assert_eq!(command(&["broken {run".to_owned()], &words, None), None);
        assert_eq!(command(&["a={{from: {run}}}".to_owned()], &words, None).unwrap(), "a={from: a_001}");
    }
}
