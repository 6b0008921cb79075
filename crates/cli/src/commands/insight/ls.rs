//! `rlx ls`

use std::time::Duration;

use clap::{Args, ValueEnum};
use rlxp_ops::below::{RunFilter, RunRow};
use rlxp_ops::insight::list::{ListRequest, Listing, Sort, list, shown};
use rlxp_ops::reports::RunList;
use rlxp_ops::select::column::Column;
use rlxp_ops::select::condition::{Key, conditions};
use rlxp_ops::select::table::KnownRun;
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::text::shell_word;
use rlxp_types::{Exit, RunStatus};
use serde_json::Value;

use crate::complete;
use crate::format;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

/// The longest title or note in a table.
const LONGEST: usize = 60;

const EXAMPLES: &str = "\
Examples:
  rlx ls
  rlx ls 'ppo_*' --env cartpole-v1 --status completed --sort best --limit 5
  rlx ls --where 'algo.gamma>=0.98' --where env=CartPole-v1 --sort -score
  rlx ls --columns name,algo.gamma,score,steps_per_second
  rlx ls --columns name,title,notes
  rlx ls --csv > runs.csv
  rlx ls --json";

/// List runs, newest first
///
/// Columns: name, id, status, env, algo, seeds, steps (of all seeds), return (last
/// training return), score (last evaluation), best (best evaluation),
/// steps_per_second, created, ended, tags, title, notes, and every config key, such
/// as algo.gamma. return, score and best are means over the seeds. Without
/// --columns, a listing of RUN or --tag also shows up to six config keys that differ
/// between the runs.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Ls {
    /// Only show these runs: names, 'ppo_*', tag:TAG, A+B
    #[arg(value_name = "RUN", add = complete::runs())]
    runs: Vec<String>,
    /// Only show runs of this environment
    #[arg(long, value_name = "ID", add = complete::environments())]
    env: Option<String>,
    /// Only show runs with this status
    #[arg(long)]
    status: Option<Status>,
    /// Only show runs with this tag; if repeated, runs with all of the tags
    #[arg(long = "tag", value_name = "TAG", add = complete::tags())]
    tags: Vec<String>,
    /// Only show runs whose name contains this text
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only show runs that fulfil a condition such as 'algo.gamma>=0.99' (= != < <= > >=); if
    /// repeated, runs that fulfil all of them
    #[arg(long = "where", value_name = "CONDITION", add = complete::keys())]
    conditions: Vec<String>,
    /// Sort by a column or config key, descending with -KEY; created, score, best, return and steps
    /// always have the highest first
    #[arg(long, value_name = "KEY", default_value = "created", allow_hyphen_values = true)]
    #[arg(add = complete::sort_keys())]
    sort: String,
    /// Reverse the order
    #[arg(long)]
    reverse: bool,
    /// Show at most N runs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Columns and config keys to show [default: name,status,env,seeds,steps,return,best,created; left
    /// while a run is training]
    #[arg(long, value_name = "KEY", value_delimiter = ',', add = complete::keys())]
    columns: Vec<String>,
    /// Print CSV
    #[arg(long)]
    csv: bool,
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

impl Ls {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        if self.csv && screen.is_json() {
            return Err(Failure::usage("csv_or_json", "--csv and --json can't be combined"));
        }
        let request = self.request(screen.is_json())?;
        let listing = list(context, &request)?;
        if screen.is_json() {
            screen.json(&RunList::new(&listing));
            return Ok(Exit::Yes);
        }
        if self.csv {
            screen.answer(listing.csv());
            warn(screen, &listing);
            return Ok(Exit::Yes);
        }
        if listing.found == 0 {
            self.tell_nothing(screen, &listing);
            return Ok(Exit::Yes);
        }
        screen.answer(rendered(&listing).render("", |header| screen.styled(Style::Heading, header)));
        warn(screen, &listing);
        if listing.runs.len() < listing.found {
            screen.note(&format!("{} of {} runs", listing.runs.len(), listing.found));
        }
        if !listing.more_keys.is_empty() {
            let keys = listing.more_keys.join(", ");
            screen.note(&format!("the runs also differ in {keys}; show them with --columns"));
        }
        Ok(Exit::Yes)
    }

    fn request(&self, with_config: bool) -> Outcome<ListRequest> {
        let filter = RunFilter {
            env: self.env.clone(),
            algo: None,
            status: self.status.map(RunStatus::from),
            tags: self.tags.clone(),
            name: self.name.clone(),
        };
        Ok(ListRequest {
            runs: self.runs.clone(),
            filter,
            conditions: self
                .conditions
                .iter()
                .map(|text| conditions(text))
                .collect::<Outcome<Vec<_>>>()?
                .concat(),
            sort: Sort::parse(&self.sort, self.reverse)?,
            limit: self.limit,
            columns: self.columns.iter().map(|text| Key::parse(text)).collect::<Outcome<_>>()?,
            with_config,
        })
    }

    fn tell_nothing(&self, screen: &Screen, listing: &Listing) {
        if let Some(nothing) = &listing.nothing {
            screen.note(&format!("no run uses the environment {}", nothing.env));
            match &nothing.nearest {
                Some(near) => screen.hint(&format!("did you mean --env {}?", shell_word(near))),
                None if nothing.used.is_empty() => screen.hint("rlx train configs/ppo_cartpole.yaml"),
                None => screen.hint(&format!("environments of the runs here: {}", nothing.used.join(", "))),
            }
            return;
        }
        let is_all = self.env.is_none()
            && self.status.is_none()
            && self.tags.is_empty()
            && self.name.is_none()
            && self.conditions.is_empty();
        screen.note(if is_all { "no runs yet" } else { "no runs match" });
        screen.hint(if is_all { "rlx train configs/ppo_cartpole.yaml" } else { "rlx ls" });
    }
}

