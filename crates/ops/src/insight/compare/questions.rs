//! `analysis/questions.jsonl`: the looks that were taken at each question, so that asking again is known to be another
//! look. One line per look, appended under a lock and synced; lines that can't be read are skipped with a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rlxp_analyze::verdict::Answer;
use rlxp_fs::{Fs, FsExt, Machine, clock};
use rlxp_store::{LedgerFile, LineageKind, Project, StoreError};
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

use super::CompareRequest;
use super::judge::Pair;
use super::looks::{Asked, History, MOST_LOOKS, PastLook, Place, Role};
use super::score::{Score, SeedScore, Source};
use crate::context::Context;
use crate::failure::describe;
use crate::insight::run_data::RunData;
use crate::insight::run_data::fold::{Member, identity_of};
use crate::training::train::QUESTIONS;

const SCHEMA: &str = "rlx.question/1";
/// More than any project asks; a larger file isn't rlx's.
const LONGEST: u64 = 64 << 20;

/// A look as it is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    schema: String,
    question: Digest,
    /// Its number, from 1.
    look: usize,
    /// Looks that the question has.
    planned: usize,
    trainings: Digest,
    seeds: [u64; 2],
    #[serde(default)]
    seeds_planned: Option<u64>,
    /// The level it was judged at, if several groups shared one. A repeated look keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level: Option<f64>,
    /// The rest is for readers.
    #[serde(default)]
    about: About,
}

/// What a reader of the file sees of a look; decides nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct About {
    a: String,
    b: String,
    score: String,
    verdict: String,
    time: String,
}

impl Line {
    pub(super) fn new(
        asked: &Asked,
        (look, planned): (usize, usize),
        (seeds_planned, level): (Option<u64>, Option<f64>),
        about: About,
    ) -> Self {
        let Asked { question, trainings, seeds } = *asked;
        let schema = SCHEMA.to_owned();
        Self { schema, question, look, planned, trainings, seeds, seeds_planned, level, about }
    }
}

impl About {
    pub(super) fn new(pair: &Pair<'_>, score: &Score, answer: Answer) -> Self {
        let verdict = match answer {
            Answer::Better => "better",
            Answer::Worse => "worse",
            Answer::CannotTell => "cannot_tell",
        };
        Self {
            a: pair.a.name.clone(),
            b: pair.b.name.clone(),
            score: score.what.clone(),
            verdict: verdict.to_owned(),
            time: clock::wall_text(),
        }
    }
}

/// Everything on record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Remembered {
    questions: BTreeMap<Digest, History>,
    /// Lines that can't be read, or contradict earlier ones.
    skipped: usize,
}

impl Remembered {
    fn read(bytes: &[u8]) -> Self {
        let mut remembered = Self::default();
        let (whole, tail) = split_tail(bytes);
        for line in whole.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let taken = serde_json::from_slice::<Line>(line).is_ok_and(|line| remembered.add(line));
            remembered.skipped += usize::from(!taken);
        }
        if let Some((_, line)) = complete_tail(tail) {
            remembered.skipped += usize::from(!remembered.add(line));
        }
        remembered
    }

    /// Adds a look if it follows from those before it.
    fn add(&mut self, line: Line) -> bool {
        let Line { schema, question, look, planned, trainings, seeds, seeds_planned, level, .. } = line;
        if schema != SCHEMA || !(1..=MOST_LOOKS).contains(&planned) || look > planned {
            return false;
        }
        let history = self.questions.get_mut(&question);
        let past = PastLook { trainings, seeds, seeds_planned, level };
        match history {
            None if look == 1 => {
                self.questions.insert(question, History { planned, looks: vec![past] });
                true
            }
            Some(history) if look == history.looks.len() + 1 && planned == history.planned => {
                history.looks.push(past);
                true
            }
            _ => false,
        }
    }

    /// Counts the look that `asked` is about to be, so that another group can't be the same one.
    pub(super) fn take(&mut self, asked: &Asked, place: &Place) {
        let Role::Next { number: look } = place.role else { return };
        self.add(Line::new(asked, (look, place.planned), (None, None), About::default()));
    }

    pub(super) fn of(&self, asked: &Asked) -> Option<&History> {
        self.questions.get(&asked.question)
    }
}

/// Everything up to the last newline, and the bytes after it.
fn split_tail(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1))
}

