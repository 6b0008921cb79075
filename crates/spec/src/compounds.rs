//! Values that are made of others: schedules, lists, keyword arguments and
//! wrappers. Every part is read even after one is wrong, so that all of them
//! are reported.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::check::{Checker, join, shorten};
use crate::config::{Kwarg, LinearTag, Schedule, WrapperConfig};
use crate::fields::{self, Bounds};
use crate::nearest::nearest;
use crate::scalar::Scalar;
use crate::tree::{Entry, Kind, Node};
use crate::values::Value;

impl Checker<'_> {
    pub(crate) fn schedule(&mut self, path: &str, node: &Node, bounds: Bounds) -> Option<Schedule> {
        let expected = "a number or {schedule: linear, from: …, to: …}";
        let Kind::Mapping(entries) = &node.kind else {
            if let Kind::Sequence(_) = node.kind {
                self.wrong_type(path, node, expected, None);
                return None;
            }
            return self.number(path, node, bounds).map(Schedule::Constant);
        };
        let ends = Bounds { closed: true, ..bounds };
        let (mut tag, mut from, mut to, mut complete) = (None, None, None, true);
        for (entry, key) in self.keys(path, entries) {
            let own = join(path, &shorten(key));
            match key {
                "schedule" => tag = Some(self.word(&own, &entry.value, &["linear"]).is_some()),
                "from" => from = Some(self.number(&own, &entry.value, ends)),
                "to" => to = Some(self.number(&own, &entry.value, ends)),
                _ => {
                    complete = false;
                    let hint = nearest(key, ["schedule", "from", "to"]);
                    let hint = hint.map(|near| format!("did you mean `{near}`?"));
                    self.error(
                        &entry.key.span,
                        &own,
                        format!("unknown key `{}` in `{path}`", shorten(key)),
                        hint,
                    );
                }
            }
        }
        for (key, there) in [("schedule", tag.is_some()), ("from", from.is_some()), ("to", to.is_some())] {
            if !there {
                self.error(
                    &node.span,
                    path,
                    format!("`{path}` lacks `{key}`"),
                    Some(format!("`{path}` is {expected}")),
                );
            }
        }
        let (true, true, from, to) = (complete, tag?, from??, to??) else { return None };
        if from == bounds.low && to == bounds.low {
            let message = format!("`{path}` would be {} throughout", bounds.low);
            self.error(&node.span, path, message, None);
            return None;
        }
        Some(Schedule::Linear { schedule: LinearTag::Linear, from, to })
    }

    pub(crate) fn list<'n>(
        &mut self,
        path: &str,
        node: &'n Node,
        expected: &str,
        least: usize,
        most: usize,
    ) -> Option<&'n [Node]> {
        let Kind::Sequence(items) = &node.kind else {
            self.wrong_type(path, node, expected, None);
            return None;
        };
        if (least..=most).contains(&items.len()) {
            return Some(items);
        }
        let message = format!("`{path}` must have {least} to {most} entries; this has {}", items.len());
        self.error(&node.span, path, message, None);
        None
    }

    pub(crate) fn counts(&mut self, path: &str, items: &[Node], low: u64, high: u64) -> Option<Vec<u64>> {
        // Collected first, so that every wrong entry is reported.
        let counts: Vec<Option<u64>> = items
            .iter()
            .enumerate()
            .map(|(i, item)| self.count(&format!("{path}[{i}]"), item, low, high))
            .collect();
        counts.into_iter().collect()
    }

    pub(crate) fn seeds(&mut self, path: &str, node: &Node) -> Option<Value> {
        if let Kind::Scalar { .. } = node.kind {
            return self.count(path, node, 1, fields::MAX_SEEDS as u64).map(Value::SeedCount);
        }
        let items = self.list(path, node, "a count or a list of seeds", 1, fields::MAX_SEEDS)?;
        let seeds = self.counts(path, items, 0, fields::MAX_SEED)?;
        let mut first: BTreeMap<u64, usize> = BTreeMap::new();
        let mut distinct = true;
        for (i, seed) in seeds.iter().enumerate() {
            if first.insert(*seed, i).is_some() {
                distinct = false;
                let message = format!("seed {seed} stands in `{path}` twice");
                self.error(&items[i].span, &format!("{path}[{i}]"), message, None);
            }
        }
        distinct.then_some(Value::SeedList(seeds))
    }

    pub(crate) fn kwargs(&mut self, path: &str, node: &Node) -> Option<BTreeMap<String, Kwarg>> {
        let entries = match &node.kind {
            Kind::Mapping(entries) if entries.len() <= fields::MAX_KWARGS => entries,
            Kind::Mapping(entries) => {
                let message = format!(
                    "`{path}` has {} entries; at most {} are allowed",
                    entries.len(),
                    fields::MAX_KWARGS
                );
                self.error(&node.span, path, message, None);
                return None;
            }
            Kind::Scalar { text, plain: true } if text.is_empty() => return Some(BTreeMap::new()),
            _ => {
                self.wrong_type(path, node, "a mapping of names to values", None);
                return None;
            }
        };
        let before = self.problems.len();
        let mut kwargs = BTreeMap::new();
        for (entry, key) in self.keys(path, entries) {
            self.checked.places.insert(join(path, key), entry.value.span.clone());
            if let Some(kwarg) = self.kwarg(key, &entry.key.span, &entry.value) {
                kwargs.insert(key.to_owned(), kwarg);
            }
        }
        (self.problems.len() == before).then_some(kwargs)
    }

    /// One keyword argument, whose name stands at `key`.
    pub(crate) fn kwarg(&mut self, name: &str, key: &Range<usize>, node: &Node) -> Option<Kwarg> {
        let path = join("env.kwargs", &shorten(name));
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if name.len() > 64 || !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            let message = format!("`{}` can't name an argument: use letters, digits and _", shorten(name));
            self.error(key, &path, message, None);
            return None;
        }
        let expected = "true or false, a number or text";
        let (scalar, _) = self.scalar(&path, node, expected)?;
        match scalar {
            Scalar::Bool(flag) => Some(Kwarg::Bool(flag)),
            Scalar::Integer(integer) => match i64::try_from(integer) {
                Ok(integer) => Some(Kwarg::Integer(integer)),
                Err(_) => {
                    self.error(&node.span, &path, format!("`{path}` does not fit in 64 bits"), None);
                    None
                }
            },
            Scalar::Number(number) => Some(Kwarg::Number(number)),
            Scalar::NotFinite => self.not_finite(&path, node),
            Scalar::Text => self.text(&path, node).map(Kwarg::Text),
            Scalar::Null => {
                self.wrong_type(
                    &path,
                    node,
                    expected,
                    Some("delete the line to keep the default".to_owned()),
                );
                None
            }
        }
    }

    pub(crate) fn wrappers(&mut self, path: &str, node: &Node) -> Option<Vec<WrapperConfig>> {
        let items = self.list(path, node, "a list of wrappers", 0, fields::MAX_WRAPPERS)?;
        let mut wrappers = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let path = format!("{path}[{i}]");
            self.checked.places.insert(path.clone(), item.span.clone());
            wrappers.push(self.wrapper(&path, item));
        }
        wrappers.into_iter().collect()
    }

    fn wrapper(&mut self, path: &str, node: &Node) -> Option<WrapperConfig> {
        let (name, name_node, argument) = match &node.kind {
            Kind::Scalar { .. } => (self.word(path, node, fields::WRAPPERS)?, node, None),
            Kind::Mapping(entries) if entries.len() == 1 => {
                let Entry { key, value } = &entries[0];
                (self.word(path, key, fields::WRAPPERS)?, key, Some(value))
            }
            _ => {
                let hint = format!("one of: {}", fields::WRAPPERS.join(", "));
                self.wrong_type(
                    path,
                    node,
                    "the name of a wrapper, or one name with its arguments",
                    Some(hint),
                );
                return None;
            }
        };
        let arguments = match argument.map(|node| &node.kind) {
            Some(Kind::Mapping(entries)) => self.keys(path, entries),
            Some(Kind::Refused) => return None,
            Some(Kind::Scalar { text, plain: true }) if text.is_empty() => Vec::new(),
            Some(_) => {
                self.wrong_type(
                    path,
                    argument?,
                    "a wrapper with a mapping of arguments",
                    Some(format!("`{name}: {{}}`")),
                );
                return None;
            }
            None => Vec::new(),
        };
        let (mut factor, mut dimensions, mut fine) = (None, None, true);
        for (entry, key) in arguments {
            if name == "scale_reward" && key == "factor" {
                factor = Some(self.number(&join(path, key), &entry.value, fields::SCALE));
            } else if name == "freeze_observation" && key == "dimensions" {
                dimensions = self.dimensions(&join(path, key), &entry.value);
                fine &= dimensions.is_some();
            } else {
                fine = false;
                let own = match name.as_str() {
                    "scale_reward" => Some("factor"),
                    "freeze_observation" => Some("dimensions"),
                    _ => None,
                };
                let hint = own.map(|own| format!("did you mean `{own}`?"));
                self.error(
                    &entry.key.span,
                    path,
                    format!("`{name}` has no argument `{}`", shorten(key)),
                    hint,
                );
            }
        }
        if !fine {
            return None;
        }
        match name.as_str() {
            "freeze_observation" => {
                Some(WrapperConfig::FreezeObservation { dimensions: dimensions.flatten() })
            }
            "truncation_as_termination" => Some(WrapperConfig::TruncationAsTermination {}),
            _ => match factor {
                Some(factor) => factor.map(|factor| WrapperConfig::ScaleReward { factor }),
                None => {
                    let hint = Some("`scale_reward: {factor: 2}`".to_owned());
                    self.error(&name_node.span, path, "`scale_reward` needs a `factor`".to_owned(), hint);
                    None
                }
            },
        }
    }

    /// Which numbers of an observation are meant: a list without doubles, or
    /// null for all. Whether an observation has that many is the environment's to say.
    fn dimensions(&mut self, path: &str, node: &Node) -> Option<Option<Vec<usize>>> {
        if let Kind::Scalar { text, plain } = &node.kind
            && Scalar::of(text, *plain) == Scalar::Null
        {
            return Some(None);
        }
        let items = self.list(path, node, "a list of dimensions", 1, fields::MAX_DIMENSIONS)?;
        let dimensions = self.counts(path, items, 0, fields::MAX_DIMENSIONS as u64 - 1)?;
        let mut seen = BTreeSet::new();
        let mut distinct = true;
        for (i, dimension) in dimensions.iter().enumerate() {
            if !seen.insert(*dimension) {
                distinct = false;
                let message = format!("dimension {dimension} stands in `{path}` twice");
                self.error(&items[i].span, &format!("{path}[{i}]"), message, None);
            }
        }
        distinct.then(|| Some(dimensions.into_iter().map(|dimension| dimension as usize).collect()))
    }
}
