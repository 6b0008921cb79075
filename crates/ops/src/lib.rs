//! One function per verb: typed request in, typed report out, events through a sink. Nothing here prints; the command
//! line calls these functions and decides how the result looks.
//!
//! | product | folder | verbs |
//! |---|---|---|
//! | training | [`training`] | `init`, `quickstart`, `envs`, `config`, `train`, `resume`, `stop`, `reproduce`, `eval` |
//! | insight | [`insight`] | `ls`, `info`, `tag`, `note`, `rename`, `rm`, `tail`, `compare`, `diff`, `stats`, `plot`, `report`, `video`, `inspect`, `diagnose`, `suggest`, `analyze`, `summarize`, `explain-metrics` |
//! | studies | [`studies`] | `study`, `contract`, `approve`, `candidate`, `launch`, `autoloop`, `queue`, `metric`, `ledger`, `verify`, `doctor` |
//!
//! Insight may use training, and training asks studies whether a folder is governed. There are no other dependencies
//! between them; `xtask/tests/architecture` checks this, and that modules don't depend on each other in a circle.

pub mod context;
mod csv_file;
pub mod event;
pub mod failure;
mod html;
pub mod insight;
mod output_file;
pub mod quickstart;
pub mod reports;
pub mod select;
mod show;
pub mod studies;
pub mod training;

pub use context::Context;
pub use event::{Event, Sink};
pub use failure::{Failure, Outcome};

/// Re-exports from the crates below, so that the command line depends on this crate alone.
pub mod below {
    pub use rlxp_analyze::BandPoint;
    pub use rlxp_analyze::curves::{Band, CurvePoint};
    pub use rlxp_analyze::verdict::Answer;
    pub use rlxp_env::{Dtype, Space};
    pub use rlxp_fs::environment;
    pub use rlxp_govern::approval::ApprovalStatus;
    pub use rlxp_govern::documents::{
        Assurance, CandidateKind, ClaimKind, ComponentReflection, FindingSeverity, Phase, Seconds,
        SeedEstimate,
    };
    pub use rlxp_govern::gate::Refusal;
    pub use rlxp_govern::ledger::Actor;
    pub use rlxp_govern::machine::RunEnd;
    pub use rlxp_govern::queue::Job;
    pub use rlxp_govern::score::{Score, ScoreSource};
    pub use rlxp_launch::order::Mechanisms;
    pub use rlxp_launch::signals::survive_file_size_limit;
    pub use rlxp_spec::document::to_yaml as document_yaml;
    pub use rlxp_spec::{Config, Problem, Source, config_reference, render, schema, to_yaml};
    pub use rlxp_store::{Lineage, LineageKind, Record, Run, RunFilter, RunRow, TakeOver};

    /// An amount of time in the format of the files.
    pub fn seconds_text(seconds: u64) -> String {
        rlxp_govern::documents::Seconds(seconds).to_string()
    }

    /// An amount of bytes in the format of the files.
    pub fn bytes_text(bytes: u64) -> String {
        rlxp_govern::documents::Bytes(bytes).to_string()
    }

    /// An amount of bytes for people.
    pub fn bytes_about(bytes: u64) -> String {
        const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match UNITS.into_iter().find(|(_, size)| bytes >= *size) {
            Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
            None => format!("{bytes} bytes"),
        }
    }

    /// An amount of time for people: its two largest units.
    pub fn seconds_about(seconds: u64) -> String {
        let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
        let first = parts.iter().position(|(amount, _)| *amount > 0).unwrap_or(2);
        let said = parts[first..].iter().take(2).filter(|(amount, _)| *amount > 0);
        let said: Vec<String> = said.map(|(amount, unit)| format!("{amount}{unit}")).collect();
        if said.is_empty() { "0s".to_owned() } else { said.join(" ") }
    }

    /// The non-zero amounts of a budget, for people.
    pub fn amounts_about(amounts: rlxp_govern::budget::Amounts) -> Vec<String> {
        let rlxp_govern::budget::Amounts { runs, wall_clock, gpu_time, disk } = amounts;
        let said = [
            (runs, if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }),
            (wall_clock, format!("{} of wall clock", seconds_about(wall_clock))),
            (gpu_time, format!("{} of gpu time", seconds_about(gpu_time))),
            (disk, format!("{} of disk", bytes_about(disk))),
        ];
        said.into_iter().filter(|(amount, _)| *amount > 0).map(|(_, said)| said).collect()
    }

    /// `higher` or `lower`.
    pub fn direction_word(direction: rlxp_govern::documents::Direction) -> &'static str {
        match direction {
            rlxp_govern::documents::Direction::Higher => "higher",
            rlxp_govern::documents::Direction::Lower => "lower",
        }
    }

    /// The word that a value is serialised as.
    pub fn word_of(value: &impl serde::Serialize) -> String {
        serde_json::to_value(value)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Parses an argument as one of the words that a file allows.
    pub fn parse_word<T: serde::de::DeserializeOwned + rlxp_spec::document::Words>(
        word: &str,
    ) -> Result<T, String> {
        serde_json::from_value(word.into()).map_err(|error: serde_json::Error| {
            let words = T::words();
            match rlxp_spec::nearest(word, words.iter().map(String::as_str)) {
                _ if words.is_empty() => error.to_string(),
                Some(near) => format!("did you mean {near}?"),
                None => format!("it is none of {}", words.join(", ")),
            }
        })
    }
}
