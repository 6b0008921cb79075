//! `rlx contract diff`: what changed in each section since it was last approved.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::documents::StudyName;
use rlxp_govern::section::{self, Section, Target};
use rlxp_types::Digest;
use serde::Serialize;
use serde_json::Value;

use super::approved_text::{ApprovedText, kept};
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::files::OpenStudy;

#[derive(Debug, Serialize)]
pub struct Diff {
    pub study: StudyName,
    /// Whether anything approved has changed.
    pub changed: bool,
    pub sections: Vec<SectionDiff>,
}

#[derive(Debug, Serialize)]
pub struct SectionDiff {
    pub section: Section,
    /// How it compares.
    #[serde(flatten)]
    pub change: SectionChange,
    /// The status of its approval. It stays void even if the old text is restored.
    pub standing: ApprovalStatus,
}

/// How a section compares with its approved content.
#[derive(Debug, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum SectionChange {
    NeverApproved,
    Unchanged {
        /// When it was approved; a label.
        approved: String,
    },
    Changed {
        /// When it was approved; a label.
        approved: String,
        /// Values that differ, in the order of the keys.
        values: Vec<ValueChange>,
        /// Changed sections that this one depends on: the approval covers them too.
        below: Vec<Section>,
    },
    /// It differs, but the approved content is missing or was modified.
    ChangedUnknown {
        /// When it was approved; a label.
        approved: String,
        /// Why the difference can't be shown.
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueChange {
    /// Where, such as `contract.yaml: budget.runs`.
    pub path: String,
    /// The approved value; `None` if there was no such key.
    pub before: Option<Value>,
    /// The present value; `None` if the key is gone.
    pub after: Option<Value>,
}

/// Compares a study with its approved content.
pub fn diff(context: &Context, selector: Option<&str>) -> Outcome<Diff> {
    let opened = OpenStudy::open(context, selector)?;
    let (digests, standings) = (opened.study.digests(), opened.study.standings());
    let mut sections = Vec::new();
    for section in Section::ALL {
        let change = compare(&opened, section, &digests)?;
        let standing = standings.get(&section).cloned().unwrap_or(ApprovalStatus::Missing);
        sections.push(SectionDiff { section, change, standing });
    }
    let changed = sections.iter().any(|one| {
        matches!(one.change, SectionChange::Changed { .. } | SectionChange::ChangedUnknown { .. })
    });
    Ok(Diff { study: opened.place.name.clone(), changed, sections })
}

fn compare(
    opened: &OpenStudy,
    section: Section,
    digests: &BTreeMap<Section, Digest>,
) -> Outcome<SectionChange> {
    let target = Target::Section(section);
    let given = opened.study.state().approvals.iter().rev();
    let last = given
        .filter_map(|approval| Some((approval.at.clone(), *approval.approved.targets.get(&target)?)))
        .next();
    let Some((approved, digest)) = last else { return Ok(SectionChange::NeverApproved) };
    if digests.get(&section) == Some(&digest) {
        return Ok(SectionChange::Unchanged { approved });
    }
    let unknown =
        |reason: &str| SectionChange::ChangedUnknown { approved: approved.clone(), reason: reason.into() };
    Ok(match kept(opened, &digest)? {
        ApprovedText::Missing => unknown("the approved text was not stored"),
        ApprovedText::Changed => unknown("the stored text is not the approved one"),
        ApprovedText::Whole(before) => {
            let Some(now) = section::content(section, &opened.study.files) else {
                return Ok(unknown("a file it covers can't be read now"));
            };
            let was_below = |below: &Section| {
                before["depends_on"].get(below.to_string()).and_then(Value::as_str).map(str::to_owned)
            };
            let below = section
                .depends_on()
                .iter()
                .copied()
                .filter(|below| was_below(below) != digests.get(below).map(ToString::to_string))
                .collect();
            SectionChange::Changed { approved, values: changes(&before["content"], &now), below }
        }
    })
}

/// Values that differ between two contents, which are keyed by `FILE:KEY`.
pub(super) fn changes(before: &Value, after: &Value) -> Vec<ValueChange> {
    let mut found = Vec::new();
    let empty = serde_json::Map::new();
    let (before, after) = (before.as_object().unwrap_or(&empty), after.as_object().unwrap_or(&empty));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        walk(&key.replacen(':', ": ", 1), before.get(key), after.get(key), &mut found);
    }
    found
}

fn walk(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<ValueChange>) {
    match (before, after) {
        (one, other) if one == other => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                walk(&format!("{path}.{key}"), one.get(key), other.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                walk(&format!("{path}[{index}]"), one.get(index), other.get(index), found);
            }
        }
        _ => {
            found.push(ValueChange { path: path.to_owned(), before: before.cloned(), after: after.cloned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs() {
        let before = json!({"contract.yaml:budget": {"runs": 5, "disk": "1GiB"}, "b.yaml:x": [1, 2]});
        let after =
            json!({"contract.yaml:budget": {"runs": 6, "disk": "1GiB"}, "b.yaml:x": [1], "c.yaml:y": null});
        let shown: Vec<String> = changes(&before, &after)
            .iter()
            .map(|one| format!("{} {:?} {:?}", one.path, one.before, one.after))
            .collect();
        assert_eq!(
            shown,
            [
                "b.yaml: x[1] Some(Number(2)) None",
                "c.yaml: y None Some(Null)",
                "contract.yaml: budget.runs Some(Number(5)) Some(Number(6))",
            ]
        );
        assert_eq!(changes(&before, &before), []);
    }
}
