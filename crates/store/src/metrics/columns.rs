//! Metrics in columns: one series per kind and name, for plots, comparisons and diagnoses of whole runs. Only the
//! wanted names are parsed as numbers, and nothing is allocated per record, so a long run is read as fast as its
//! bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use rlxp_fs::Fs;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};

use super::read::{Collect, note_damage, read_into};
use super::scan::{Key, Scan};
use super::{Damage, Record};
use crate::StoreError;

/// The values of one metric over a run. All three vectors have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Training steps done at each point.
    pub steps: Vec<u64>,
    /// Seconds since 1970 at each point; a label only.
    pub walls: Vec<f64>,
    /// The values; NaN and infinities as they were logged.
    pub values: Vec<f64>,
}

impl Series {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Points of step and value.
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.steps.iter().copied().zip(self.values.iter().copied())
    }

    /// The last point.
    pub fn last(&self) -> Option<(u64, f64)> {
        Some((*self.steps.last()?, *self.values.last()?))
    }
}

/// A metrics file in columns.
#[derive(Clone, Debug, Default)]
pub struct MetricColumns {
    /// The series by kind (`train`, `eval`, …), then by name. A value that is
    /// neither a number nor the text of one is left out.
    pub series: BTreeMap<String, BTreeMap<String, Series>>,
    /// Intact records.
    pub records: u64,
    /// The highest step of any record.
    pub last_step: u64,
    /// How many steps have two records of the same kind.
    pub repeated_steps: u64,
    /// What was skipped as damaged, in the order of the file.
    pub damage: Vec<Damage>,
    /// The unfinished last line, if there is one.
    pub torn_tail: Option<Damage>,
}

impl MetricColumns {
    /// The series `name` of records of kind `kind`, if it has any point.
    pub fn get(&self, kind: &str, name: &str) -> Option<&Series> {
        self.series.get(kind)?.get(name).filter(|series| !series.is_empty())
    }
}

/// Reads a metrics file into columns; `wanted` decides by kind and name which values are needed. Only an unreadable
/// file is an error.
pub fn read_columns(
    fs: &dyn Fs,
    path: &Path,
    wanted: &dyn Fn(&str, &str) -> bool,
) -> Result<MetricColumns, StoreError> {
    let builder =
        Builder { wanted, kinds: Vec::new(), pending: Vec::new(), columns: MetricColumns::default() };
    Ok(read_into(fs, path, builder)?.finish())
}

/// Columns of one kind, in the order in which the file first named them.
struct Kind {
    name: String,
    columns: Vec<Column>,
    last_step: Option<u64>,
}

struct Column {
    name: String,
    /// The name as it appears in a line, if it needs no escapes.
    key: Option<Key>,
    wanted: bool,
    series: Series,
}

impl Column {
    fn new(name: &str, wanted: bool) -> Self {
        Self { name: name.to_owned(), key: Key::for_name(name), wanted, series: Series::default() }
    }
}

struct Builder<'w> {
    wanted: &'w dyn Fn(&str, &str) -> bool,
    kinds: Vec<Kind>,
    /// Values of the line being read, by column: a truncated line must leave nothing behind.
    pending: Vec<(usize, f64)>,
    columns: MetricColumns,
}

impl Builder<'_> {
    fn kind(&mut self, name: &str) -> usize {
        self.kinds.iter().position(|kind| kind.name == name).unwrap_or_else(|| {
            self.kinds.push(Kind { name: name.to_owned(), columns: Vec::new(), last_step: None });
            self.kinds.len() - 1
        })
    }

    /// The column `name` of a kind. Records of a kind mostly have the same names in the same order, so `guess` is
    /// mostly right.
    fn column(&mut self, kind: usize, name: &str, guess: usize) -> usize {
        let columns = &self.kinds[kind].columns;
        if columns.get(guess).is_some_and(|column| column.name == name) {
            return guess;
        }
        columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
            let wanted = (self.wanted)(&self.kinds[kind].name, name);
            let columns = &mut self.kinds[kind].columns;
            columns.push(Column::new(name, wanted));
            columns.len() - 1
        })
    }

    /// Reads a line that is exactly as the writer writes it and has no new name; `None` if the parser has to decide.
    fn scan(&mut self, line: &[u8]) -> Option<Head> {
        let mut scan = Scan::new(line);
        scan.skip(b"{\"seq\":")?;
        let seq = scan.count()?;
        scan.skip(b",\"step\":")?;
        let step = scan.count()?;
        scan.skip(b",\"wall\":")?;
        let wall = scan.value()?.number()??;
        scan.skip(b",\"kind\":")?;
        let name = scan.text()?;
        let kind = self.kinds.iter().position(|kind| kind.name.as_bytes() == name)?;
        scan.skip(b",\"values\":{")?;
        let columns = &self.kinds[kind].columns;
        if scan.skip(b"}}").is_some() {
            return scan.at_end().then_some(Head { seq, step, wall, kind });
        }
        let mut next = 0;
        loop {
            // Names are in the order of the columns, some of them left out.
            let column = loop {
                let column = columns.get(next)?;
                next += 1;
                if column.key.as_ref().is_some_and(|key| scan.skip_key(key).is_some()) {
                    break column;
                }
            };
            let value = scan.value()?;
            if column.wanted
                && let Some(value) = value.number()?
            {
                self.pending.push((next - 1, value));
            }
            match scan.byte()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        scan.skip(b"}")?;
        scan.at_end().then_some(Head { seq, step, wall, kind })
    }

    fn commit(&mut self, head: &Head) {
        let kind = &mut self.kinds[head.kind];
        for (column, value) in self.pending.drain(..) {
            let series = &mut kind.columns[column].series;
            series.steps.push(head.step);
            series.walls.push(head.wall);
            series.values.push(value);
        }
        if kind.last_step == Some(head.step) {
            self.columns.repeated_steps += 1;
        }
        kind.last_step = Some(head.step);
        self.columns.records += 1;
        self.columns.last_step = self.columns.last_step.max(head.step);
    }

    fn finish(self) -> MetricColumns {
        let mut columns = self.columns;
        // A truncated line may have named kinds and columns that have no value.
        for kind in self.kinds.into_iter().filter(|kind| kind.last_step.is_some()) {
            let wanted = kind.columns.into_iter().filter(|column| !column.series.is_empty());
            let series: BTreeMap<_, _> = wanted.map(|column| (column.name, column.series)).collect();
            columns.series.insert(kind.name, series);
        }
        columns
    }
}

