//! What a half-typed word can become, for the shell's completion: names, tags, keys, seeds and checkpoints.

use std::collections::BTreeSet;

use rlxp_spec::known_keys;
use rlxp_store::{Index, Project, RunFilter, RunRow};

use super::column::Column;
use super::word::Which;
use super::{one, project};
use crate::context::Context;

/// More are no help to anyone.
const MOST: usize = 1000;

/// A way to complete a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The whole word.
    pub word: String,
    /// What it is, in a few words.
    pub about: String,
}

/// Completions of a word that names runs. Without a project, or with one that can't be read, there are none.
pub fn runs(context: &Context, text: &str) -> Vec<Candidate> {
    let Ok(project) = project(context) else { return Vec::new() };
    // Only the last part of a group is being typed; a filter takes the rest of the word.
    let at = match text.find("where:") {
        Some(at) => at,
        None => text.rfind('+').map_or(0, |plus| plus + 1),
    };
    let (before, term) = text.split_at(at);
    let mut found = of_term(&project, term);
    found.truncate(MOST);
    for candidate in &mut found {
        candidate.word.insert_str(0, before);
    }
    found
}

fn of_term(project: &Project, term: &str) -> Vec<Candidate> {
    if let Some(tag) = term.strip_prefix("tag:") {
        return tags_of(&rows(project))
            .into_iter()
            .filter(|known| known.starts_with(tag))
            .map(of_tag)
            .collect();
    }
    if let Some(conditions) = term.strip_prefix("where:") {
        let last = conditions.rfind(" and ").map_or(0, |at| at + " and ".len());
        let (earlier, last) = conditions.split_at(last);
        let whole = |key: Candidate| Candidate { word: format!("where:{earlier}{}", key.word), ..key };
        return keys(last).into_iter().map(whole).collect();
    }
    if let Some((run, part)) = term.rsplit_once(':')
        && !run.is_empty()
        && run != "@best"
    {
        return parts(project, run, part);
    }
    let rows = rows(project);
    let mut words: Vec<Candidate> = Vec::new();
    if term.starts_with('@') {
        words.push(Candidate { word: "@last".into(), about: "the newest run".into() });
        words.push(Candidate { word: "@last~1".into(), about: "the run before the newest".into() });
        let environments: BTreeSet<&str> = rows.iter().map(|row| row.env.as_str()).collect();
        let best =
            |env: &str| Candidate { word: format!("@best:{env}"), about: "the best evaluation".into() };
        words.extend(environments.into_iter().filter(|env| !env.is_empty()).map(best));
    } else {
        let newest_first = rows.iter().rev().map(|row| Candidate {
            word: row.name.clone(),
            about: format!("{} {}", row.env, row.status).trim().to_owned(),
        });
        words.extend(newest_first);
        for (word, about) in [("tag:", "runs with a tag"), ("where:", "runs that fulfil a condition")] {
            words.push(Candidate { word: word.into(), about: about.into() });
        }
    }
    words.retain(|candidate| candidate.word.starts_with(term));
    words
}

/// Oldest first; none of those that no command can name.
fn rows(project: &Project) -> Vec<RunRow> {
    let mut rows = Index::open(project).list(&RunFilter::default()).unwrap_or_default();
    rows.retain(|row| row.id.is_some() && !row.name.starts_with(['-', '@']));
    rows.sort_by(|a, b| a.age().cmp(&b.age()));
    rows
}

fn tags_of(rows: &[RunRow]) -> BTreeSet<String> {
    rows.iter().flat_map(|row| row.tags.iter().cloned()).collect()
}

fn of_tag(tag: String) -> Candidate {
    Candidate { word: format!("tag:{tag}"), about: String::new() }
}

