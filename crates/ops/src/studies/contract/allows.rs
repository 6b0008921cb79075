//! What each approval allows, for the person who gives it.

use rlxp_govern::section::{Section, Target};

/// What an approval allows, in words.
pub(crate) fn allows(target: &Target) -> &'static str {
    match target {
        Target::Section(Section::Task) => "says what the study is for; every other approval builds on it",
        Target::Section(Section::Metrics) => "decides by these metrics and guardrails, and no others",
        Target::Section(Section::Scope) => {
            "lets candidates change these files and keys within their ranges, and nothing else"
        }
        Target::Section(Section::Budget) => "lets runs spend up to these amounts, and stops at these rules",
        Target::Section(Section::Hardware) => {
            "lets runs use this device and this network, confined at least this much"
        }
        Target::Section(Section::Baseline) => "compares everything with this, and trains by these commands",
        Target::Section(Section::Evaluation) => "evaluates and judges in this way, and in no other",
        Target::Section(Section::Experiment) => {
            "agrees what is tried and who starts it; in autonomous mode everything within the envelope"
        }
        Target::Section(Section::Plan) => "lets candidates be proposed and validated; starts nothing",
        Target::Section(Section::Execute) => "lets validated and agreed candidates be run within the budget",
        Target::Section(Section::LoopEntry) => {
            "from here on rlx alone starts runs in this folder, until the study is closed"
        }
        Target::Candidate(_) => "lets this candidate, exactly as it stands, be run where running is allowed",
        Target::Close => "lets the study be closed, after which nothing governs this folder any more",
    }
}
