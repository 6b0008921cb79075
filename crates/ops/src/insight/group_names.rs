//! What groups of runs are called: by the config keys in which they differ, the same in every command.
//!
//! | groups | their labels |
//! |---|---|
//! | differ in up to three keys | all of those: `learning_rate=0.001, gamma=0.99` |
//! | differ in more keys | the fewest keys found that separate them |
//! | named by a tag | the tag, and the keys beside it where there is room |
//! | differ in more than fits | as many keys as fit, and the name of the first run |
//! | of one config, or a single group | what the user typed, or the name of the first run |
//!
//! Labels are short enough for tables and legends, and two groups never have the same label.

use std::collections::{BTreeMap, BTreeSet};

use crate::insight::run_data::RunData;
use crate::insight::run_data::fold::identity_of;
use crate::training::recorded::STOP_AT;

/// Up to this many differing keys are all in the label.
const MOST_KEYS: usize = 3;
/// Longest label in characters.
const LONGEST: usize = 56;
/// Longest label that a legend of several columns has room for.
const LONG_IN_LEGEND: usize = 30;
/// Longest value in a label that would be too long otherwise.
const LONGEST_VALUE: usize = 14;

/// A group that needs a name.
pub(crate) struct Unnamed {
    /// What it is called if its config says nothing: the word that named it, or its runs.
    pub(crate) name: String,
    /// Every key with the values of the group's runs, in the order of a config.
    keys: Vec<(String, BTreeSet<String>)>,
}

/// The name of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupName {
    /// Short, and different from that of every other group.
    pub(crate) label: String,
    /// The other way to name it: what was typed, or the keys in which it differs.
    pub(crate) also: Option<String>,
}

impl Unnamed {
    /// A group by the identities of its runs ([`identity_of`]).
    pub(crate) fn new(name: String, identities: impl IntoIterator<Item = Vec<(String, String)>>) -> Self {
        let mut keys: Vec<(String, BTreeSet<String>)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (key, value) in identities.into_iter().flatten() {
            let place = *places.entry(key.clone()).or_insert(keys.len());
            if place == keys.len() {
                keys.push((key, BTreeSet::new()));
            }
            keys[place].1.insert(shown(&value));
        }
        Self { name, keys }
    }

    /// A group of loaded runs.
    pub(crate) fn of_runs<'m>(name: &str, runs: impl IntoIterator<Item = &'m RunData>) -> Self {
        Self::new(name.to_owned(), runs.into_iter().map(identity_of))
    }

    /// The value of a key; `None` if its runs have several.
    fn value(&self, key: &str) -> Option<String> {
        match self.keys.iter().find(|(own, _)| own == key) {
            Some((_, values)) if values.len() > 1 => None,
            Some((_, values)) => values.first().cloned(),
            None => Some(absent(key).to_owned()),
        }
    }

    /// `KEY=VALUE` for each of `keys`, which are called `shown`.
    fn parts(&self, keys: &[&str], shown: &[String], longest: usize) -> Vec<String> {
        let part = |(key, shown): (&&str, &String)| {
            let value = cut(&self.value(key).unwrap_or_default(), longest);
            // The environment needs no key.
            if *key == "env.id" { value } else { format!("{shown}={value}") }
        };
        keys.iter().zip(shown).map(part).collect()
    }

    /// A tag was chosen by a person to say what the runs are.
    fn is_tag(&self) -> bool {
        self.name.starts_with("tag:") && !self.name.contains('+')
    }
}

