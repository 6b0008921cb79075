//! Commands to paste: templates with the run's own words in them.
//!
//! `{run}` is replaced by the word `run`; `{algo.learning_rate*0.1}` by a
//! tenth of that number, or by the nearest end of the key's usual range (F48)
//! if a tenth is still outside; it must not be zero. `{{` and `}}` stand for single
//! braces. `{seed}` and `{step}` are those of the finding's
//! first citation.

use std::collections::BTreeMap;

use super::outcome::Citation;
use super::rules::RuleSet;

/// The rule whose thresholds are the usual ranges of settings.
const USUAL: &str = "F48";

/// The first template whose words are all known, filled in.
pub(super) fn command(
    templates: &[String],
    words: &BTreeMap<String, String>,
    citation: Option<&Citation>,
    rules: &RuleSet,
) -> Option<String> {
    templates.iter().find_map(|template| fill(template, words, citation, rules))
}

fn fill(
    template: &str,
    words: &BTreeMap<String, String>,
    citation: Option<&Citation>,
    rules: &RuleSet,
) -> Option<String> {
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
            text.push_str(&word(name, words, citation, rules)?);
            rest = behind;
        }
    }
    text.push_str(rest);
    Some(text)
}

fn word(
    name: &str,
    words: &BTreeMap<String, String>,
    citation: Option<&Citation>,
    rules: &RuleSet,
) -> Option<String> {
    if let Some((name, factor)) = name.split_once('*') {
        let number: f64 = words.get(name)?.parse().ok()?;
        let factor: f64 = factor.parse().ok()?;
        let scaled = into_usual(name, number * factor, rules);
        // The usual range may lie the other way: then this is not the remedy.
        let is_towards = if factor < 1.0 { scaled < number } else { scaled > number };
        if scaled == 0.0 || !scaled.is_finite() || !is_towards {
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

/// The nearest value inside the usual range of the key `algo.X`, whose ends are `X_low` and `X_high`.
fn into_usual(key: &str, value: f64, rules: &RuleSet) -> f64 {
    let end = |side: &str| {
        let name = format!("{}_{side}", key.strip_prefix("algo.")?);
        rules.rule(USUAL)?.thresholds.get(&name).map(|threshold| threshold.value)
    };
    let above = end("low").map_or(value, |low| value.max(low));
    end("high").map_or(above, |high| above.min(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_inside_the_usual_range() {
        let next = |template: &str, key: &str, value: &str| {
            let words = BTreeMap::from([(key.to_owned(), value.to_owned())]);
            command(&[template.to_owned()], &words, None, RuleSet::built_in())
        };
        let (lower, raise) = ("{algo.learning_rate*0.1}", "{algo.learning_rate*10}");
        for (template, from, to) in [
            (lower, "0.5", Some("0.03")),
            (lower, "100", Some("0.03")),
            (lower, "0.01", Some("0.001")),
            (raise, "0.00000001", Some("0.000001")),
            (raise, "0.01", Some("0.03")),
            (raise, "0.5", None),
            (lower, "0.000001", None),
        ] {
            assert_eq!(next(template, "algo.learning_rate", from).as_deref(), to, "{template} of {from}");
        }
        let entropy = next("{algo.entropy_coef*0.1}", "algo.entropy_coef", "50");
        assert_eq!(entropy.as_deref(), Some("1"));
    }

    #[test]
    fn templates_are_filled_or_passed_over() {
        let words = BTreeMap::from([
            ("run".to_owned(), "a_001".to_owned()),
            ("algo.learning_rate".to_owned(), "0.003".to_owned()),
        ]);
        let templates =
            ["x {unknown}", "rlx train {run} --set a={algo.learning_rate*0.1}"].map(str::to_owned);
        assert_eq!(
            command(&templates, &words, None, RuleSet::built_in()).unwrap(),
            "rlx train a_001 --set a=0.0003"
        );
        assert_eq!(command(&["{seed}".to_owned()], &words, None, RuleSet::built_in()), None);
        assert_eq!(command(&["broken {run".to_owned()], &words, None, RuleSet::built_in()), None);
        assert_eq!(
            command(&["a={{from: {run}}}".to_owned()], &words, None, RuleSet::built_in()).unwrap(),
            "a={from: a_001}"
        );
    }
}