impl Collect for Builder<'_> {
    fn line(&mut self, line: &[u8]) -> Result<u64, String> {
        self.pending.clear();
        if let Some(head) = self.scan(line) {
            self.commit(&head);
            return Ok(head.seq);
        }
        self.pending.clear();
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let read =
            LineSeed(self).deserialize(&mut deserializer).and_then(|head| deserializer.end().map(|()| head));
        match read {
            Ok(head) => {
                self.commit(&head);
                Ok(head.seq)
            }
            // Another order of fields, or not a record: the slow path decides.
            Err(_) => {
                let record: Record = serde_json::from_slice(line).map_err(|error| error.to_string())?;
                let seq = record.seq;
                self.record(record);
                Ok(seq)
            }
        }
    }

    fn record(&mut self, record: Record) {
        self.pending.clear();
        let kind = self.kind(&record.kind);
        for (guess, name) in record.values.keys().enumerate() {
            let column = self.column(kind, name, guess);
            if let Some(value) = record.number(name).filter(|_| self.kinds[kind].columns[column].wanted) {
                self.pending.push((column, value));
            }
        }
        self.commit(&Head { seq: record.seq, step: record.step, wall: record.wall, kind });
    }

    fn damage(&mut self, damage: Damage) {
        note_damage(&mut self.columns.damage, damage);
    }

    fn torn_tail(&mut self, damage: Damage) {
        self.columns.torn_tail = Some(damage);
    }
}

struct Head {
    seq: u64,
    step: u64,
    wall: f64,
    kind: usize,
}

/// One line whose fields are in the order in which they are written.
struct LineSeed<'b, 'w>(&'b mut Builder<'w>);

impl<'de> DeserializeSeed<'de> for LineSeed<'_, '_> {
    type Value = Head;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Head, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LineSeed<'_, '_> {
    type Value = Head;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a record of metrics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
        field(&mut map, "seq")?;
        let seq = map.next_value()?;
        field(&mut map, "step")?;
        let step = map.next_value()?;
        field(&mut map, "wall")?;
        let wall = map.next_value_seed(Number)?.ok_or_else(|| A::Error::custom("wall is not a number"))?;
        field(&mut map, "kind")?;
        let name: Cow<'de, str> = map.next_value_seed(Words)?;
        let kind = self.0.kind(&name);
        field(&mut map, "values")?;
        map.next_value_seed(ValuesSeed { builder: self.0, kind })?;
        match map.next_key_seed(Words)? {
            None => Ok(Head { seq, step, wall, kind }),
            Some(_) => Err(A::Error::custom("a further field")),
        }
    }
}

fn field<'de, A: MapAccess<'de>>(map: &mut A, name: &str) -> Result<(), A::Error> {
    match map.next_key_seed(Words)? {
        Some(found) if found == name => Ok(()),
        _ => Err(A::Error::custom("another order of fields")),
    }
}

struct ValuesSeed<'b, 'w> {
    builder: &'b mut Builder<'w>,
    kind: usize,
}

impl<'de> DeserializeSeed<'de> for ValuesSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ValuesSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("values by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut guess = 0;
        while let Some(name) = map.next_key_seed(Words)? {
            let column = self.builder.column(self.kind, &name, guess);
            if column < guess && self.builder.pending.iter().any(|(taken, _)| *taken == column) {
                // If a name occurs twice the last one counts, as in a record.
                self.builder.pending.retain(|(taken, _)| *taken != column);
            }
            guess = column + 1;
            if !self.builder.kinds[self.kind].columns[column].wanted {
                map.next_value::<IgnoredAny>()?;
            } else if let Some(value) = map.next_value_seed(Number)? {
                self.builder.pending.push((column, value));
            }
        }
        Ok(())
    }
}

/// A text, borrowed from the line if it has no escapes.
struct Words;

impl<'de> DeserializeSeed<'de> for Words {
    type Value = Cow<'de, str>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Words {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A number or the text of one; `None` for any other value.
struct Number;

impl<'de> DeserializeSeed<'de> for Number {
    type Value = Option<f64>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Number {
    type Value = Option<f64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value as f64))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(super::record::number_of_text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}