/// The names of groups that are shown together, in their order.
pub(crate) fn names(groups: &[Unnamed]) -> Vec<GroupName> {
    let keys = label_keys(groups);
    let by_config: Vec<Option<ByConfig>> = groups.iter().map(|group| ByConfig::new(group, &keys)).collect();
    let full = |index: usize| by_config[index].as_ref().map(|one| one.full.as_str());
    let mut labels: Vec<String> =
        groups.iter().zip(&by_config).map(|(group, keys)| first_choice(group, keys.as_ref())).collect();
    // Groups with the same label get the name of their first run.
    for index in same_as_another(&labels) {
        let name = &groups[index].name;
        let both = format!("{}, {name}", labels[index]);
        let is_name = labels[index] == cut(name, LONGEST);
        labels[index] = match full(index) {
            // Two tags cut to the same text.
            Some(keys) if is_name && fits(keys) => keys.to_owned(),
            _ if !is_name && fits(&both) => both,
            _ => cut(name, LONGEST),
        };
    }
    number_the_same(&mut labels);
    let also = |index: usize, label: &str| {
        let other = if groups[index].is_tag() { full(index) } else { Some(groups[index].name.as_str()) };
        other.filter(|other| groups.len() > 1 && !label.contains(other)).map(str::to_owned)
    };
    labels
        .iter()
        .enumerate()
        .map(|(index, label)| GroupName { label: label.clone(), also: also(index, label) })
        .collect()
}

/// Labels for a crowded legend, in which keys of several words are abbreviated, and a sentence that says how; `None` if
/// labels are short or can't be shortened so.
pub(crate) fn abbreviated(groups: &[Unnamed], names: &[GroupName]) -> Option<(Vec<String>, String)> {
    if names.iter().all(|name| name.label.chars().count() <= LONG_IN_LEGEND) {
        return None;
    }
    let keys = label_keys(groups);
    let full: Vec<String> = keys.iter().map(|key| without_shared_part(key, &keys).to_owned()).collect();
    let initials = |key: &String| key.split('_').filter_map(|word| word.chars().next()).collect::<String>();
    let shown: Vec<String> = full
        .iter()
        .map(|key| {
            let short = initials(key);
            let taken = full.iter().filter(|other| initials(other) == short || **other == short).count() > 1;
            if key.contains('_') && !key.contains('.') && !taken { short } else { key.clone() }
        })
        .collect();
    let label = |(group, name): (&Unnamed, &GroupName)| {
        let is_by_config = name.label == group.parts(&keys, &full, usize::MAX).join(", ");
        if is_by_config { group.parts(&keys, &shown, usize::MAX).join(", ") } else { name.label.clone() }
    };
    let labels: Vec<String> = groups.iter().zip(names).map(label).collect();
    let used: Vec<String> = shown
        .iter()
        .zip(&full)
        .filter(|(short, key)| short != key)
        .map(|(short, key)| format!("{short} is {key}"))
        .collect();
    let usable = !used.is_empty() && same_as_another(&labels).is_empty();
    usable.then(|| (labels, format!("In labels, {}.", used.join(", "))))
}

/// The keys of labels with a group's values.
struct ByConfig {
    full: String,
    /// The same with long values cut.
    short: String,
    /// As many of them as fit before the group's name; nothing if none do.
    before_name: Option<String>,
}

impl ByConfig {
    /// `None` if no key is in the labels.
    fn new(group: &Unnamed, keys: &[&str]) -> Option<Self> {
        let shown: Vec<String> = keys.iter().map(|key| without_shared_part(key, keys).to_owned()).collect();
        let parts = |longest: usize| group.parts(keys, &shown, longest);
        let short = parts(LONGEST_VALUE);
        let with_name = |count: usize| format!("{}, {}", short[..count].join(", "), group.name);
        let before_name = (1..=short.len()).rev().map(with_name).find(|label| fits(label));
        (!keys.is_empty()).then(|| Self {
            full: parts(usize::MAX).join(", "),
            short: short.join(", "),
            before_name,
        })
    }
}

/// The label of a group if no other group had the same.
fn first_choice(group: &Unnamed, by_config: Option<&ByConfig>) -> String {
    let by_config = by_config.filter(|_| !group.is_tag());
    let label = by_config.and_then(|keys| {
        let whole = [&keys.full, &keys.short].into_iter().find(|label| fits(label));
        whole.or(keys.before_name.as_ref()).cloned()
    });
    label.unwrap_or_else(|| cut(&group.name, LONGEST))
}

