//! `rlx envs`

use clap::Args;
use rlxp_ops::Outcome;
use rlxp_ops::below::{Dtype, Space};
use rlxp_ops::reports::Environments;
use rlxp_ops::training::envs::{EnvRow, list};
use rlxp_types::Exit;

use crate::format;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx envs
  rlx envs FrozenLake-v1";

/// List environments, or show one
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Envs {
    /// Show only this environment and its keyword arguments
    id: Option<String>,
}

impl Envs {
    pub(crate) fn run(&self, screen: &Screen) -> Outcome<Exit> {
        let rows = list(self.id.as_deref())?;
        if screen.is_json() {
            screen.json(&Environments { environments: &rows });
        } else if self.id.is_some() {
            rows.iter().for_each(|row| screen.answer(one(screen, row)));
        } else {
            screen.answer(all(screen, &rows));
        }
        Ok(Exit::Yes)
    }
}

fn all(screen: &Screen, rows: &[EnvRow]) -> String {
    let mut table = Table::new([
        ("id", Align::Left),
        ("observation", Align::Left),
        ("action", Align::Left),
        ("max steps", Align::Right),
        ("solved at", Align::Right),
        ("summary", Align::Left),
    ]);
    for row in rows {
        table.row([
            row.id.to_owned(),
            space(&row.observation_space),
            space(&row.action_space),
            row.max_episode_steps.map_or("-".to_owned(), |steps| steps.to_string()),
            row.reward_threshold.map_or("-".to_owned(), format::score),
            row.summary.to_owned(),
        ]);
    }
    table.render("", |header| screen.styled(Style::Heading, header))
}

fn one(screen: &Screen, row: &EnvRow) -> String {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let lines = [
        ("aliases", or_dash((!row.aliases.is_empty()).then(|| row.aliases.join(", ")))),
        ("observation", space(&row.observation_space)),
        ("action", space(&row.action_space)),
        ("max steps", or_dash(row.max_episode_steps.map(|steps| steps.to_string()))),
        ("solved at", or_dash(row.reward_threshold.map(format::score))),
        ("stochastic", if row.stochastic { "yes" } else { "no" }.to_owned()),
        ("starter config", or_dash(row.starter.map(|name| format!("configs/{name}")))),
    ];
    let mut text = format!("{}: {}\n", screen.styled(Style::Heading, row.id), row.summary);
    for (name, value) in lines {
        text.push_str(&format!("  {name:<16}{value}\n"));
    }
    for kwarg in &row.kwargs {
        text.push_str(&format!(
            "  env.kwargs.{} (default {}): {}\n",
            kwarg.name, kwarg.default, kwarg.meaning
        ));
    }
    text
}

/// A space as Gymnasium writes it.
fn space(space: &Space) -> String {
    match space {
        Space::Discrete { n } => format!("Discrete({n})"),
        Space::MultiDiscrete { nvec } => format!("MultiDiscrete({nvec:?})"),
        Space::MultiBinary { n } => format!("MultiBinary({n})"),
        Space::Box { shape, dtype, .. } => {
            let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let kind = if *dtype == Dtype::Float32 { String::new() } else { format!(", {}", dtype.name()) };
            format!("Box({}{kind})", axes.join("x"))
        }
    }
}
