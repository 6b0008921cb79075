//! The runs of a project as a table: their rows and, where they are asked for, the values of their configs.

use rlxp_store::{Index, Project, RunFilter, RunRow};
use serde_json::{Map, Value};

use super::condition::{Condition, Key};
use crate::failure::Outcome;
use crate::training::recorded::config_of;

/// A run with what conditions and columns can ask of it.
#[derive(Clone, Debug)]
pub struct KnownRun {
    pub row: RunRow,
    /// The config, nested as in its file; nothing if it was not asked for or can't be read.
    pub config: Map<String, Value>,
}

impl KnownRun {
    /// The value of a column or of a config key.
    pub fn value(&self, key: &Key) -> Value {
        match key {
            Key::Column(column) => column.value(&self.row),
            Key::Config(key) => self.config_value(key).cloned().unwrap_or(Value::Null),
        }
    }

    fn config_value(&self, key: &str) -> Option<&Value> {
        let mut parts = key.split('.');
        let first = self.config.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    }

    pub fn fulfils(&self, conditions: &[Condition]) -> bool {
        conditions.iter().all(|condition| condition.holds(Some(&self.value(&condition.key))))
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
    let needs_config = with_config || conditions.iter().any(|condition| condition.key.is_config());
    let rows = Index::open(project).list(filter)?;
    let known = rows.into_iter().map(|row| {
        let config = if needs_config { config(project, &row) } else { Map::new() };
        KnownRun { row, config }
    });
    Ok(known.filter(|run| run.fulfils(conditions)).collect())
}

fn config(project: &Project, row: &RunRow) -> Map<String, Value> {
    let config = config_of(&project.run(&row.name)).ok();
    match config.map(|config| serde_json::to_value(&config).expect("a config is plain data")) {
        Some(Value::Object(config)) => config,
        _ => Map::new(),
    }
}