/// The keys that labels have, in the order of a config.
fn label_keys(groups: &[Unnamed]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for (key, _) in groups.iter().flat_map(|group| &group.keys) {
        if !all.contains(&key.as_str()) {
            all.push(key);
        }
    }
    // Each key that separates groups, with the value of every group.
    let differing: Vec<(&str, Vec<String>)> = all
        .into_iter()
        .filter_map(|key| {
            Some((key, groups.iter().map(|group| group.value(key)).collect::<Option<Vec<_>>>()?))
        })
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .collect();
    if differing.len() <= MOST_KEYS {
        return differing.into_iter().map(|(key, _)| key).collect();
    }
    let mut chosen: Vec<usize> = Vec::new();
    let separated = |keys: &[usize]| {
        let values = |group: usize| keys.iter().map(|key| &differing[*key].1[group]).collect::<Vec<_>>();
        (0..groups.len()).map(values).collect::<BTreeSet<_>>().len()
    };
    loop {
        let with = |key: usize| separated(&[chosen.as_slice(), &[key]].concat());
        // Of keys that separate as much, the first.
        let best = (0..differing.len()).rev().max_by_key(|key| with(*key));
        match best {
            Some(key) if with(key) > separated(&chosen) => chosen.push(key),
            _ => break,
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|key| differing[key].0).collect()
}

/// The last part of a dotted key, or all of it if another key ends the same.
fn without_shared_part<'k>(key: &'k str, keys: &[&str]) -> &'k str {
    let last = |key: &'k str| key.rsplit('.').next().unwrap_or(key);
    let shared = keys.iter().filter(|other| other.rsplit('.').next() == Some(last(key))).count() > 1;
    if shared { key } else { last(key) }
}

/// What a group has instead of a key that only others have.
pub(crate) fn absent(key: &str) -> &'static str {
    match key {
        "starts_from" => "scratch",
        STOP_AT => "never",
        _ => "default",
    }
}

/// A value as a label has it: a schedule as from→to, a number without zeros that say nothing.
pub(crate) fn shown(value: &str) -> String {
    let parts = value.strip_prefix("{schedule: ").and_then(|rest| rest.strip_suffix('}'));
    let part = |name: &str| parts?.split(", ").find_map(|part| part.strip_prefix(name));
    if let (Some(from), Some(to)) = (part("from: "), part("to: ")) {
        return format!("{}→{}", shown(from), shown(to));
    }
    let is_decimal = value.contains('.') && value.bytes().all(|byte| b"0123456789.eE+-".contains(&byte));
    let number = value.parse().ok().filter(|_| is_decimal).and_then(serde_json::Number::from_f64);
    number.map_or_else(
        || value.to_owned(),
        |number| {
            let text = number.to_string();
            text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
        },
    )
}

fn fits(label: &str) -> bool {
    label.chars().count() <= LONGEST
}

/// A text with its middle left out: names often differ only at their end.
fn cut(text: &str, longest: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= longest {
        return text.to_owned();
    }
    let (head, tail) = (longest / 2, longest - longest / 2 - 1);
    let end = &characters[characters.len() - tail..];
    characters[..head].iter().chain(&['…']).chain(end).collect()
}

/// The places of labels that another group has too.
fn same_as_another(labels: &[String]) -> Vec<usize> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for label in labels {
        *count.entry(label).or_default() += 1;
    }
    (0..labels.len()).filter(|index| count[labels[*index].as_str()] > 1).collect()
}

