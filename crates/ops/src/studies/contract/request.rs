//! `rlx contract request`: what a person reads before approving, and the exact commands.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rlxp_fs::FsExt;
use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::completeness::{Open, open_questions};
use rlxp_govern::documents::{Assurance, StudyName};
use rlxp_govern::section::{self, Section, Target};
use rlxp_spec::document::to_yaml;
use rlxp_types::Digest;
use serde::Serialize;
use serde_json::Value;

use super::allows::allows;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::approver_key::{sign_command, signing_key};
use crate::studies::files::OpenStudy;
use crate::studies::files::paths::needs_folder;

/// What a person is asked to approve.
#[derive(Debug, Serialize)]
pub struct Request {
    pub study: StudyName,
    /// The head of the ledger: a signature counts only on this one.
    pub head: Digest,
    /// The weakest kind of approval that counts.
    pub required: Assurance,
    pub sections: Vec<Asked>,
    /// What the contract still lacks; nothing should be approved before that is filled in.
    pub open: Vec<Open>,
    /// The command to approve at the terminal; empty if nothing needs approval.
    pub terminal: String,
    /// The commands to approve with a signature, in order.
    pub signature: Vec<String>,
    /// Where the text was written.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub written: Option<PathBuf>,
    /// The whole request as one text for a person.
    pub text: String,
}

/// A section that needs approval.
#[derive(Debug, Serialize)]
pub struct Asked {
    pub section: Section,
    /// The digest that the approval will name.
    pub digest: Digest,
    /// The present status of its approval.
    pub standing: ApprovalStatus,
    /// Its content in the files, by file and key.
    pub content: Value,
    pub depends_on: &'static [Section],
    /// Sections that become void together with this one.
    pub carries: Vec<Section>,
    /// What the approval allows.
    pub allows: &'static str,
}

/// The request for these sections or, without any, for everything that the study needs next. Written to `to` if
/// given.
pub fn request(
    context: &Context,
    selector: Option<&str>,
    sections: &[String],
    to: Option<&Path>,
) -> Outcome<Request> {
    let sections = sections.iter().map(|name| named(name)).collect::<Outcome<Vec<Section>>>()?;
    let opened = OpenStudy::open(context, selector)?;
    if let Some(to) = to {
        needs_folder(context.fs.as_ref(), &context.folder.join(to))?;
    }
    let (digests, standings) = (opened.study.digests(), opened.study.standings());
    let lacking = |section: &Section| standings.get(section).is_none_or(|standing| !standing.is_given());
    let wanted: Vec<Section> = if sections.is_empty() {
        needed(&lacking)
    } else {
        Section::ALL.into_iter().filter(|section| sections.contains(section)).collect()
    };
    let mut asked = Vec::new();
    for section in wanted {
        let (Some(digest), Some(content)) =
            (digests.get(&section), section::content(section, &opened.study.files))
        else {
            let message = format!("{section} can't be approved: one of its files is missing or unreadable");
            return Err(Failure::refused("section_unreadable", message).hint("rlx contract check"));
        };
        let carries = section.dependents().into_iter().filter(|other| *other != section).collect();
        asked.push(Asked {
            section,
            digest: *digest,
            standing: standings.get(&section).cloned().unwrap_or(ApprovalStatus::Missing),
            content,
            depends_on: section.depends_on(),
            carries,
            allows: allows(&Target::Section(section)),
        });
    }
    let names: Vec<String> = asked.iter().map(|one| one.section.to_string()).collect();
    let approve = format!("rlx approve {}{}", names.join(" "), study_flag(context, &opened)?);
    let key = opened.study.approvers.as_ref().and_then(|approvers| signing_key(context, approvers));
    let commands = [
        format!("{approve} --print > statement"),
        sign_command(key.as_deref()),
        format!("{approve} --signature statement.sig"),
    ];
    // If nothing needs approval, there are no commands, and none that could never count.
    let (terminal, mut signature) =
        if names.is_empty() { Default::default() } else { (approve, commands.to_vec()) };
    if !opened.study.can_be_signed() {
        signature.clear();
    }
    let mut request = Request {
        study: opened.place.name.clone(),
        head: opened.study.ledger.head(),
        required: opened.study.required(),
        sections: asked,
        open: open_questions(&opened.study.files),
        terminal,
        signature,
        written: None,
        text: String::new(),
    };
    request.text = text(&request);
    if let Some(to) = to {
        let path = context.folder.join(to);
        if !context.fs.write_new_atomic(&path, request.text.as_bytes())? {
            let message = format!("{} already exists; not overwriting it", to.display());
            return Err(
                Failure::refused("file_exists", message).hint("rlx contract request --to ANOTHER_FILE")
            );
        }
        request.written = Some(path);
    }
    Ok(request)
}

