//! From what a rule's code finds in every seed to the rule's one answer about
//! the run: scope, excuses, and the seeds put together.

use super::check::{Check, Found, Hit, Missing, SeedView};
use super::checks::{self, Code};
use super::evidence::Actions;
use super::next;
use super::outcome::{Answer, Considered, Finding, Severity};
use super::rules::{ActionKind, Condition, Effect, Excuse};

/// Most numbers that one finding cites.
const MOST_CITATIONS: usize = 20;

/// A rule's answer, and the seeds in which it is a problem.
pub(super) struct RuleAnswer {
    pub(super) answer: Answer,
    pub(super) seeds: Vec<u64>,
}

impl From<Answer> for RuleAnswer {
    fn from(answer: Answer) -> Self {
        Self { answer, seeds: Vec::new() }
    }
}

pub(super) fn answer(check: &Check<'_>, seeds: &[SeedView<'_>]) -> RuleAnswer {
    if let Some(why) = out_of_scope(check) {
        return Answer::DoesNotApply { why }.into();
    }
    if seeds.is_empty() {
        return Answer::NotEnoughData { lacking: "the run has no seeds".to_owned() }.into();
    }
    match checks::find(&check.rule.id).expect("validated rules have code") {
        Code::Seed(code) => {
            let found: Vec<(&SeedView<'_>, Found)> =
                seeds.iter().map(|seed| (seed, code(check, seed))).collect();
            over_seeds(check, found)
        }
        Code::Run(code) => match code(check, seeds) {
            Err(missing) => Answer::from(missing).into(),
            Ok(hits) => match worst(hits) {
                None => Answer::Clear { note: None }.into(),
                Some(hit) => {
                    let considered = spoken_exclusions(check);
                    let answer = finding(check, hit, None, (seeds.len(), seeds.len()), considered);
                    RuleAnswer { answer, seeds: seeds.iter().map(|seed| seed.data.seed).collect() }
                }
            },
        },
    }
}

impl From<Missing> for Answer {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Data(lacking) => Answer::NotEnoughData { lacking },
            Missing::Scope(why) => Answer::DoesNotApply { why },
        }
    }
}

/// Why a run of this kind is not judged by the rule, if it isn't.
fn out_of_scope(check: &Check<'_>) -> Option<String> {
    let (scope, evidence) = (&check.rule.applies_to, check.evidence);
    let algorithm = &evidence.settings.algorithm;
    if !scope.algorithms.is_empty() && !scope.algorithms.contains(algorithm) {
        return Some(format!("the algorithm is {algorithm}"));
    }
    let has_choice = match evidence.environment.actions {
        Some(Actions::Discrete { most_entropy }) => most_entropy > 0.0,
        _ => true,
    };
    if scope.choice && !has_choice {
        return Some("the environment has only one action".to_owned());
    }
    match (scope.actions, evidence.environment.actions) {
        (Some(ActionKind::Discrete), Some(Actions::Continuous)) => Some("continuous action space".to_owned()),
        (Some(ActionKind::Continuous), Some(Actions::Discrete { .. })) => {
            Some("discrete action space".to_owned())
        }
        _ if scope.real_observations && evidence.environment.real_observations == Some(false) => {
            Some("discrete observation space".to_owned())
        }
        _ => None,
    }
}

/// A seed's hits after its excuses are applied.
enum Heard {
    Hit(Hit),
    Excused(String),
    Nothing,
}

/// One answer from those of all seeds.
fn over_seeds(check: &Check<'_>, found: Vec<(&SeedView<'_>, Found)>) -> RuleAnswer {
    let (mut hits, mut excused, mut missing) = (Vec::new(), None, None);
    let mut judged = 0;
    for (seed, found) in found {
        match found {
            Err(why) => {
                // Missing data is more informative than a rule that does not apply.
                if !matches!((&missing, &why), (Some(Missing::Data(_)), _) | (Some(_), Missing::Scope(_))) {
                    missing = Some(why);
                }
            }
            Ok(all) => {
                judged += 1;
                match heard(check, seed, all) {
                    Heard::Hit(hit) => hits.push((seed, hit)),
                    Heard::Excused(note) => excused = excused.or(Some(note)),
                    Heard::Nothing => {}
                }
            }
        }
    }
    if hits.is_empty() {
        return match missing {
            Some(missing) if judged == 0 => Answer::from(missing).into(),
            _ => Answer::Clear { note: excused }.into(),
        };
    }
    // A seed that does well says nothing about one that doesn't.
    if hits.iter().any(|(_, hit)| !hit.fine) {
        hits.retain(|(_, hit)| !hit.fine);
    }
    let at_least = |severity: Severity| hits.iter().filter(|(_, hit)| hit.severity >= severity).count();
    let most = |count: usize| 2 * count > judged;
    let event = hits.iter().filter(|(_, hit)| hit.event).map(|(_, hit)| hit.severity).max();
    let shown = [Severity::Error, Severity::Warning].into_iter().find(|severity| most(at_least(*severity)));
    let severity = event.max(shown).unwrap_or(Severity::Info);
    let kinds: Vec<(u64, &str)> = hits.iter().map(|(seed, hit)| (seed.data.seed, hit.kind)).collect();
    // Report the clearest of the seeds that are as severe as the answer.
    let (seed, mut hit) = hits
        .into_iter()
        .max_by(|(a, x), (b, y)| {
            let key = |hit: &Hit| (hit.severity >= severity, hit.strength);
            let ((fits, strength), (other_fits, other)) = (key(x), key(y));
            fits.cmp(&other_fits).then(strength.total_cmp(&other)).then(b.data.seed.cmp(&a.data.seed))
        })
        .expect("hits is not empty");
    hit.severity = severity;
    let alike: Vec<u64> =
        kinds.into_iter().filter(|(_, kind)| *kind == hit.kind).map(|(seed, _)| seed).collect();
    let mut considered: Vec<Considered> = check
        .rule
        .excuses
        .iter()
        .map(|excuse| Considered {
            exclusion: words(excuse),
            holds: if hit.excusable { seed.reading.holds(excuse.when) } else { None },
        })
        .collect();
    considered.extend(spoken_exclusions(check));
    let several = check.evidence.seeds.len() > 1;
    let seeds = if hit.fine || !hit.explains { Vec::new() } else { alike.clone() };
    let answer = finding(check, hit, several.then_some(seed.data.seed), (alike.len(), judged), considered);
    RuleAnswer { answer, seeds }
}