/// Numbers labels that are still the same, such as those of one run that was named twice.
fn number_the_same(labels: &mut [String]) {
    let mut taken: BTreeSet<String> = labels.iter().cloned().collect();
    let mut seen = BTreeSet::new();
    for label in labels {
        if seen.insert(label.clone()) {
            continue;
        }
        let numbered = (2..).map(|number: usize| {
            let end = format!(" ({number})");
            format!("{}{end}", cut(label, LONGEST - end.len()))
        });
        let free = numbered.into_iter().find(|numbered| !taken.contains(numbered));
        *label = free.expect("there are more numbers than labels");
        taken.insert(label.clone());
        seen.insert(label.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, pairs: &[(&str, &str)]) -> Unnamed {
        let identity = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Unnamed::new(name.to_owned(), [identity])
    }

    fn labels(groups: &[Unnamed]) -> Vec<String> {
        names(groups).into_iter().map(|name| name.label).collect()
    }

    #[test]
    fn groups_are_called_by_what_differs() {
        let a = || group("a_001", &[("algo.learning_rate", "0.001"), ("algo.gamma", "0.99")]);
        let b = || group("b_001", &[("algo.learning_rate", "1.0e-9"), ("algo.gamma", "0.99")]);
        let c = || group("c_001", &[("algo.learning_rate", "1.0e-9"), ("env.gamma", "1")]);
        assert_eq!(labels(&[a(), b()]), ["learning_rate=0.001", "learning_rate=1e-9"]);
        assert_eq!(labels(&[b(), c()])[1], "algo.gamma=default, env.gamma=1");
        assert_eq!(labels(&[a()]), ["a_001"]);
        assert_eq!(names(&[a(), b()])[1].also.as_deref(), Some("b_001"));
        assert_eq!(names(&[a()])[0].also, None);
    }

    #[test]
    fn a_tag_comes_first_and_the_keys_after_it() {
        let slow = group("tag:slow", &[("algo.learning_rate", "1.0e-9")]);
        let fast = group("fast_001", &[("algo.learning_rate", "0.1")]);
        let [slow, fast] = &names(&[slow, fast])[..] else { panic!("two names") };
        assert_eq!((slow.label.as_str(), slow.also.as_deref()), ("tag:slow", Some("learning_rate=1e-9")));
        assert_eq!((fast.label.as_str(), fast.also.as_deref()), ("learning_rate=0.1", Some("fast_001")));
    }

    #[test]
    fn many_keys_are_reduced_to_those_that_separate() {
        let of = |name: &str, rate: &str, gamma: &str, rest: &str| {
            let pairs =
                [("algo.clip", rest), ("algo.rate", rate), ("algo.gamma", gamma), ("x", rest), ("y", rest)];
            group(name, &pairs)
        };
        let groups =
            [of("a", "1", "1", "0"), of("b", "2", "1", "0"), of("c", "1", "2", "1"), of("d", "2", "2", "1")];
        assert_eq!(labels(&groups), ["clip=0, rate=1", "clip=0, rate=2", "clip=1, rate=1", "clip=1, rate=2"]);
    }

    #[test]
    fn equal_configs_are_called_by_what_was_typed() {
        let of = |name: &str, rate: &str| group(name, &[("algo.rate", rate)]);
        assert_eq!(labels(&[of("a_001:0", "1"), of("a_001:1", "1")]), ["a_001:0", "a_001:1"]);
        assert_eq!(labels(&[of("a", "1"), of("b", "1"), of("c", "2")]), ["rate=1, a", "rate=1, b", "rate=2"]);
        assert_eq!(labels(&[of("a", "1"), of("a", "1"), of("a", "1")]), ["a", "a (2)", "a (3)"]);
    }

    #[test]
    fn a_key_with_several_values_in_a_group_names_none() {
        let identity = |rate: &str| vec![("algo.rate".to_owned(), rate.to_owned())];
        let mixed = Unnamed::new("tag:a".to_owned(), [identity("1"), identity("2")]);
        let other = Unnamed::new("b_001".to_owned(), [identity("3")]);
        assert_eq!(labels(&[mixed, other]), ["tag:a", "b_001"]);
    }

    #[test]
    fn long_values_are_cut_in_the_middle_and_stay_apart() {
        let long = |end: &str| format!("{}{end}", "x".repeat(60));
        let of = |name: &str, value: &str| group(name, &[("env.kwargs", value)]);
        let cut = labels(&[of("a_001", &long("1")), of("b_001", &long("2"))]);
        assert_eq!(cut, ["kwargs=xxxxxxx…xxxxx1", "kwargs=xxxxxxx…xxxxx2"]);
        // Where only the middle differs, the runs' names are all that is left.
        let middle = |letter: &str| format!("{}{letter}{}", "x".repeat(40), "y".repeat(40));
        let same = labels(&[of("a_001", &middle("1")), of("b_001", &middle("2"))]);
        assert_eq!(same, ["kwargs=xxxxxxx…yyyyyy, a_001", "kwargs=xxxxxxx…yyyyyy, b_001"]);
    }

    #[test]
    fn what_does_not_fit_is_left_to_the_name() {
        let keys: Vec<String> = (0..3).map(|key| format!("algo.a_rather_long_key_{key}")).collect();
        let of = |name: &str, value: &str| {
            group(name, &keys.iter().map(|key| (key.as_str(), value)).collect::<Vec<_>>())
        };
        let expected = [
            "a_rather_long_key_0=1, a_rather_long_key_1=1, a_001",
            "a_rather_long_key_0=2, a_rather_long_key_1=2, b_001",
        ];
        assert_eq!(labels(&[of("a_001", "1"), of("b_001", "2")]), expected);
    }

    #[test]
    fn crowded_legends_have_initials_that_are_explained() {
        let of = |name: &str, rate: &str, coef: &str| {
            group(name, &[("algo.learning_rate", rate), ("algo.gamma", "0.9"), ("algo.entropy_coef", coef)])
        };
        let groups = [of("a_001", "0.0001", "0.001"), of("b_001", "0.0003", "0.0")];
        let (labels, said) = abbreviated(&groups, &names(&groups)).unwrap();
        assert_eq!(labels, ["lr=0.0001, ec=0.001", "lr=0.0003, ec=0"]);
        assert_eq!(said, "In labels, lr is learning_rate, ec is entropy_coef.");
        let short = [of("a_001", "1", "1"), of("b_001", "2", "1")];
        assert_eq!(abbreviated(&short, &names(&short)), None);
    }

    #[test]
    fn values_read_as_a_person_writes_them() {
        let texts = [
            "{schedule: linear, from: 0.001, to: 0.0}",
            "[64, 64]",
            "1.0e-9",
            "100.0",
            "0x1.0",
            "CartPole-v1.0",
        ];
        assert_eq!(texts.map(shown), ["0.001→0", "[64, 64]", "1e-9", "100", "0x1.0", "CartPole-v1.0"]);
    }

    proptest::proptest! {
        #[test]
        fn labels_of_groups_are_distinct_and_short(
            groups in proptest::collection::vec(
                ("(tag:)?[ab]{1,2}(x{50})?", proptest::collection::vec("[0-2](y{0,60})[0-1]", 6)),
                1..20,
            )
        ) {
            let keys = ["algo.rate", "algo.gamma", "env.gamma", "env.id", "policy.size", "eval.episodes"];
            let unnamed: Vec<Unnamed> = groups.iter().map(|(name, values)| {
                let identity = keys.iter().zip(values).map(|(key, value)| ((*key).to_owned(), value.clone()));
                Unnamed::new(name.clone(), [identity.collect()])
            }).collect();
            let labels = labels(&unnamed);
            let distinct: BTreeSet<&String> = labels.iter().collect();
            proptest::prop_assert_eq!(distinct.len(), labels.len(), "{:?}", labels);
            proptest::prop_assert!(labels.iter().all(|label| fits(label) && !label.is_empty()), "{:?}", labels);
        }
    }
}