/// A look that only lacks its final newline, which some editors remove. Anything else after the last newline was being
/// written when its writer died and was never acknowledged.
fn complete_tail(tail: &[u8]) -> Option<(&str, Line)> {
    Some((str::from_utf8(tail).ok()?, serde_json::from_slice(tail).ok()?))
}

/// The file of a project.
pub(super) struct QuestionsFile {
    fs: Arc<dyn Fs>,
    machine: Arc<dyn Machine>,
    file: LedgerFile,
}

impl QuestionsFile {
    pub(super) fn of(context: &Context, project: &Project) -> Self {
        // A project may come from elsewhere: no link in it leads out of it.
        let fs = context.fs.rooted(project.root());
        let path = project.root().join(QUESTIONS);
        let machine = context.machine.clone();
        Self { file: LedgerFile::at(fs.clone(), machine.clone(), &path), machine, fs }
    }

    /// What is on record now, or why that is unknown. Lines that can't be read as looks are skipped with a warning.
    pub(super) fn read(&self, warnings: &mut Vec<String>) -> Result<Remembered, String> {
        let bytes = self.bytes().map_err(|error| describe(&error))?;
        let remembered = Remembered::read(&bytes);
        if remembered.skipped > 0 {
            let skipped = remembered.skipped;
            let lines = if skipped == 1 { "line in" } else { "lines in" };
            warnings.push(format!(
                "{skipped} {lines} {QUESTIONS} can't be read as the next look at a question and are ignored"
            ));
        }
        Ok(remembered)
    }

    fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        match self.fs.metadata_if_any(self.file.path())? {
            None => Ok(Vec::new()),
            Some(meta) if meta.length > LONGEST => {
                let why = format!("it has {} bytes; at most {LONGEST} are read", meta.length);
                Err(StoreError::Damaged { path: self.file.path().to_owned(), why })
            }
            Some(_) => self.file.read(),
        }
    }

    /// Adds looks to questions that are as they are in `known`. Returns what is on record instead, and adds nothing,
    /// when another process was faster.
    pub(super) fn append(
        &self,
        known: &Remembered,
        lines: &[Line],
    ) -> Result<Result<(), Remembered>, StoreError> {
        if let Some(folder) = self.file.path().parent() {
            self.fs.create_dir_all(folder)?;
        }
        self.fs.remove_abandoned(self.machine.as_ref(), self.file.path());
        self.fs.write_new_atomic(self.file.path(), b"")?;
        // So that a huge file is refused before it is read under the lock.
        self.bytes()?;
        let mut locked = self.file.lock(&clock::wall_text())?;
        let now = Remembered::read(locked.content());
        let same = |line: &Line| now.questions.get(&line.question) == known.questions.get(&line.question);
        if !lines.iter().all(same) {
            return Ok(Err(now));
        }
        // The ledger file moves an unterminated line aside, so a complete one is written again.
        let tail = complete_tail(split_tail(locked.content()).1).map(|(text, _)| text.to_owned());
        let new = lines.iter().map(|line| serde_json::to_string(line).expect("a look is plain data"));
        let lines: Vec<String> = tail.into_iter().chain(new).collect();
        locked.append_all(&lines.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(Ok(()))
    }
}

/// What a pair asks: by what both groups are, never by their names or by which of them is A.
/// The smallest effect is not part of it: another one asks the same of the same data.
pub(super) fn asked(request: &CompareRequest, score: &Score, pair: &Pair<'_>) -> Asked {
    let mut groups = [(pair.a, pair.a_scores), (pair.b, pair.b_scores)].map(|(group, scores)| {
        // Other episodes of the same policies are other data.
        let measured = |one: &SeedScore| (score.source == Source::Afterwards).then(|| one.value.to_bits());
        let seeds = group.members.iter().zip(scores);
        let mut trainings: Vec<Digest> =
            seeds.map(|(member, one)| digest(&(training(member), measured(one)))).collect();
        trainings.sort_unstable();
        let configs: BTreeSet<Vec<(String, String)>> = group.runs.iter().map(identity_of).collect();
        (digest(&configs), digest(&trainings), group)
    });
    groups.sort_by_key(|(configs, trainings, group)| (*configs, group.members.len(), *trainings));
    let configs = groups.each_ref().map(|(configs, ..)| *configs);
    // Groups of one config can only differ by their code.
    let code = (configs[0] == configs[1]).then(|| {
        let mut code =
            groups.each_ref().map(|(_, _, group)| group.runs.iter().map(code).collect::<BTreeSet<_>>());
        code.sort_unstable();
        code
    });
    Asked {
        question: digest(&(
            SCHEMA,
            configs,
            code,
            (&score.metric, score.kind, score.direction),
            request.paired,
        )),
        trainings: digest(&groups.each_ref().map(|(_, trainings, _)| *trainings)),
        seeds: groups.each_ref().map(|(_, _, group)| group.members.len() as u64),
    }
}

