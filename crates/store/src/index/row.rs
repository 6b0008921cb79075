//! One line of a listing, read from a run's folder.

use rlxp_types::{Digest, RunStatus};
use serde::{Deserialize, Serialize};

use super::stamp::Sources;
use crate::labels::LABELS_FOLDER;
use crate::run::METADATA_FILE;
use crate::summary::Summary;
use crate::{Run, StoreError};

/// A run in a listing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The folder's name.
    pub name: String,
    /// The run's id, when its metadata can be read.
    pub id: Option<Digest>,
    /// Its status.
    pub status: RunStatus,
    /// Its environment.
    pub env: String,
    /// Its algorithm.
    pub algo: String,
    /// How many seeds it trains.
    pub seeds: usize,
    /// Steps done, over all seeds.
    pub steps: u64,
    /// Steps planned, over all seeds.
    pub total_steps: u64,
    /// The last mean return of training, averaged over the seeds that have one.
    pub last_mean_return: Option<f64>,
    /// The best evaluation's mean return, averaged over the seeds that have one.
    pub best_eval_mean: Option<f64>,
    /// The last evaluation's mean return, averaged over the seeds that have one.
    #[serde(default)]
    pub score: Option<f64>,
    /// Steps of all seeds per second of training.
    #[serde(default)]
    pub steps_per_second: Option<f64>,
    /// When it was made.
    pub created: String,
    /// Its number in the order of creation; `None` for a run of version 0.1.
    #[serde(default)]
    pub creation: Option<u64>,
    /// When it ended.
    pub ended: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The title that a user gave it.
    #[serde(default)]
    pub title: Option<String>,
    /// The notes of users, oldest first.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What is wrong with it.
    pub problem: Option<String>,
}

impl RunRow {
    /// Reads a run. A run that can't be read becomes a row with a problem.
    pub fn read(run: &Run) -> Self {
        Self::read_with_sources(run).0
    }

    /// A run's row, and every file and folder that it was read from, relative
    /// to the run's folder and each after the folder that holds it.
    pub(super) fn read_with_sources(run: &Run) -> (Self, Sources) {
        let mut row = Self::empty(run.name());
        let mut sources = Sources::default();
        if let Err(error) = row.fill(run, &mut sources) {
            row.problem.get_or_insert(error.to_string());
        }
        (row, sources)
    }

    /// Compares runs by age: later ones are greater. Wall time decides only
    /// between runs that have no creation number, which come first, and
    /// between runs that were created at the same moment.
    pub fn age(&self) -> (Option<u64>, &str, usize, &str) {
        (self.creation, &self.created, self.name.len(), &self.name)
    }

    /// A folder that no command can name.
    pub(super) fn not_text(name: String) -> Self {
        let problem = Some("the name of its folder is not UTF-8; rename the folder".to_owned());
        Self { problem, ..Self::empty(name) }
    }

    fn empty(name: String) -> Self {
        Self {
            name,
            id: None,
            status: RunStatus::Unknown,
            env: String::new(),
            algo: String::new(),
            seeds: 0,
            steps: 0,
            total_steps: 0,
            last_mean_return: None,
            best_eval_mean: None,
            score: None,
            steps_per_second: None,
            created: String::new(),
            creation: None,
            ended: None,
            tags: Vec::new(),
            title: None,
            notes: Vec::new(),
            problem: None,
        }
    }

    fn fill(&mut self, run: &Run, sources: &mut Sources) -> Result<(), StoreError> {
        sources.add(METADATA_FILE);
        let metadata = run.recorded()?;
        let labels = run.labels_since(&metadata.tags);
        sources.add(LABELS_FOLDER);
        labels.numbers.iter().for_each(|number| sources.add(format!("{LABELS_FOLDER}/{number}.json")));
        let folders = run.seed_folders_of(&metadata);
        self.id = Some(metadata.id);
        self.seeds = folders.len();
        self.total_steps = metadata.total_steps.saturating_mul(folders.len() as u64);
        self.env = metadata.env;
        self.algo = metadata.algo;
        self.created = metadata.created;
        self.creation = metadata.creation;
        self.ended = metadata.ended;
        self.tags = labels.tags;
        self.title = labels.title;
        self.notes = labels.notes.into_iter().map(|note| note.text).collect();
        self.problem = labels.problem;
        let status = run.status()?;
        self.status = status.status;
        let newest = status.attempt.as_ref().map(|attempt| attempt.number);
        sources.is_final = run.is_highest_attempt(newest)?;
        sources.add("attempts");
        let (mut ended, mut resumed) = (None, None);
        if let Some(attempt) = status.attempt {
            sources.add(format!("attempts/{}/end.json", attempt.number));
            self.problem = attempt.problem.or(self.problem.take());
            self.ended = attempt.end.map(|end| end.ended);
            ended = attempt.summary;
            if ended.is_none() && attempt.number > 1 {
                sources.add(format!("attempts/{}/claim.json", attempt.number));
                resumed = attempt.writer.map(|writer| writer.claimed);
            }
        }
        let summary = match ended {
            Some(summary) => summary,
            None => Summary::read(run, &folders, resumed.as_deref(), &mut |path| sources.add(path))?,
        };
        self.steps = summary.steps;
        self.last_mean_return = summary.last_mean_return;
        self.best_eval_mean = summary.best_eval_mean;
        self.score = summary.score;
        self.steps_per_second = summary.steps_per_second;
        Ok(())
    }
}

/// More runs than a project creates between two that it keeps.
const WIDEST_GAP: u64 = 1_000_000;

/// Forgets creation numbers that this project can't have given. Otherwise one received run with the highest possible
/// number would be the newest for ever.
pub(super) fn forget_implausible(rows: &mut [RunRow]) {
    let mut numbers: Vec<u64> = rows.iter().filter_map(|row| row.creation).collect();
    numbers.sort_unstable();
    let highest = numbers
        .into_iter()
        .try_fold(0_u64, |last, number| if number - last <= WIDEST_GAP { Ok(number) } else { Err(last) });
    let (Ok(highest) | Err(highest)) = highest;
    for row in rows {
        row.creation = row.creation.filter(|number| *number <= highest);
    }
}
