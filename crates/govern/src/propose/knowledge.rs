//! What is commonly known about a few keys: what a larger or smaller value does, and how a change could be wrong. A key
//! that isn't listed is only a number in a range.

/// Which way a value moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Up,
    Down,
    /// Values without an order
    Other,
}

impl Sign {
    pub(super) fn opposite(self) -> Self {
        match self {
            Sign::Up => Sign::Down,
            Sign::Down => Sign::Up,
            Sign::Other => Sign::Other,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Sign::Up => "up",
            Sign::Down => "down",
            Sign::Other => "other",
        }
    }
}

/// What a step of a key is expected to do.
pub(super) struct Known {
    pub(super) mechanism: &'static str,
    pub(super) wrong: &'static str,
    /// How often such a step is worth a try, compared with others.
    pub(super) rank: u32,
}

struct Rule {
    /// Endings of keys, without separators.
    names: &'static [&'static str],
    rank: u32,
    up: [&'static str; 2],
    down: [&'static str; 2],
}

/// The most important first.
const RULES: [Rule; 7] = [
    Rule {
        names: &["learningrate", "lr", "stepsize"],
        rank: 90,
        up: [
            "larger steps learn more from the same data",
            "updates become unstable: a high divergence between policies or a collapsing score shows that",
        ],
        down: [
            "smaller steps keep updates stable",
            "training becomes too slow for its budget: a score that still rises at the end shows that",
        ],
    },
    Rule {
        names: &["entcoef", "entropycoef", "entropycoefficient", "entropybonus"],
        rank: 80,
        up: [
            "a larger entropy bonus keeps the policy exploring for longer",
            "the policy stays too random to score: an entropy that doesn't fall shows that",
        ],
        down: [
            "a smaller entropy bonus lets the policy commit to what works",
            "the policy stops exploring too early: an early collapse of the entropy shows that",
        ],
    },
    Rule {
        names: &["clip", "cliprange", "clipcoef", "clipratio"],
        rank: 70,
        up: [
            "a wider clip range lets each batch change the policy more",
            "updates become unstable: a high divergence between policies shows that",
        ],
        down: [
            "a narrower clip range keeps each update close to the old policy",
            "training becomes too slow for its budget",
        ],
    },
    Rule {
        names: &["nepochs", "epochs", "updateepochs", "numepochs"],
        rank: 60,
        up: [
            "more passes over each batch use its samples better",
            "the policy overfits each batch: a rising divergence between policies shows that",
        ],
        down: [
            "fewer passes over each batch keep the policy from overfitting it",
            "samples are used less well, and learning slows down",
        ],
    },
    Rule {
        names: &["batchsize", "minibatchsize", "nsteps", "rolloutlength", "numsteps", "samplesperbatch"],
        rank: 50,
        up: [
            "larger batches make gradients less noisy",
            "fewer updates fit into the same number of samples, so learning slows down",
        ],
        down: ["smaller batches allow more updates with the same samples", "gradients become too noisy"],
    },
    Rule {
        names: &["gamma", "discount"],
        rank: 40,
        up: [
            "a longer horizon credits actions whose effect comes late",
            "returns become noisier, and the value function harder to learn",
        ],
        down: [
            "a shorter horizon makes returns less noisy",
            "actions whose effect comes late are no longer credited",
        ],
    },
    Rule {
        names: &["iterations", "totalsteps", "totaltimesteps", "maxiterations"],
        rank: 5,
        up: [
            "longer training continues to improve",
            "it may hit the time limit of a run, or only cost more for the same score",
        ],
        down: ["shorter training stops before the policy degrades", "the policy is not trained enough"],
    },
];

const UNKNOWN: Known = Known {
    mechanism: "its best value is unknown, and this one is within the agreed range",
    wrong: "the present value may already be the best one, or the effect may be too small to be seen",
    rank: 20,
};

pub(super) fn known(key: &str, sign: Sign) -> Known {
    let Some(rule) = rule_of(key) else { return UNKNOWN };
    let [mechanism, wrong] = match sign {
        Sign::Up => rule.up,
        Sign::Down => rule.down,
        Sign::Other => return UNKNOWN,
    };
    Known { mechanism, wrong, rank: rule.rank }
}

/// Whether a key sets how far an update goes.
pub(super) fn drives_updates(key: &str) -> bool {
    rule_of(key).is_some_and(|rule| rule.rank == 90)
}

/// Whether a key sets how much a policy explores.
pub(super) fn drives_exploration(key: &str) -> bool {
    rule_of(key).is_some_and(|rule| rule.rank == 80)
}

fn rule_of(key: &str) -> Option<&'static Rule> {
    let last = key.rsplit('.').next().unwrap_or(key);
    let plain: String =
        last.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    RULES.iter().find(|rule| rule.names.contains(&plain.as_str()))
}
