//! `rlx ls`: runs as rows, with columns of their results and of their configs.

use std::collections::BTreeSet;

use rlxp_spec::nearest;
use rlxp_store::{ConfigValues, Project, RunFilter, places_by_age, places_in_order};
use rlxp_types::RunStatus;
use rlxp_types::text::one_line;
use serde_json::Value;

use crate::context::Context;
use crate::csv_file;
use crate::failure::Outcome;
use crate::insight::config_keys::{NOT_TRAINING, short};
use crate::insight::run_data::fold::UNTRAINED;
use crate::insight::time_left::of_run;
use crate::select::column::Column;
use crate::select::condition::{Condition, Key};
use crate::select::table::{KnownRun, table, table_of};
use crate::select::{project, whole_runs};

/// Config keys that are shown without being asked for.
const MOST_KEYS: usize = 6;

/// Columns that are shown unless others are asked for.
const USUAL: [Column; 9] = [
    Column::Name,
    Column::Status,
    Column::Env,
    Column::Seeds,
    Column::Steps,
    // While a run is training.
    Column::Left,
    Column::Return,
    Column::Best,
    Column::Created,
];

/// What to list; the default lists every run, newest first.
#[derive(Default)]
pub struct ListRequest {
    /// Words that name runs; all runs without any.
    pub runs: Vec<String>,
    pub filter: RunFilter,
    /// Conditions that must all hold.
    pub conditions: Vec<Condition>,
    pub sort: Sort,
    pub limit: Option<usize>,
    /// The columns; without any, the usual ones and the config keys that differ.
    pub columns: Vec<Key>,
    /// Whether the config of each run is needed, whatever the columns are.
    pub with_config: bool,
}

/// The order of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    key: Key,
    descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { key: Key::Column(Column::Created), descending: true }
    }
}

impl Sort {
    /// `KEY`, or `-KEY` for descending. The columns that are sorted most often have the highest first either way.
    pub fn parse(text: &str, reverse: bool) -> Outcome<Self> {
        let (name, minus) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        let key = Key::parse(name)?;
        let highest_first = [
            Column::Created,
            Column::Best,
            Column::Score,
            Column::Return,
            Column::Steps,
            Column::StepsPerSecond,
        ];
        let descending = minus || highest_first.iter().any(|column| key == Key::Column(*column));
        Ok(Self { key, descending: descending != reverse })
    }

    /// Sorts runs that are in the order of their names; those without a value come last.
    fn apply(&self, runs: Vec<KnownRun>) -> Vec<KnownRun> {
        let places = if self.key == Key::Column(Column::Created) {
            // The order of creation, which is not that of the clock.
            let mut places = places_by_age(&runs.iter().map(|run| &run.row).collect::<Vec<_>>());
            if self.descending {
                places.reverse();
            }
            places
        } else {
            let values: Vec<Value> = runs.iter().map(|run| first_of(run.value(&self.key))).collect();
            places_in_order(&values, self.descending)
        };
        let mut runs: Vec<Option<KnownRun>> = runs.into_iter().map(Some).collect();
        places.into_iter().filter_map(|place| runs[place].take()).collect()
    }
}

/// The value by which a run is sorted: a schedule by where it starts, so that it is among the constants.
fn first_of(value: Value) -> Value {
    match &value {
        Value::Object(fields) if fields.contains_key("schedule") => {
            fields.get("from").cloned().unwrap_or(Value::Null)
        }
        _ => value,
    }
}

/// Runs in the order that was asked for.
#[derive(Debug)]
pub struct Listing {
    /// How many matched; `runs` may be cut at a limit.
    pub found: usize,
    pub runs: Vec<KnownRun>,
    pub columns: Vec<Key>,
    /// Config keys that differ between the runs and have no column.
    pub more_keys: Vec<String>,
    /// Why there are none, if one of the filters is the reason.
    pub nothing: Option<Nothing>,
}

/// An environment that no run uses.
#[derive(Debug)]
pub struct Nothing {
    pub env: String,
    /// A used one with a similar name.
    pub nearest: Option<String>,
    /// All that are used.
    pub used: Vec<String>,
}

