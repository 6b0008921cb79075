//! The grammar of a word that names runs, without looking at any run.
//!
//! ```text
//! word   := term ("+" term)*              several runs as one group
//! term   := base [":" SEED] [":" CHECKPOINT]
//! base   := "tag:" TAG | "where:" CONDITIONS | "@last" ["~" N] | "@best:" ENV | NAME
//! ```
//!
//! `CHECKPOINT` is `best`, `latest` or `step_N`. `NAME` is a run's name, id, a prefix of either, a folder, or a pattern
//! with `*` and `?`. `where:` takes the rest of the word, as a value may contain any character.

use super::condition::{Condition, conditions};
use crate::failure::{Failure, Outcome};

/// One part of a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub(super) base: Base,
    pub(super) part: Part,
}

/// What names the runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Base {
    Tag(String),
    Where(Vec<Condition>),
    /// The newest run, or the one this many before it.
    Last(usize),
    /// The run with the best evaluation in an environment.
    Best(String),
    Pattern(String),
    /// A name, id, prefix or folder.
    Name(String),
}

/// The part of a run that is meant; the whole run without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) seed: Option<u64>,
    pub(crate) checkpoint: Option<Which>,
}

/// A checkpoint of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Best,
    Latest,
    Step(u64),
}

impl Which {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            rlxp_store::BEST => Some(Self::Best),
            rlxp_store::LATEST => Some(Self::Latest),
            other => other.strip_prefix("step_")?.parse().ok().map(Self::Step),
        }
    }
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Best => f.write_str(rlxp_store::BEST),
            Self::Latest => f.write_str(rlxp_store::LATEST),
            Self::Step(step) => write!(f, "step_{step}"),
        }
    }
}

/// The terms of a word.
pub(super) fn terms(word: &str) -> Outcome<Vec<Term>> {
    let mut rest = word;
    let mut terms = Vec::new();
    loop {
        if let Some(text) = rest.strip_prefix("where:") {
            terms.push(Term { base: Base::Where(conditions(text)?), part: Part::default() });
            return Ok(terms);
        }
        let (text, more) = rest.split_once('+').map_or((rest, None), |(text, more)| (text, Some(more)));
        if text.is_empty() {
            let message = format!("{word:?} has an empty part: expected RUN+RUN");
            return Err(Failure::usage("bad_selector", message).hint("rlx ls"));
        }
        terms.push(term(text)?);
        match more {
            Some(more) => rest = more,
            None => return Ok(terms),
        }
    }
}

/// A term: its base without the seed and the checkpoint at its end.
pub(super) fn term(text: &str) -> Outcome<Term> {
    let (text, checkpoint) = split_end(text, Which::parse);
    let seed =
        |end: &str| if end.bytes().all(|byte| byte.is_ascii_digit()) { end.parse().ok() } else { None };
    let (text, seed) = split_end(text, seed);
    Ok(Term { base: base(text)?, part: Part { seed, checkpoint } })
}

/// Splits `:END` off, unless what is left would be a mere `tag` or `@best`.
fn split_end<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> (&str, Option<T>) {
    match text.rsplit_once(':') {
        Some((rest, end)) if !matches!(rest, "" | "tag" | "@best") => {
            parse(end).map_or((text, None), |end| (rest, Some(end)))
        }
        _ => (text, None),
    }
}

fn base(text: &str) -> Outcome<Base> {
    if let Some(tag) = text.strip_prefix("tag:") {
        return Ok(Base::Tag(tag.to_owned()));
    }
    if let Some(special) = text.strip_prefix('@') {
        return special_base(text, special);
    }
    let is_pattern = text.contains(['*', '?']);
    Ok(if is_pattern { Base::Pattern(text.to_owned()) } else { Base::Name(text.to_owned()) })
}

fn special_base(text: &str, special: &str) -> Outcome<Base> {
    if special == "last" {
        return Ok(Base::Last(0));
    }
    if let Some(back) = special.strip_prefix("last~") {
        let back = back.parse().map_err(|_| {
            let message = format!("{text:?}: expected a number after @last~");
            Failure::usage("bad_selector", message).hint("@last~1 is the run before the newest")
        })?;
        return Ok(Base::Last(back));
    }
    match special.strip_prefix("best:") {
        Some(env) if !env.is_empty() => Ok(Base::Best(env.to_owned())),
        _ => Err(Failure::usage("bad_selector", format!("{text:?} does not name a run"))
            .hint("expected @last, @last~N or @best:ENV")),
    }
}

/// Whether `name` matches a pattern in which `*` is any text and `?` any character.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star is, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(one) if *one == '?' || *one == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|one| *one == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(word: &str) -> Vec<(Base, Option<u64>, Option<Which>)> {
        let all = terms(word).unwrap();
        all.into_iter().map(|term| (term.base, term.part.seed, term.part.checkpoint)).collect()
    }

    fn name(text: &str) -> Base {
        Base::Name(text.to_owned())
    }

    #[test]
    fn runs_seeds_and_checkpoints() {
        assert_eq!(parsed("a_001"), [(name("a_001"), None, None)]);
        assert_eq!(parsed("a_001:3"), [(name("a_001"), Some(3), None)]);
        assert_eq!(parsed("a_001:latest"), [(name("a_001"), None, Some(Which::Latest))]);
        assert_eq!(parsed("a_001:3:step_512"), [(name("a_001"), Some(3), Some(Which::Step(512)))]);
        assert_eq!(parsed("a:+1"), [(name("a:"), None, None), (name("1"), None, None)]);
        assert_eq!(parsed("a:x"), [(name("a:x"), None, None)]);
    }

    #[test]
    fn groups_of_anything() {
        let tag = |text: &str| Base::Tag(text.to_owned());
        assert_eq!(parsed("a+tag:b"), [(name("a"), None, None), (tag("b"), None, None)]);
        assert_eq!(parsed("tag:7"), [(tag("7"), None, None)]);
        assert_eq!(parsed("tag:x:7:best"), [(tag("x"), Some(7), Some(Which::Best))]);
        assert_eq!(parsed("@last~2+@last"), [(Base::Last(2), None, None), (Base::Last(0), None, None)]);
        let best = Base::Best("CartPole-v1".to_owned());
        assert_eq!(parsed("@best:CartPole-v1:0"), [(best, Some(0), None)]);
        assert_eq!(parsed("ppo_*"), [(Base::Pattern("ppo_*".to_owned()), None, None)]);
    }

    #[test]
    fn a_filter_takes_the_rest_of_the_word() {
        let [(first, ..), (Base::Where(found), ..)] = &parsed("a+where:algo.learning_rate<1e+5")[..] else {
            panic!("two terms")
        };
        assert_eq!((first, found.len()), (&name("a"), 1));
    }

    #[test]
    fn what_is_not_a_selector() {
        for word in ["", "a++b", "+a", "@first", "@last~x", "@best:", "where:", "where:gamma"] {
            assert!(terms(word).is_err(), "{word}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*_00?", "x_001", true),
            ("?", "", false),
            ("a*b*c", "a-b-b-c", true),
            ("ä?", "äö", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