/// A training: what is trained, from which seed, by which program.
fn training(member: &Member<'_>) -> Digest {
    let metadata = &member.run.metadata;
    // The identity of an extension says how it began; a warm start begins with the weights of one run.
    let lineage = metadata.lineage.as_ref().filter(|lineage| lineage.kind == LineageKind::WarmStart);
    let gone = member.run.ancestry.gone.as_ref();
    let origin = lineage.or(gone).and_then(|lineage| lineage.parent_id);
    digest(&(
        identity_of(member.run),
        origin,
        member.seed.seed,
        metadata.versions.binary,
        &metadata.cpu_kernels,
    ))
}

/// The code of a run, as far as it is known.
fn code(run: &RunData) -> (Option<Digest>, Option<String>, Option<Digest>) {
    let git = run.metadata.git.as_ref();
    (
        run.metadata.versions.binary,
        git.and_then(|git| git.commit.clone()),
        git.and_then(|git| git.dirty_digest),
    )
}

fn digest(value: &impl Serialize) -> Digest {
    Digest::hash(&serde_json::to_vec(value).expect("plain data always serialises"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(question: &str, look: usize, planned: usize, trainings: &str) -> String {
        let asked = Asked {
            question: Digest::hash(question.as_bytes()),
            trainings: Digest::hash(trainings.as_bytes()),
            seeds: [5, 5],
        };
        serde_json::to_string(&Line::new(&asked, (look, planned), (Some(12), None), About::default()))
            .unwrap()
    }

    fn check(lines: &[&str], looks: &[usize], skipped: usize) {
        let read = Remembered::read(format!("{}\n", lines.join("\n")).as_bytes());
        let found: Vec<usize> = ["q", "r"]
            .iter()
            .filter_map(|name| Some(read.questions.get(&Digest::hash(name.as_bytes()))?.looks.len()))
            .collect();
        assert_eq!((found.as_slice(), read.skipped), (looks, skipped), "{lines:?}");
    }

    #[test]
    fn looks_are_read_in_order_and_anything_else_is_skipped() {
        let (first, second, other) = (line("q", 1, 2, "a"), line("q", 2, 2, "b"), line("r", 1, 1, "a"));
        check(&[], &[], 0);
        check(&[&first, &other, "", &second], &[2, 1], 0);
        // Out of order, twice, beyond the plan, with another plan, of no possible plan.
        check(&[&second, &first], &[1], 1);
        check(&[&first, &first], &[1], 1);
        check(&[&other, &line("r", 2, 1, "b")], &[1], 1);
        check(&[&first, &line("q", 2, 3, "b")], &[1], 1);
        check(&[&line("q", 1, 0, "a"), &line("q", 1, 6, "a"), &line("q", 0, 2, "a")], &[], 3);
        let huge = first.replace("\"planned\":2", "\"planned\":99999999999999999999999");
        let newer = first.replace(SCHEMA, "rlx.question/2");
        let deep = "[".repeat(100_000);
        let garbage = [huge.as_str(), &newer, "{}", "null", "\u{0}\u{0}", "\u{1b}[2J", &deep];
        check(&garbage, &[], garbage.len());
    }

    #[test]
    fn an_incomplete_last_line_is_not_a_look() {
        let (first, second) = (line("q", 1, 2, "a"), line("q", 2, 2, "b"));
        let whole = format!("{first}\n{second}\n");
        for length in 0..whole.len() {
            let read = Remembered::read(&whole.as_bytes()[..length]);
            let looks = read.questions.values().map(|history| history.looks.len()).sum::<usize>();
            // A line counts once it is complete, with or without its newline.
            let complete = usize::from(length >= first.len()) + usize::from(length >= whole.len() - 1);
            assert_eq!((looks, read.skipped), (complete, 0), "{length} bytes");
        }
    }
}