/// Applies the rule's excuses to each hit, and keeps the worst that is left.
fn heard(check: &Check<'_>, seed: &SeedView<'_>, hits: Vec<Hit>) -> Heard {
    let (mut left, mut note) = (Vec::new(), None);
    for mut hit in hits {
        let excuses =
            check.rule.excuses.iter().filter(|excuse| seed.reading.holds(excuse.when) == Some(true));
        let mut silenced = false;
        for excuse in excuses.filter(|_| hit.excusable) {
            match excuse.then {
                Effect::Silence => silenced = true,
                Effect::Info => hit.severity = hit.severity.min(Severity::Info),
                Effect::Warning => hit.severity = hit.severity.min(Severity::Warning),
            }
        }
        if silenced {
            note = note.or(Some(format!("{}; ignored because the return is fine", hit.sentence)));
        } else {
            left.push(hit);
        }
    }
    match (worst(left), note) {
        (Some(hit), _) => Heard::Hit(hit),
        (None, Some(note)) => Heard::Excused(note),
        (None, None) => Heard::Nothing,
    }
}

/// The most severe, then strongest hit; it takes the numbers of the others along.
fn worst(hits: Vec<Hit>) -> Option<Hit> {
    let mut hits = hits;
    hits.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.strength.total_cmp(&a.strength)));
    let event = hits.iter().any(|hit| hit.event && hit.severity == hits[0].severity);
    let mut hits = hits.into_iter();
    let mut first = hits.next()?;
    first.event = event;
    for other in hits {
        first.citations.extend(other.citations);
    }
    first.citations.truncate(MOST_CITATIONS);
    Some(first)
}

fn words(excuse: &Excuse) -> String {
    let when = match excuse.when {
        Condition::AtTarget => "the return reaches its target",
        Condition::Improved => "the return is well above the untrained baseline and near its best",
        Condition::ImprovedWithoutTarget => {
            "the return is well above the untrained baseline and near its best, and no target is known"
        }
        Condition::Improving => "the return is still rising",
    };
    let then = match excuse.then {
        Effect::Silence => "this is not reported",
        Effect::Info => "this is reported as info",
        Effect::Warning => "this is reported as a warning at most",
    };
    format!("if {when}, {then}")
}

fn spoken_exclusions(check: &Check<'_>) -> Vec<Considered> {
    let spoken = check.rule.exclusions.iter();
    spoken.map(|exclusion| Considered { exclusion: exclusion.clone(), holds: None }).collect()
}

fn finding(
    check: &Check<'_>,
    hit: Hit,
    seed: Option<u64>,
    (showing, judged): (usize, usize),
    exclusions: Vec<Considered>,
) -> Answer {
    let mut sentence = hit.sentence;
    if let Some(seed) = seed {
        sentence.push_str(&format!(" (seed {seed}; {showing} of {judged} seeds)"));
    }
    Answer::Finding(Box::new(Finding {
        rank: 0,
        severity: hit.severity,
        sentence,
        meaning: hit.meaning.map_or_else(|| check.rule.meaning.clone(), str::to_owned),
        seeds_showing: showing,
        seeds_judged: judged,
        next: next::command(&check.rule.next, &check.evidence.words, hit.citations.first(), check.rules),
        evidence: hit.citations,
        exclusions,
        explained_by: Vec::new(),
        strength: hit.strength,
        keys: hit.keys,
        suggestions: if hit.fine { Vec::new() } else { check.rule.suggestions.clone() },
    }))
}
