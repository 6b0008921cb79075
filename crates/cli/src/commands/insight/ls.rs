//! `rlx ls`

use std::time::Duration;

use clap::{Args, ValueEnum};
use rlxp_ops::below::{RunFilter, RunRow};
use rlxp_ops::insight::runs::{SortKey, list};
use rlxp_ops::insight::time_left::time_left;
use rlxp_ops::reports::RunList;
use rlxp_ops::{Context, Outcome};
use rlxp_types::{Exit, RunStatus};

use crate::format;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx ls
  rlx ls --env CartPole-v1 --status completed --sort best --limit 5
  rlx ls --columns name,best,tags
  rlx ls --json";

/// List runs, newest first
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Ls {
    /// Only show runs of this environment
    #[arg(long, value_name = "ID")]
    env: Option<String>,
    /// Only show runs with this status
    #[arg(long)]
    status: Option<Status>,
    /// Only show runs with this tag; if repeated, runs with all of the tags
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only show runs whose name contains this text
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Sort by
    #[arg(long, default_value = "created")]
    sort: Sort,
    /// Reverse the order
    #[arg(long)]
    reverse: bool,
    /// Show at most N runs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Columns to show [default: name,status,env,seeds,steps,return,best,created; with left after
    /// steps while a run is training]
    #[arg(long, value_delimiter = ',')]
    columns: Option<Vec<Column>>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Status {
    Created,
    Running,
    Completed,
    Interrupted,
    Failed,
    Lost,
    Unknown,
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Created => RunStatus::Created,
            Status::Running => RunStatus::Running,
            Status::Completed => RunStatus::Completed,
            Status::Interrupted => RunStatus::Interrupted,
            Status::Failed => RunStatus::Failed,
            Status::Lost => RunStatus::Lost,
            Status::Unknown => RunStatus::Unknown,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Sort {
    /// Newest first
    Created,
    /// By name
    Name,
    /// Best evaluation first
    Best,
    /// Highest last training return first
    Return,
    /// Most steps first
    Steps,
}

impl From<Sort> for SortKey {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Created => SortKey::Created,
            Sort::Name => SortKey::Name,
            Sort::Best => SortKey::Best,
            Sort::Return => SortKey::Last,
            Sort::Steps => SortKey::Steps,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Column {
    Name,
    Id,
    Status,
    Env,
    Algo,
    Seeds,
    Steps,
    /// Estimated time left of a running training
    Left,
    Return,
    Best,
    Created,
    Ended,
    Tags,
}

/// What is shown unless asked otherwise.
const COLUMNS: [Column; 8] = [
    Column::Name,
    Column::Status,
    Column::Env,
    Column::Seeds,
    Column::Steps,
    Column::Return,
    Column::Best,
    Column::Created,
];

impl Column {
    fn heading(self) -> (&'static str, Align) {
        match self {
            Column::Name => ("name", Align::Left),
            Column::Id => ("id", Align::Left),
            Column::Status => ("status", Align::Left),
            Column::Env => ("env", Align::Left),
            Column::Algo => ("algo", Align::Left),
            Column::Seeds => ("seeds", Align::Right),
            Column::Steps => ("steps", Align::Right),
            Column::Left => ("left", Align::Right),
            Column::Return => ("return", Align::Right),
            Column::Best => ("best", Align::Right),
            Column::Created => ("created", Align::Left),
            Column::Ended => ("ended", Align::Left),
            Column::Tags => ("tags", Align::Left),
        }
    }

    fn cell(self, row: &RunRow, left: Option<u64>) -> String {
        match self {
            Column::Name => row.name.clone(),
            Column::Id => row.id.map_or("-".to_owned(), |id| id.to_string().chars().take(12).collect()),
            Column::Status => row.status.to_string(),
            Column::Env => row.env.clone(),
            Column::Algo => row.algo.clone(),
            Column::Seeds => row.seeds.to_string(),
            Column::Steps => steps(row),
            Column::Left => left.map_or(String::new(), |left| format::clock(Duration::from_secs(left))),
            Column::Return => format::score_or_dash(row.last_mean_return),
            Column::Best => format::score_or_dash(row.best_eval_mean),
            Column::Created => format::moment(&row.created),
            Column::Ended => row.ended.as_deref().map_or("-".to_owned(), format::moment),
            Column::Tags => row.tags.join(","),
        }
    }
}

fn default_columns(rows: &[RunRow]) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    if rows.iter().any(|row| row.status == RunStatus::Running) {
        columns.insert(5, Column::Left);
    }
    columns
}

/// Steps done; with the share of the whole while there is more to do.
fn steps(row: &RunRow) -> String {
    let done = format::count(row.steps);
    if row.status == RunStatus::Completed || row.total_steps == 0 {
        return done;
    }
    format!("{done} ({}%)", row.steps.saturating_mul(100) / row.total_steps)
}

impl Ls {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let filter = RunFilter {
            env: self.env.clone(),
            algo: None,
            status: self.status.map(RunStatus::from),
            tags: self.tags.clone(),
            name: self.name.clone(),
        };
        let rows = list(context, &filter, self.sort.into(), self.reverse)?;
        let found = rows.len();
        let rows = &rows[..found.min(self.limit.unwrap_or(found))];
        let left = time_left(context, rows)?;
        if screen.is_json() {
            let names = rows.iter().map(|row| row.name.as_str());
            let time_left = names.zip(&left).filter_map(|(name, left)| Some((name, (*left)?))).collect();
            screen.json(&RunList { found, runs: rows, time_left });
            return Ok(Exit::Yes);
        }
        if found == 0 {
            let is_all = filter == RunFilter::default();
            screen.note(if is_all { "no runs yet" } else { "no runs match" });
            screen.hint(if is_all { "rlx train configs/ppo_cartpole.yaml" } else { "rlx ls" });
            return Ok(Exit::Yes);
        }
        let columns = self.columns.clone().unwrap_or_else(|| default_columns(rows));
        let mut table = Table::new(columns.iter().map(|column| column.heading()));
        for (row, left) in rows.iter().zip(left) {
            table.row(columns.iter().map(|column| column.cell(row, left)));
        }
        screen.answer(table.render("", |header| screen.styled(Style::Heading, header)));
        for row in rows {
            if let Some(problem) = &row.problem {
                screen.warning(&format!("{}: {problem}", row.name));
            }
        }
        if rows.len() < found {
            screen.note(&format!("{} of {found} runs", rows.len()));
        }
        Ok(Exit::Yes)
    }
}
