//! Reflections and probe summaries: what rlx wrote about runs must come out the same, and the files must still be those
//! that were recorded.

use std::collections::BTreeMap;

use rlxp_fs::FsExt;
use rlxp_govern::documents::{CandidateKind, Slug};
use rlxp_govern::ledger::event::{Analysis, Analyzed};
use rlxp_govern::view::Study;
use rlxp_types::Digest;

use super::Replay;
use crate::failure::Outcome;
use crate::studies::analysis_file::bytes_of;
use crate::studies::files::read::look;
use crate::studies::probing::compute_summary;
use crate::studies::reflect::{self, word_of_file};
use crate::studies::verify::Findings;

/// The longest analysis that is read.
const LONGEST: u64 = 16 << 20;

impl Replay<'_> {
    /// Analyzes the same runs again.
    pub(super) fn analysis(&mut self, seq: u64, recorded: &Analyzed, found: &mut Findings) -> Outcome<()> {
        if recorded.what == Analysis::Probe && !self.is_probe(&recorded.candidate) {
            let message = format!("record {seq} summarizes {}, which is not a probe", recorded.candidate);
            found.problem("analysis_differs", Some(seq + 1), message);
            return Ok(());
        }
        let computed = match recorded.what {
            Analysis::RewardReflection => {
                let word = word_of_file(&recorded.file);
                reflect::compute(self.context, &self.past, Some(word.unwrap_or_default()), &mut |_| {})
                    .map(|computed| (bytes_of(&computed.content), computed.analyzed))
            }
            Analysis::Probe => compute_summary(self.context, &self.past, &recorded.candidate)
                .map(|(content, analyzed)| (bytes_of(&content), analyzed)),
        };
        let (bytes, analyzed) = match computed {
            Ok(computed) => computed,
            Err(failure) => {
                let why = format!("{} in record {seq}: {}", recorded.file, failure.message);
                found.not_checked.push(why);
                return Ok(());
            }
        };
        let (file, digest) = (recorded.file.clone(), Digest::hash(&bytes));
        // Earlier versions didn't record the span.
        let span = recorded.span.as_ref().and(analyzed.span.clone());
        if *recorded == (Analyzed { file, digest, span, ..analyzed }) {
            self.same.analyses += 1;
        } else {
            let message = format!("{} doesn't come out as it is recorded in record {seq}", recorded.file);
            found.problem("analysis_differs", Some(seq + 1), message);
        }
        Ok(())
    }

    fn is_probe(&self, candidate: &Slug) -> bool {
        let known = self.past.study.state().candidates.get(candidate);
        known.is_some_and(|known| known.validated.kind == CandidateKind::Probe)
    }

    /// The files of the last analyses are those that were recorded.
    pub(super) fn check_present_files(&self, study: &Study, found: &mut Findings) -> Outcome<()> {
        let last: BTreeMap<&str, (u64, Digest)> =
            study.state().analyzed.iter().map(|(seq, it)| (it.file.as_str(), (*seq, it.digest))).collect();
        let (fs, place) = (self.context.fs.as_ref(), &self.past.place);
        for (file, (seq, digest)) in last {
            if rlxp_govern::scope::bad_path(file).is_some() {
                let message = format!("{file:?} in record {seq} is not a file of the study");
                found.problem("analysis_file_changed", Some(seq + 1), message);
                continue;
            }
            let path = place.folder.join(file);
            if look(fs, &place.root, &path)?.is_none() {
                let message = format!("{file}, which record {seq} has, is gone");
                found.problem("analysis_file_gone", Some(seq + 1), message);
            } else if Digest::hash(&fs.read(&path, LONGEST)?) != digest {
                let message = format!("{file} is not the file that record {seq} has");
                found.problem("analysis_file_changed", Some(seq + 1), message);
            }
        }
        Ok(())
    }
}
