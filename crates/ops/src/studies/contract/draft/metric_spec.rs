//! The draft of `metric_spec.yaml`.

use rlxp_govern::documents::{Direction, Extractor};

use super::yaml::{extractor, number, plain, put, scalar};
use super::{Draft, METRIC, first};
use crate::studies::contract::ask::Ask;

impl Draft<'_> {
    pub(super) fn metric_spec(&self) -> String {
        let mut text = format!(
            "# What is measured in {}, and how two results may be compared.\nschema: rlxp.metric_spec/1\n\n",
            self.name
        );
        let open = |ask: Ask| match self.answers.given(ask) {
            Some(_) => String::new(),
            None => format!("  # {}", self.answers.open_text(ask)),
        };
        let direction = first(&self.typed.direction).unwrap_or(Direction::Higher);
        let source = self.typed.metric_source.first().cloned().unwrap_or_else(|| Extractor::Json {
            file: self.answers.open_text(Ask::MetricSource),
            pointer: "/TODO".to_owned(),
        });
        put(
            &mut text,
            format_args!(
                "# The primary metric. It is read from evaluation files, never from training.\nprimary:\n  name: {}{}\n",
                self.metric(),
                open(Ask::Metric)
            ),
        );
        put(&mut text, format_args!("  source: {}\n", extractor(&source)));
        put(
            &mut text,
            format_args!(
                "  direction: {}{}\n  aggregation: mean\n\n",
                plain(&direction),
                open(Ask::Direction)
            ),
        );
        let guardrails = &self.typed.guardrails;
        if guardrails.is_empty() {
            text.push_str("# What must not get worse.\nguardrails: []\n\n");
        } else {
            text.push_str("# What must not get worse, and the allowed regression.\nguardrails:\n");
            for guardrail in guardrails {
                let metric = &guardrail.metric;
                put(
                    &mut text,
                    format_args!(
                        "  - metric:\n      name: {}\n      source: {}\n      direction: {}\n      aggregation: mean\n    allowed_regression: {}\n",
                        metric.name,
                        extractor(&metric.source),
                        plain(&metric.direction),
                        number(guardrail.allowed_regression)
                    ),
                );
            }
            text.push('\n');
        }
        let failure = first(&self.typed.failure_score).unwrap_or(0.0);
        let missing = self.missing(&METRIC);
        let (effect, effect_open) = match first(&self.typed.smallest_effect) {
            Some(effect) if missing.is_empty() => (effect, String::new()),
            // Zero counts as incomplete, so a metric with an unanswered part can't be approved.
            Some(effect) => (
                0.0,
                format!("  # TODO: {}, once these are answered: {}", number(effect), missing.join(", ")),
            ),
            None => (0.0, open(Ask::SmallestEffect)),
        };
        put(
            &mut text,
            format_args!(
                "# The score of a failed run, so that failing is never an advantage.\nfailure_score: {}{}\n",
                number(failure),
                open(Ask::FailureScore)
            ),
        );
        put(
            &mut text,
            format_args!(
                "# The smallest difference in the primary metric that matters.\nsmallest_effect: {}{}\n\n",
                number(effect),
                effect_open
            ),
        );
        let (episodes, deterministic, checkpoint) = self.protocol();
        let environments = scalar(&self.sentence(&self.typed.environments, Ask::Environments));
        put(
            &mut text,
            format_args!(
                "# Two results are compared only when all of this is the same.\nprotocol:\n  episodes: {episodes}\n  deterministic: {deterministic}\n  checkpoint: {}\n  environments: {environments}\n",
                plain(&checkpoint)
            ),
        );
        text.push_str(
            "  # Confirm, audit and evaluation seeds are drawn when they are needed; no range may share a seed with another.\n  \
             seeds:\n    screen: {from: 1, to: 999}\n    confirm: {from: 1000, to: 999999}\n    \
             audit: {from: 1000000, to: 1999999}\n    evaluation: {from: 2000000, to: 2999999}\n",
        );
        text
    }
}
