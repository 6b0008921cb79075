//! The values of the configs of listed runs: from the cache while the file they were read from is as it was.

use rlxp_fs::clock;
use serde_json::{Map, Value};

use super::database::FreshConfig;
use super::parallel::in_order;
use super::stamp::{Sources, Stamped};
use super::{ConfigValues, Index, RunRow};
use crate::Run;
use crate::run::CONFIG_FILE;

/// How configs are read, by code that knows what is in them.
pub struct ConfigReader<'a> {
    /// Changes whenever the same file would be read differently; values of another maker are not used.
    pub maker: &'a str,
    /// The config of a run, nested as in its file, from `config_snapshot.yaml` and nothing else; `None` if it can't be
    /// read.
    pub read: &'a (dyn Fn(&Run) -> Option<Map<String, Value>> + Sync),
}

/// Values, with the stamp of their file where they are worth storing.
type Found = (usize, Option<ConfigValues>, Option<Stamped>);

impl Index {
    /// The values of the config of each row, in the same order; `None` where it can't be read.
    pub fn configs(&self, rows: &[RunRow], reader: &ConfigReader<'_>) -> Vec<Option<ConfigValues>> {
        // A folder without a readable description is not a run.
        let known: Vec<usize> = (0..rows.len()).filter(|place| rows[*place].id.is_some()).collect();
        let names: Vec<&str> = known.iter().map(|place| rows[*place].name.as_str()).collect();
        let (project, doubt) = (&self.project, self.doubt);
        let found: Vec<Found> = in_order(
            names.len(),
            |take| self.database.each_config(&names, &mut |index, cached| take((index, cached))),
            |(index, cached)| {
                let name = names[index];
                let run = project.run(name);
                if let Some(cached) = cached
                    && cached.stamped.holds(&run, CONFIG_FILE)
                    && let Some(text) = cached.text(name, reader.maker)
                {
                    return (index, Some(ConfigValues::from_text(text)), None);
                }
                let began = clock::wall();
                let values = (reader.read)(&run).map(|config| ConfigValues::new(&config));
                let quiet = began.saturating_sub(doubt);
                let stamped = Stamped::since(quiet, &run, Sources::from_text(CONFIG_FILE));
                let stamped = stamped.filter(|_| values.is_some());
                (index, values, stamped)
            },
        );
        let fresh: Vec<FreshConfig<'_>> = found
            .iter()
            .filter_map(|(index, values, stamped)| {
                Some((names[*index], stamped.as_ref()?, values.as_ref()?.as_text()))
            })
            .collect();
        self.database.store_configs(&fresh, reader.maker, rows.len());
        let mut configs = vec![None; rows.len()];
        for (index, values, _) in found {
            configs[known[index]] = values;
        }
        configs
    }
}