fn named(name: &str) -> Outcome<Section> {
    match name.parse() {
        Ok(Target::Section(section)) => Ok(section),
        _ => {
            let names: Vec<String> = Section::ALL.iter().map(ToString::to_string).collect();
            let message = format!("unknown section {name:?}; sections are: {}", names.join(", "));
            Err(Failure::usage("section_unknown", message).hint("rlx contract request"))
        }
    }
}

/// The sections that the study needs next: those for planning first, then those for running.
fn needed(lacking: &impl Fn(&Section) -> bool) -> Vec<Section> {
    let planning = Section::Experiment.depends_on().iter().copied().chain([Section::Plan]);
    let planning: Vec<Section> = planning.filter(|section| lacking(section)).collect();
    if !planning.is_empty() {
        return planning;
    }
    [Section::Experiment, Section::Execute, Section::LoopEntry].into_iter().filter(lacking).collect()
}

/// The flag that selects the study, if it isn't the one that commands use by default.
fn study_flag(context: &Context, opened: &OpenStudy) -> Outcome<String> {
    let registry = opened.place.places().read_registry(context.fs.as_ref())?;
    let active = registry.typed().and_then(|registry| registry.active.as_ref());
    let is_active = active == Some(&opened.place.name);
    Ok(if is_active { String::new() } else { format!(" --study {}", opened.place.name) })
}

fn text(request: &Request) -> String {
    let mut text = format!("Approval request for study {}\n", request.study);
    let mut put =
        |line: String| text.write_fmt(format_args!("{line}\n")).expect("writing to a text can't fail");
    if request.sections.is_empty() {
        put("\nEverything the study needs next is approved.".to_owned());
        return text;
    }
    if !request.open.is_empty() {
        put("\nINCOMPLETE: answer these questions before you approve.".to_owned());
        for open in &request.open {
            put(format!("- {}: {}: {}", open.file, open.path, open.question));
        }
    }
    for one in &request.sections {
        let listed = |sections: &[Section]| {
            let names: Vec<String> = sections.iter().map(Section::to_string).collect();
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        put(format!("\n== {} ==", one.section));
        put(format!("digest      {}", one.digest));
        put(format!("now         {}", one.standing));
        put(format!("allows      {}", one.allows));
        put(format!("depends on  {}", listed(one.depends_on)));
        put(format!("needed by   {} (void if this is void)", listed(&one.carries)));
        for (key, value) in one.content.as_object().into_iter().flatten() {
            put(format!("\n{}", key.replacen(':', ": ", 1)));
            for line in to_yaml(value).lines() {
                put(format!("    {line}").trim_end().to_owned());
            }
        }
    }
    put(format!("\n== How to approve ==\nThis study requires approval by {} or stronger.", request.required));
    if request.required < Assurance::Signature {
        put(format!("\nOn a terminal:\n    {}", request.terminal));
    }
    if !request.signature.is_empty() {
        put("\nWith a signature, using your SSH key:".to_owned());
        for line in &request.signature {
            put(format!("    {line}"));
        }
        put("\nA signature is valid only while the files and the ledger are unchanged.".to_owned());
    }
    text
}