/// Lists runs.
pub fn list(context: &Context, request: &ListRequest) -> Outcome<Listing> {
    let ListRequest { runs: words, filter, conditions, sort, limit, columns, with_config } = request;
    let project = project(context)?;
    let names: Option<BTreeSet<String>> = if words.is_empty() {
        None
    } else {
        Some(whole_runs(&project, words)?.iter().map(rlxp_store::Run::name).collect())
    };
    // Who lists a group of runs wants to know in what they differ.
    let finds_keys = columns.is_empty() && (!words.is_empty() || !filter.tags.is_empty());
    let needs_config =
        *with_config || finds_keys || sort.key.is_config() || columns.iter().any(Key::is_config);
    let mut runs = sort.apply(table_of(&project, names.as_ref(), filter, conditions, needs_config)?);
    let nothing = if runs.is_empty() { unused(&project, filter)? } else { None };
    let (keys, more_keys) = if finds_keys { differing(&runs) } else { Default::default() };
    let found = runs.len();
    runs.truncate(limit.unwrap_or(found));
    let is_running = |run: &KnownRun| run.row.status == RunStatus::Running;
    for run in runs.iter_mut().filter(|run| is_running(run)) {
        run.left = of_run(&project.run(&run.row.name)).map(|left| left.as_secs());
    }
    let usual = USUAL.into_iter().filter(|column| *column != Column::Left || runs.iter().any(is_running));
    let columns = if columns.is_empty() {
        let mut columns: Vec<Key> = usual.map(Key::Column).chain(keys.into_iter().map(Key::Config)).collect();
        if !columns.contains(&sort.key) {
            columns.push(sort.key.clone());
        }
        columns
    } else {
        columns.clone()
    };
    Ok(Listing { found, runs, columns, more_keys, nothing })
}

/// The config keys that differ between the runs: those to show, in the order of the config, and the others. Keys with
/// few values say most about groups of runs, so they are preferred. How often a run is saved and evaluated follows from
/// its length unless the user sets it, so that comes last.
fn differing(runs: &[KnownRun]) -> (Vec<String>, Vec<String>) {
    let mut keys = ConfigValues::differing(runs.iter().filter_map(|run| run.config.as_ref()));
    keys.retain(|(key, _)| !NOT_TRAINING.contains(&key.as_str()));
    let follows = |key: &str| UNTRAINED.contains(&key);
    keys.sort_by_key(|(key, _)| follows(key));
    let mut by_values: Vec<usize> = (0..keys.len()).collect();
    by_values.sort_by_key(|place| (follows(&keys[*place].0), keys[*place].1));
    let shown: BTreeSet<usize> = by_values.into_iter().take(MOST_KEYS).collect();
    let split = keys.into_iter().enumerate().partition::<Vec<_>, _>(|(place, _)| shown.contains(place));
    let names = |keys: Vec<(usize, (String, usize))>| keys.into_iter().map(|(_, (key, _))| key).collect();
    (names(split.0), names(split.1))
}

/// Whether the environment of the filter is one that no run uses.
fn unused(project: &Project, filter: &RunFilter) -> Outcome<Option<Nothing>> {
    let Some(env) = &filter.env else { return Ok(None) };
    let runs = table(project, &RunFilter::default(), &[], false)?;
    let used: BTreeSet<String> =
        runs.into_iter().map(|run| run.row.env).filter(|env| !env.is_empty()).collect();
    if used.iter().any(|known| known.eq_ignore_ascii_case(env)) {
        return Ok(None);
    }
    let nearest = nearest(env, used.iter().map(String::as_str)).map(str::to_owned);
    Ok(Some(Nothing { env: env.clone(), nearest, used: used.into_iter().collect() }))
}

impl Listing {
    /// The listing as CSV: a header and one line per run, numbers with all their digits, lists as JSON except for tags,
    /// which have no commas.
    pub fn csv(&self) -> String {
        let header = self.columns.iter().map(|key| key.name().to_owned()).collect();
        let rows =
            self.runs.iter().map(|run| self.columns.iter().map(|key| field(key, &run.value(key))).collect());
        csv_file::text(std::iter::once(header).chain(rows))
    }
}

fn field(key: &Key, value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(tags) if *key == Key::Column(Column::Tags) => {
            tags.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
        }
        Value::Array(items) if items.is_empty() => String::new(),
        other => other.to_string(),
    };
    // One line per run, whatever a received run is called.
    csv_file::not_a_formula(&one_line(&text))
}

