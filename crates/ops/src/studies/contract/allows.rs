//! What each approval allows, for the person who gives it.

use rlxp_govern::section::{Section, Target};

pub(crate) fn allows(target: &Target) -> &'static str {
    match target {
        Target::Section(Section::Task) => "states the goal of the study; every other approval depends on it",
        Target::Section(Section::Metrics) => "judges results by these metrics and guardrails only",
        Target::Section(Section::Scope) => {
            "allows candidates to change these files and keys within their ranges, and nothing else"
        }
        Target::Section(Section::Budget) => {
            "allows runs to use up to these amounts, and stops by these rules"
        }
        Target::Section(Section::Hardware) => {
            "allows runs to use this device and network, with at least this sandboxing"
        }
        Target::Section(Section::Baseline) => {
            "compares everything with this baseline, trained with these commands"
        }
        Target::Section(Section::Evaluation) => "evaluates and judges results in this way only",
        Target::Section(Section::Experiment) => {
            "sets what is tried and who starts it; in autonomous mode, everything within the envelope"
        }
        Target::Section(Section::Plan) => "allows candidates to be proposed and validated; starts nothing",
        Target::Section(Section::Execute) => {
            "allows validated and approved candidates to run within the budget"
        }
        Target::Section(Section::LoopEntry) => {
            "from now on only rlx starts runs in this folder, until the study is closed"
        }
        Target::Candidate(_) => "allows this candidate, exactly as it is, to run where running is allowed",
        Target::Run(_) => "lets this run count as evidence, although rlx can't vouch for it",
        Target::Close => "allows the study to be closed; after that, this folder is no longer governed",
    }
}
