//! The formulas of the rules, by what they look at. Thresholds are data; this
//! table maps rules to their code.

mod curve;
mod environment;
mod evaluation;
mod exploration;
mod network;
mod numbers;
mod record;
mod reward;
mod seeds;
mod settings;
mod unusual;
mod update;
mod value;

use super::check::{Check, Found, SeedView};

/// How a rule is evaluated.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    Seed(fn(&Check<'_>, &SeedView<'_>) -> Found),
    /// Over all seeds at once.
    Run(fn(&Check<'_>, &[SeedView<'_>]) -> Found),
}

/// The code of a rule.
pub(crate) fn find(id: &str) -> Option<Code> {
    use Code::{Run, Seed};
    Some(match id {
        "F01" => Seed(numbers::not_finite),
        "F02" => Seed(numbers::spike),
        "F03" => Seed(update::kl_high),
        "F04" => Seed(update::kl_zero),
        "F05" => Seed(update::epochs_cut),
        "F06" => Seed(update::clipping),
        "F07" => Seed(update::step_size_pinned),
        "F08" => Seed(exploration::collapsed),
        "F09" => Seed(exploration::stuck),
        "F10" => Seed(exploration::deviation_grows),
        "F11" => Seed(value::explained_variance),
        "F12" => Seed(value::scale),
        "F13" => Seed(value::explosion),
        "F14" => Seed(update::gradients),
        "F15" => Seed(network::dormant),
        "F16" => Seed(curve::plateau),
        "F17" => Seed(curve::collapse),
        "F18" => Seed(curve::unstable),
        "F19" => Seed(reward::hacking),
        "F20" => Seed(reward::dominated),
        "F21" => Seed(reward::constant),
        "F22" => Seed(reward::saturated),
        "F23" => Seed(reward::no_signal),
        "F24" => Seed(curve::below_baseline),
        "F25" => Seed(network::observation_scale),
        "F26" => Seed(network::observation_fixed),
        "F27" => Seed(exploration::saturated),
        "F28" => Seed(environment::truncation),
        "F29" => Seed(environment::suicide),
        "F30" => Seed(environment::stuck),
        "F31" => Seed(evaluation::modes_differ),
        "F32" => Seed(evaluation::after_resume),
        "F33" => Run(seeds::spread),
        "F34" => Seed(evaluation::reused_seeds),
        "F35" => Seed(evaluation::chosen_by_luck),
        "F36" => Seed(record::slower),
        "F37" => Seed(environment::in_step),
        "F38" => Seed(record::stale),
        "F39" => Run(seeds::duplicates),
        "F40" => Seed(environment::not_randomized),
        "F41" => Seed(record::lost),
        "F42" => Seed(environment::curriculum),
        "F43" => Seed(settings::sign),
        "F44" => Seed(settings::discount),
        "F45" => Seed(settings::no_value),
        "F46" => Seed(settings::narrow),
        "F47" => Seed(settings::wrapper),
        "F48" => Seed(unusual::unusual),
        "F49" => Seed(unusual::few_updates),
        _ => return None,
    })
}