/// A config value in a table.
pub fn shown(value: &Value) -> String {
    short(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(text: &str, reverse: bool) -> (String, bool) {
        let sort = Sort::parse(text, reverse).unwrap();
        (sort.key.name().to_owned(), sort.descending)
    }

    #[test]
    fn a_sort_is_a_key_and_a_direction() {
        for (text, reverse, expected) in [
            ("created", false, ("created", true)),
            ("best", false, ("best", true)),
            ("-best", false, ("best", true)),
            ("best", true, ("best", false)),
            ("name", false, ("name", false)),
            ("-name", false, ("name", true)),
            ("score", false, ("score", true)),
            ("-score", false, ("score", true)),
            ("score", true, ("score", false)),
            ("algo.gamma", false, ("algo.gamma", false)),
            ("-algo.gamma", false, ("algo.gamma", true)),
        ] {
            assert_eq!(parsed(text, reverse), (expected.0.to_owned(), expected.1), "{text} {reverse}");
        }
        assert_eq!(Sort::parse("-scor", false).unwrap_err().hints, ["did you mean score?"]);
    }

    fn run(name: &str, config: Value) -> KnownRun {
        let row = json!({
            "name": name, "id": null, "status": "completed", "env": "", "algo": "", "seeds": 1, "steps": 0,
            "total_steps": 0, "last_mean_return": null, "best_eval_mean": null, "created": "", "ended": null,
            "tags": ["a", "b"], "problem": null,
        });
        let Value::Object(config) = config else { panic!("a config is a map") };
        KnownRun {
            row: serde_json::from_value(row).unwrap(),
            config: Some(ConfigValues::new(&config)),
            left: None,
        }
    }

    #[test]
    fn runs_are_sorted_by_config_values_and_those_without_come_last() {
        let runs = || {
            vec![
                run("a", json!({"algo": {"gamma": 0.9}})),
                run("b", json!({"algo": {}})),
                run("c", json!({"algo": {"gamma": 0.99}})),
            ]
        };
        let names = |text: &str| -> Vec<String> {
            let sorted = Sort::parse(text, false).unwrap().apply(runs());
            sorted.into_iter().map(|run| run.row.name).collect()
        };
        assert_eq!(names("algo.gamma"), ["a", "c", "b"]);
        assert_eq!(names("-algo.gamma"), ["c", "a", "b"]);
        assert_eq!(names("-name"), ["c", "b", "a"]);
        assert_eq!(names("score"), ["a", "b", "c"], "equal runs stay in the order of their names");
    }

    #[test]
    fn at_most_six_keys_are_shown_and_those_with_many_values_are_left_out() {
        let config = |number: u64| {
            let keys =
                (0..8).map(|key| (format!("k{key}"), json!(if key < 2 { number } else { number % 2 })));
            let algo: serde_json::Map<String, Value> = keys.collect();
            json!({"run_name": format!("r{number}"), "seed": number, "threads": number, "algo": algo})
        };
        let runs: Vec<KnownRun> = (0..4).map(|number| run("r", config(number))).collect();
        let (shown, more) = differing(&runs);
        assert_eq!(shown, ["algo.k2", "algo.k3", "algo.k4", "algo.k5", "algo.k6", "algo.k7"]);
        assert_eq!(more, ["algo.k0", "algo.k1"]);
        assert_eq!(differing(&runs[..1]), (vec![], vec![]));
    }

    #[test]
    fn csv_quotes_what_needs_it_and_every_run_is_one_line() {
        let mut one = run("a", json!({"algo": {"gamma": 0.995, "name": "p\"p,o"}, "seeds": [0, 1]}));
        one.row.title = Some("wide,\nnew".to_owned());
        let keys =
            ["name", "tags", "title", "score", "algo.gamma", "algo.name", "seeds", "notes", "algo.none"];
        let columns: Vec<Key> = keys
            .iter()
            .map(|key| Key::parse(key).unwrap_or_else(|_| Key::Config((*key).to_owned())))
            .map(|key| if key.name() == "seeds" { Key::Config("seeds".into()) } else { key })
            .collect();
        let listing = Listing { found: 1, runs: vec![one], columns, more_keys: vec![], nothing: None };
        let expected = "name,tags,title,score,algo.gamma,algo.name,seeds,notes,algo.none\n\
                        a,\"a,b\",\"wide,\\nnew\",,0.995,\"p\"\"p,o\",\"[0,1]\",,\n";
        assert_eq!(listing.csv(), expected);
    }
}