/// The seeds and checkpoints of a run.
fn parts(project: &Project, run: &str, part: &str) -> Vec<Candidate> {
    let Ok(selected) = one(project, run) else { return Vec::new() };
    let Ok(folders) = selected.run.seed_folders() else { return Vec::new() };
    let mut found: Vec<(String, &str)> = Vec::new();
    if selected.part.seed.is_none() && folders.len() > 1 {
        found.extend(folders.iter().map(|folder| (folder.seed().to_string(), "seed")));
    }
    found.extend([Which::Best, Which::Latest].map(|which| (which.to_string(), "checkpoint")));
    let own = folders.iter().filter(|folder| selected.part.seed.is_none_or(|seed| folder.seed() == seed));
    let steps: BTreeSet<u64> =
        own.flat_map(|folder| folder.checkpoints().steps().unwrap_or_default()).collect();
    found.extend(steps.iter().map(|step| (Which::Step(*step).to_string(), "checkpoint")));
    let fitting = found.into_iter().filter(|(word, _)| word.starts_with(part));
    fitting
        .map(|(word, about)| Candidate { word: format!("{run}:{word}"), about: about.to_owned() })
        .collect()
}

/// Completions of a column or a config key.
pub fn keys(text: &str) -> Vec<Candidate> {
    let column = |column: Column| Candidate { word: column.name().into(), about: "column".into() };
    let mut found: Vec<Candidate> = Column::ALL.into_iter().map(column).collect();
    found.extend(config_keys(""));
    found.retain(|candidate| candidate.word.starts_with(text));
    found
}

/// Completions of a key to sort by, which a minus may come before.
pub fn sort_keys(text: &str) -> Vec<Candidate> {
    let Some(name) = text.strip_prefix('-') else { return keys(text) };
    keys(name).into_iter().map(|key| Candidate { word: format!("-{}", key.word), ..key }).collect()
}

/// Completions of the last of several config keys with commas between them.
pub fn config_key_list(text: &str) -> Vec<Candidate> {
    let (before, last) = text.split_at(text.rfind(',').map_or(0, |comma| comma + 1));
    let is_new = |key: &Candidate| !before.split(',').any(|earlier| earlier == key.word);
    let new = config_keys(last).into_iter().filter(is_new);
    new.map(|key| Candidate { word: format!("{before}{}", key.word), ..key }).collect()
}

/// Completions of an environment that runs of the project use.
pub fn environments(context: &Context, text: &str) -> Vec<Candidate> {
    let Ok(project) = project(context) else { return Vec::new() };
    let used: BTreeSet<String> = rows(&project).into_iter().map(|row| row.env).collect();
    // As `--env` compares them.
    let begins = |env: &String| env.to_lowercase().starts_with(&text.to_lowercase());
    let used = used.into_iter().filter(|env| !env.is_empty()).filter(begins);
    used.map(|env| Candidate { word: env, about: String::new() }).collect()
}

/// Completions of a config key.
pub fn config_keys(text: &str) -> Vec<Candidate> {
    let keys = known_keys().into_iter().filter(|key| key.starts_with(text));
    keys.map(|key| Candidate { word: key, about: "config key".into() }).collect()
}

/// Completions of a tag.
pub fn tags(context: &Context, text: &str) -> Vec<Candidate> {
    let Ok(project) = project(context) else { return Vec::new() };
    let tags = tags_of(&rows(&project)).into_iter().filter(|tag| tag.starts_with(text));
    tags.map(|tag| Candidate { word: tag, about: String::new() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(found: Vec<Candidate>) -> Vec<String> {
        found.into_iter().map(|candidate| candidate.word).collect()
    }

    #[test]
    fn keys_to_sort_by_may_have_a_minus() {
        assert_eq!(words(sort_keys("-algo.gam")), ["-algo.gamma"]);
        assert_eq!(words(sort_keys("sco")), ["score"]);
        assert!(words(sort_keys("-")).contains(&"-created".to_owned()));
    }

    #[test]
    fn the_last_key_of_a_list_is_completed_and_none_twice() {
        assert_eq!(words(config_key_list("algo.gam")), ["algo.gamma"]);
        assert_eq!(words(config_key_list("algo.gamma,algo.ga")), ["algo.gamma,algo.gae_lambda"]);
    }
}
