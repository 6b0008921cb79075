//! The columns of a listing: what a run's row says of it besides its config.

use rlxp_store::RunRow;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Name,
    Id,
    Status,
    Env,
    Algo,
    Seeds,
    Steps,
    /// Estimated seconds left of a run that is being trained.
    Left,
    /// The last mean return of training.
    Return,
    /// The last evaluation's mean return, averaged over the seeds.
    Score,
    /// The best evaluation's mean return, averaged over the seeds.
    Best,
    /// Steps of all seeds per second of training.
    StepsPerSecond,
    Created,
    Ended,
    Tags,
    /// What `rlx rename` gave the run.
    Title,
    Notes,
}

impl Column {
    pub const ALL: [Self; 17] = [
        Self::Name,
        Self::Id,
        Self::Status,
        Self::Env,
        Self::Algo,
        Self::Seeds,
        Self::Steps,
        Self::Left,
        Self::Return,
        Self::Score,
        Self::Best,
        Self::StepsPerSecond,
        Self::Created,
        Self::Ended,
        Self::Tags,
        Self::Title,
        Self::Notes,
    ];

    /// Its name in arguments and headings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Id => "id",
            Self::Status => "status",
            Self::Env => "env",
            Self::Algo => "algo",
            Self::Seeds => "seeds",
            Self::Steps => "steps",
            Self::Left => "left",
            Self::Return => "return",
            Self::Score => "score",
            Self::Best => "best",
            Self::StepsPerSecond => "steps_per_second",
            Self::Created => "created",
            Self::Ended => "ended",
            Self::Tags => "tags",
            Self::Title => "title",
            Self::Notes => "notes",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == text)
    }

    /// Whether its values are numbers.
    pub(crate) fn is_number(self) -> bool {
        matches!(
            self,
            Self::Seeds | Self::Steps | Self::Return | Self::Score | Self::Best | Self::StepsPerSecond
        )
    }

    /// A run's value; null if it has none.
    pub fn value(self, row: &RunRow) -> Value {
        match self {
            Self::Name => json!(row.name),
            Self::Id => json!(row.id),
            Self::Status => json!(row.status),
            Self::Env => json!(row.env),
            Self::Algo => json!(row.algo),
            Self::Seeds => json!(row.seeds),
            Self::Steps => json!(row.steps),
            // Not in a row, as it changes all the time.
            Self::Left => Value::Null,
            Self::Return => json!(row.last_mean_return),
            Self::Score => json!(row.score),
            Self::Best => json!(row.best_eval_mean),
            Self::StepsPerSecond => json!(row.steps_per_second),
            Self::Created => json!(row.created),
            Self::Ended => json!(row.ended),
            Self::Tags => json!(row.tags),
            Self::Title => json!(row.title),
            Self::Notes => json!(row.notes),
        }
    }
}
