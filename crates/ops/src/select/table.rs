//! The runs of a project as a table: their rows and, where they are asked for, the values of their configs.

use std::collections::BTreeSet;

use rlxp_spec::{SNAPSHOT_FORMAT, known_keys};
use rlxp_store::{ConfigReader, ConfigValues, Index, Project, Run, RunFilter, RunRow};
use serde_json::{Map, Value, json};

use super::column::Column;
use super::condition::{Condition, Key};
use crate::failure::Outcome;
use crate::training::recorded::config_of;

/// A run with what conditions and columns can ask of it.
#[derive(Clone, Debug)]
pub struct KnownRun {
    pub row: RunRow,
    /// The config; nothing if it was not asked for or can't be read.
    pub config: Option<ConfigValues>,
    /// Estimated seconds left of a run that is being trained, where it was asked for.
    pub left: Option<u64>,
}

impl KnownRun {
    /// The value of a column or of a config key.
    pub fn value(&self, key: &Key) -> Value {
        match key {
            Key::Column(Column::Left) => json!(self.left),
            Key::Column(column) => column.value(&self.row),
            Key::Config(key) => {
                self.config.as_ref().and_then(|config| config.get(key)).unwrap_or(Value::Null)
            }
        }
    }

    pub fn fulfils(&self, conditions: &[Condition]) -> bool {
        // A config that can't be read fulfils nothing, not even `!=`.
        let is_known = |condition: &Condition| !condition.key.is_config() || self.config.is_some();
        conditions
            .iter()
            .all(|condition| is_known(condition) && condition.holds(Some(&self.value(&condition.key))))
    }
}

/// The runs that pass the filter and fulfil the conditions, by name; with their configs if `with_config` or if a
/// condition needs them.
pub fn table(
    project: &Project,
    filter: &RunFilter,
    conditions: &[Condition],
    with_config: bool,
) -> Outcome<Vec<KnownRun>> {
    table_of(project, None, filter, conditions, with_config)
}

/// The same for runs of these names only.
pub(crate) fn table_of(
    project: &Project,
    names: Option<&BTreeSet<String>>,
    filter: &RunFilter,
    conditions: &[Condition],
    with_config: bool,
) -> Outcome<Vec<KnownRun>> {
    let index = Index::open(project);
    let mut rows = index.list(filter)?;
    rows.retain(|row| names.is_none_or(|names| names.contains(&row.name)));
    let (of_config, of_row): (Vec<Condition>, Vec<Condition>) =
        conditions.iter().cloned().partition(|condition| condition.key.is_config());
    let known = |(row, config)| KnownRun { row, config, left: None };
    if of_config.is_empty() && !with_config {
        let runs = rows.into_iter().map(|row| known((row, None)));
        return Ok(runs.filter(|run| run.fulfils(&of_row)).collect());
    }
    // Configs are only needed of the runs that are left.
    if !of_row.is_empty() {
        let holds = |condition: &Condition, row: &RunRow| match &condition.key {
            Key::Column(column) => condition.holds(Some(&column.value(row))),
            Key::Config(_) => true,
        };
        rows.retain(|row| of_row.iter().all(|condition| holds(condition, row)));
    }
    let configs = index.configs(&rows, &ConfigReader { maker: &maker(), read: &config });
    let runs = rows.into_iter().zip(configs).map(known);
    Ok(runs.filter(|run| run.fulfils(&of_config)).collect())
}

/// What the values of a config depend on besides its file.
fn maker() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("rlx {version}, snapshots {SNAPSHOT_FORMAT}, keys {}", known_keys().join(" "))
}

fn config(run: &Run) -> Option<Map<String, Value>> {
    let config = config_of(run).ok()?;
    match serde_json::to_value(&config).expect("a config is plain data") {
        Value::Object(config) => Some(config),
        _ => None,
    }
}
