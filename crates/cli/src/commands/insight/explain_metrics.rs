//! `rlx explain-metrics`

use clap::Args;
use rlxp_ops::insight::explain::{Direction, ExplainReport, ExplainRequest, Explained, explain};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::one_line;

use crate::complete;
use crate::format;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx explain-metrics @last
  rlx explain-metrics @last entropy approx_kl eval/mean_return
  rlx explain-metrics                  # the dictionary: every metric, without a run
  rlx explain-metrics explained_variance
  rlx explain-metrics @last --json";

/// Explain logged metrics, in general or for a run
///
/// For each metric: what it is, why it matters, what is healthy with this config,
/// and what the run's values mean. Without a run, shows the general dictionary
/// entries.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
#[command(override_usage = "rlx explain-metrics [OPTIONS] [RUN] [METRIC]...")]
pub(crate) struct ExplainMetrics {
    /// A run, then metrics: NAME or KIND/NAME, such as entropy or eval/mean_return
    #[arg(value_name = "RUN|METRIC", add = complete::runs())]
    words: Vec<String>,
}

impl ExplainMetrics {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = explain(context, &ExplainRequest { words: self.words.clone() })?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let asked = self.words.len() > usize::from(report.run.is_some());
        screen.answer(text(screen, &report, asked));
        for note in &report.notes {
            screen.warning(note);
        }
        if report.run.is_none() && !asked {
            screen.hint("rlx explain-metrics @last");
        }
        Ok(Exit::Yes)
    }
}

fn text(screen: &Screen, report: &ExplainReport, asked: bool) -> String {
    let mut text = match (&report.run, &report.here) {
        (Some(run), Some(here)) => format!(
            "{} on {}: {}\n",
            screen.styled(Style::Heading, run),
            one_line(&here.env),
            format::seeds_and_steps(report.seeds.len(), here.total_steps)
        ),
        _ => String::new(),
    };
    // Many inputs times four numbers each: a table says it better, unless they were asked for.
    let is_input = |metric: &Explained| metric.entry.is_some_and(|entry| entry.name.ends_with('*'));
    let in_table = report.run.is_some() && !asked;
    for metric in report.metrics.iter().filter(|metric| !in_table || !is_input(metric)) {
        text.push('\n');
        text.push_str(&explained(screen, metric));
    }
    let inputs: Vec<&Explained> =
        report.metrics.iter().filter(|metric| in_table && is_input(metric)).collect();
    if !inputs.is_empty() {
        text.push_str(&format!("\n{}\n", screen.styled(Style::Heading, "observations")));
        text.push_str(&paragraph(
            "Each observation dimension at the end of training, before normalisation; `rlx \
             explain-metrics RUN std_0` explains one.",
            2,
            "",
        ));
        text.push_str(&input_table(screen, report, &inputs));
    }
    if report.metrics.is_empty() {
        text.push_str("no metrics logged yet\n");
    }
    text
}

fn explained(screen: &Screen, metric: &Explained) -> String {
    let full = format!("{}/{}", metric.kind, metric.name);
    let Some(entry) = metric.entry else {
        return format!("{}\n  is not in the dictionary\n", screen.styled(Style::Heading, &full));
    };
    let direction = match entry.direction {
        Direction::Higher => ", higher is better",
        Direction::Lower => ", lower is better",
        Direction::Neither => "",
    };
    let mut text =
        format!("{}: {} [{}{direction}]\n", screen.styled(Style::Heading, &full), entry.title, entry.unit);
    let present = entry.present.as_ref().map_or(String::new(), |when| format!(" Logged when {when}."));
    text.push_str(&paragraph(&format!("{}.{present}", entry.formula), 2, "what     "));
    text.push_str(&paragraph(&entry.why, 2, "why      "));
    let healthy = metric.expected.as_ref().map_or(entry.healthy.as_str(), |expected| &expected.text);
    text.push_str(&paragraph(healthy, 2, "healthy  "));
    if let Some(reading) = &metric.reading {
        let told: Vec<&str> = reading.statements.iter().map(|statement| statement.text.as_str()).collect();
        text.push_str(&paragraph(&told.join(" "), 2, "here     "));
    } else {
        text.push_str(&paragraph(&format!("{}.", entry.high), 2, "high     "));
        text.push_str(&paragraph(&format!("{}.", entry.low), 2, "low      "));
    }
    text
}

/// One row per number of the observation.
fn input_table(screen: &Screen, report: &ExplainReport, inputs: &[&Explained]) -> String {
    let stems = ["mean", "std", "min", "max", "clipped"];
    let has = |stem: &str| inputs.iter().any(|metric| metric.name.starts_with(&format!("{stem}_")));
    let stems: Vec<&str> = stems.into_iter().filter(|stem| has(stem)).collect();
    let columns = [("", Align::Right), ("input", Align::Left)];
    let columns = columns.into_iter().chain(stems.iter().map(|stem| (*stem, Align::Right)));
    let mut table = Table::new(columns.chain([("", Align::Left)]));
    let dimensions =
        inputs.iter().filter_map(|metric| metric.entry?.dimension(&metric.name)).max().unwrap_or(0);
    let names = report.here.as_ref().map_or(&[][..], |here| &here.observations);
    for dimension in 0..=dimensions {
        let of = |stem: &str| inputs.iter().find(|metric| metric.name == format!("{stem}_{dimension}"));
        let end = |stem: &&str| {
            let glance = of(stem).and_then(|metric| metric.reading.as_ref()?.glance);
            format::score_or_dash(glance.map(|glance| glance.end))
        };
        let odd = stems.iter().filter(|stem| {
            let inside = of(stem).and_then(|metric| metric.reading.as_ref()?.inside);
            inside.is_some_and(|inside| inside < 1.0)
        });
        let odd: Vec<&str> = odd.copied().collect();
        let note = if odd.is_empty() { String::new() } else { format!("check {}", odd.join(", ")) };
        let name = names.get(dimension).cloned().unwrap_or_default();
        let cells = [dimension.to_string(), name].into_iter().chain(stems.iter().map(end));
        table.row(cells.chain([note]));
    }
    table.render("  ", |header| screen.styled(Style::Dim, header))
}