fn warn(screen: &Screen, listing: &Listing) {
    for KnownRun { row, .. } in &listing.runs {
        if let Some(problem) = &row.problem {
            screen.warning(&format!("{}: {problem}", row.name));
        }
    }
}

fn rendered(listing: &Listing) -> Table {
    let columns: Vec<Cells> = listing.columns.iter().map(|key| Cells::new(key, &listing.runs)).collect();
    let mut table = Table::new(columns.iter().map(|column| (column.heading.as_str(), column.align)));
    let mut columns: Vec<_> = columns.into_iter().map(|column| column.texts.into_iter()).collect();
    for _ in &listing.runs {
        table.row(columns.iter_mut().filter_map(Iterator::next));
    }
    table
}

/// A column of the table.
struct Cells {
    heading: String,
    align: Align,
    texts: Vec<String>,
}

impl Cells {
    fn new(key: &Key, runs: &[KnownRun]) -> Self {
        let heading = key.name().to_owned();
        match key {
            Key::Column(column) => {
                let texts = runs.iter().map(|run| cell(*column, run)).collect();
                Self { heading, align: align(*column), texts }
            }
            Key::Config(_) => {
                let values: Vec<Value> = runs.iter().map(|run| run.value(key)).collect();
                let is_number = |value: &Value| value.is_number() || value.is_null();
                let align = if values.iter().all(is_number) { Align::Right } else { Align::Left };
                let text = |value: &Value| if value.is_null() { "-".to_owned() } else { shown(value) };
                Self { heading, align, texts: values.iter().map(text).collect() }
            }
        }
    }
}

fn align(column: Column) -> Align {
    match column {
        Column::Seeds
        | Column::Steps
        | Column::Left
        | Column::Return
        | Column::Score
        | Column::Best
        | Column::StepsPerSecond => Align::Right,
        _ => Align::Left,
    }
}

fn cell(column: Column, run: &KnownRun) -> String {
    let row = &run.row;
    let dash = || "-".to_owned();
    match column {
        Column::Name => row.name.clone(),
        Column::Id => row.id.map_or_else(dash, |id| id.to_string().chars().take(12).collect()),
        Column::Status => row.status.to_string(),
        Column::Env => row.env.clone(),
        Column::Algo => row.algo.clone(),
        Column::Seeds => row.seeds.to_string(),
        Column::Steps => steps(row),
        Column::Left => run.left.map_or_else(dash, |left| format::clock(Duration::from_secs(left))),
        Column::Return => format::score_or_dash(row.last_mean_return),
        Column::Score => format::score_or_dash(row.score),
        Column::Best => format::score_or_dash(row.best_eval_mean),
        Column::StepsPerSecond => {
            row.steps_per_second.map_or_else(dash, |speed| format::count(speed.round() as u64))
        }
        Column::Created => format::moment(&row.created),
        Column::Ended => row.ended.as_deref().map_or_else(dash, format::moment),
        Column::Tags => row.tags.join(","),
        Column::Title => row.title.as_deref().map_or_else(dash, shortened),
        Column::Notes => row.notes.iter().map(|note| shortened(note)).collect::<Vec<_>>().join("; "),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// Steps done; with the share of the whole while there is more to do.
fn steps(row: &RunRow) -> String {
    let done = format::count(row.steps);
    if row.status == RunStatus::Completed || row.total_steps == 0 {
        return done;
    }
    format!("{done} ({}%)", row.steps.saturating_mul(100) / row.total_steps)
}
