//! `rlx study`

mod clean;
mod export;
mod extract;
mod judge;
mod monitor;
mod probe;
mod propose;
mod receive;
mod reflect;
mod report;
mod steps;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rlxp_ops::below::{Assurance, parse_word};
use rlxp_ops::studies::approver_key::{create, has_approvers};
use rlxp_ops::studies::study::end::{HandOff, close, hand_off};
use rlxp_ops::studies::study::init::{InitReport, InitRequest, check, init};
use rlxp_ops::studies::study::registry::{StudyList, list, make_active};
use rlxp_ops::studies::study::status::{StudyStatus, status};
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::Exit;

use crate::format::moment;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx study init --task balance --study tuning --mission 'Balance for longer with fewer steps'
  rlx study status
  rlx study handoff --reason 'the contract needs a person'";

const INIT_EXAMPLES: &str = "\
Examples:
  rlx study init --task balance --study tuning
  rlx study init --task balance --study rewards --mission 'Balance for longer'";

const USE_EXAMPLES: &str = "\
Examples:
  rlx study use cartpole/first
  rlx study use first";

const LIST_EXAMPLES: &str = "\
Examples:
  rlx study list
  rlx study list --json";

const STATUS_EXAMPLES: &str = "\
Examples:
  rlx study status
  rlx study status --study cartpole/first --json";

const HANDOFF_EXAMPLES: &str = "\
Examples:
  rlx study handoff
  rlx study handoff --reason 'three runs in a row failed'";

const CLOSE_EXAMPLES: &str = "\
Examples:
  rlx study close --reason 'the target was reached'";

/// Govern experiments run by agents in a repository
///
/// Agents propose, people approve, rlx enforces and keeps records. A study has a
/// contract, candidates, and a ledger of everything that happened, all stored as
/// plain text in .rlxp/.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Study {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Init(Init),
    Use(Use),
    List(List),
    Status(Status),
    Next(steps::Next),
    Audit(steps::Audit),
    Monitor(monitor::Monitor),
    Extract(extract::Extract),
    Judge(judge::Judge),
    Report(report::Report),
    Reflect(reflect::Reflect),
    Probe(probe::Probe),
    Propose(propose::Propose),
    Handoff(Handoff),
    Close(Close),
    Export(export::Export),
    Revert(export::Revert),
    Clean(clean::Clean),
    Receive(receive::Receive),
}

/// Which study a command means.
#[derive(Args)]
pub(crate) struct Which {
    /// The study, as STUDY or TASK/STUDY [default: the active study]
    #[arg(long = "study", value_name = "STUDY")]
    selector: Option<String>,
}

impl Which {
    pub(crate) fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }
}

/// Create a study and make it active
///
/// Refuses to run in a git worktree or submodule, in the home folder, and in
/// folders with agents' own files. The keys of the approvers are written to the
/// ledger's first record, and no other keys count later. If none is listed, rlx asks
/// on a terminal whether to create a key for your approvals, or to accept approvals
/// typed at a terminal, which an agent with a terminal can type too.
#[derive(Args)]
#[command(after_long_help = INIT_EXAMPLES)]
struct Init {
    /// Name of the task [default: the name of the folder]
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Name of the study [default: first]
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// What the study should improve, for the task card
    #[arg(long, value_name = "TEXT")]
    mission: Option<String>,
    /// Weakest accepted approval method: signature, terminal or host [default: signature if approvers are listed,
    /// otherwise terminal]
    #[arg(long, value_name = "WAY", value_parser = parse_word::<Assurance>)]
    assurance: Option<Assurance>,
    /// Create a key for your approvals with ssh-keygen, on this terminal, and list it among the approvers
    #[arg(long, conflicts_with = "assurance")]
    new_key: bool,
    /// Import a flat .rlxp/ or a task of .autorl/ as text; nothing in it counts as approved
    #[arg(long, value_name = "FOLDER")]
    import: Option<PathBuf>,
}

/// Choose the active study
#[derive(Args)]
#[command(after_long_help = USE_EXAMPLES)]
struct Use {
    /// The study, as STUDY or TASK/STUDY
    study: String,
}

/// List all studies of the repository
#[derive(Args)]
#[command(after_long_help = LIST_EXAMPLES)]
struct List {}

/// Show the status of a study
///
/// Documents, approvals, candidates, runs, budget, incumbent and ledger. Approvals
/// that have become void are recorded in the ledger.
#[derive(Args)]
#[command(after_long_help = STATUS_EXAMPLES)]
struct Status {
    #[command(flatten)]
    which: Which,
}

/// Hand a study over to a person and record it
///
/// After that, `rlx study next` says to wait as soon as no run is left to watch,
/// read or judge. A person hands the study back by approving anything but `close`
/// (`loop_entry` again, if nothing should change), or ends it by approving `close`.
/// A hand-off revokes no permissions.
#[derive(Args)]
#[command(after_long_help = HANDOFF_EXAMPLES)]
struct Handoff {
    #[command(flatten)]
    which: Which,
    /// The reason [default: the next step]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Close a study; afterwards only notes and anchors can be added
#[derive(Args)]
#[command(after_long_help = CLOSE_EXAMPLES)]
struct Close {
    #[command(flatten)]
    which: Which,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Study {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.what {
            What::Init(command) => command.run(context, screen),
            What::Use(command) => command.run(context, screen),
            What::List(command) => command.run(context, screen),
            What::Status(command) => command.run(context, screen),
            What::Next(command) => command.run(context, screen),
            What::Audit(command) => command.run(context, screen),
            What::Monitor(command) => command.run(context, screen),
            What::Extract(command) => command.run(context, screen),
            What::Judge(command) => command.run(context, screen),
            What::Report(command) => command.run(context, screen),
            What::Reflect(command) => command.run(context, screen),
            What::Probe(command) => command.run(context, screen),
            What::Propose(command) => command.run(context, screen),
            What::Handoff(command) => command.run(context, screen),
            What::Close(command) => command.run(context, screen),
            What::Export(command) => command.run(context, screen),
            What::Revert(command) => command.run(context, screen),
            What::Clean(command) => command.run(context, screen),
            What::Receive(command) => command.run(context, screen),
        }
    }
}

impl Init {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let mut request = InitRequest {
            task: self.task.clone(),
            study: self.study.clone(),
            mission: self.mission.clone(),
            import: self.import.clone(),
            assurance: self.assurance,
        };
        // Before the first record, which fixes the keys that can ever count. What would be refused anyway is refused
        // before a key is created.
        check(context, &request)?;
        match self.way_of_approving(context, screen)? {
            Some(Way::Key) => {
                let listed = create(context)?;
                screen.note(&format!("{} is listed in {}", listed.key.display(), listed.list.display()));
            }
            Some(Way::Terminal) => request.assurance = Some(Assurance::Terminal),
            None => {}
        }
        let report = init(context, &request)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let InitReport { task, study, path, approvers, approvers_file, .. } = &report;
        screen.line(format!("created {task}/{study} in {}", path.display()));
        let better = if report.assurance == Assurance::Signature { "only" } else { "or stronger" };
        screen.line(format!("  accepted approvals: {} {better}", report.assurance));
        for approver in approvers {
            screen.line(format!("  approver {} {}", approver.name, approver.fingerprint));
        }
        if approvers.is_empty() {
            let place =
                approvers_file.as_ref().map_or_else(String::new, |path| format!(" in {}", path.display()));
            screen.warning(&format!(
                "no approvers are listed{place}, so approvals are typed at a terminal, which an agent with a terminal can \
                 do too; keys that are listed later don't count in this study"
            ));
        }
        for kept in &report.kept {
            screen.note(&format!("kept the existing {kept} of the task"));
        }
        if let Some(imported) = &report.imported {
            screen.line(format!("imported {} as text; nothing in it is approved", imported.from));
            for file in &imported.files {
                screen.line(format!("  imported/{file}"));
            }
            if !imported.unknown.is_empty() {
                let listed = format!("not imported: {}", imported.unknown.join(", "));
                screen.answer(paragraph(&listed, 2, ""));
            }
            screen.hint("rlx contract check");
            return Ok(Exit::Yes);
        }
        screen.hint("rlx study next");
        Ok(Exit::Yes)
    }
}

/// How a single user without keys will approve.
enum Way {
    Key,
    Terminal,
}

impl Init {
    /// The one question about approvals; `None` where flags or the list of approvers answer it, or no one can.
    fn way_of_approving(&self, context: &Context, screen: &Screen) -> Outcome<Option<Way>> {
        if self.new_key {
            return match screen.can_type() {
                true => Ok(Some(Way::Key)),
                false => {
                    let message = "--new-key needs a terminal: ssh-keygen asks you for a passphrase there";
                    Err(Failure::refused("no_terminal", message).hint("rlx study init --assurance terminal"))
                }
            };
        }
        if self.assurance.is_some() || !screen.can_type() || has_approvers(context)? {
            return Ok(None);
        }
        screen.note("No approver is listed yet. How will you approve?");
        screen
            .note("  key       rlx starts ssh-keygen, which creates a key; approvals are signatures with it");
        screen.note("  terminal  you type approvals at a terminal; weaker, as an agent with a terminal can type them too");
        loop {
            let Some(typed) = screen.type_in("key or terminal? [key] ") else { return Ok(None) };
            match typed.trim() {
                "" | "k" | "key" => return Ok(Some(Way::Key)),
                "t" | "terminal" => return Ok(Some(Way::Terminal)),
                other => screen.note(&format!("  {other:?} is neither key nor terminal")),
            }
        }
    }
}

impl Use {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let name = make_active(context, &self.study)?;
        if screen.is_json() {
            screen.json(&name);
        } else {
            screen.line(format!("{name} is active"));
        }
        Ok(Exit::Yes)
    }
}

impl List {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let found = list(context)?;
        if screen.is_json() {
            screen.json(&found);
            return Ok(Exit::Yes);
        }
        let StudyList { studies, flat, .. } = found;
        if let Some(flat) = &flat {
            let files = flat.files.join(", ");
            screen.line(format!("{}/{}  old files, read-only: {files}", flat.task, flat.study));
            screen.hint(&flat.import);
            if studies.is_empty() {
                return Ok(Exit::Yes);
            }
        }
        if studies.is_empty() {
            screen.answer("no studies yet");
            screen.hint("rlx study init");
            return Ok(Exit::Yes);
        }
        let columns = [
            ("", Align::Left),
            ("study", Align::Left),
            ("state", Align::Left),
            ("records", Align::Right),
            ("last", Align::Left),
        ];
        let mut table = Table::new(columns);
        for row in &studies {
            let state = match (&row.problem, &row.closed, row.open) {
                (Some(_), ..) => "broken",
                (None, Some(_), _) => "closed",
                (None, None, true) => "open",
                (None, None, false) => "prepared",
            };
            table.row([
                if row.active { "*" } else { "" }.to_owned(),
                format!("{}/{}", row.task, row.study),
                state.to_owned(),
                row.records.to_string(),
                row.last.as_deref().map(moment).unwrap_or_default(),
            ]);
        }
        screen.answer(table.render("", |heading| screen.styled(Style::Heading, heading)));
        for row in studies.iter().filter(|row| row.problem.is_some()) {
            let problem = row.problem.as_deref().unwrap_or_default();
            screen.warning(&format!("the ledger of {}/{} is broken: {problem}", row.task, row.study));
        }
        Ok(Exit::Yes)
    }
}

impl Status {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let status = status(context, self.which.selector())?;
        if screen.is_json() {
            screen.json(&status);
            return Ok(Exit::Yes);
        }
        show(screen, &status);
        screen.hint("rlx study next");
        Ok(Exit::Yes)
    }
}

fn show(screen: &Screen, status: &StudyStatus) {
    screen.answer(screen.styled(Style::Heading, &format!("{}/{}", status.task, status.study)));
    for sentence in status.paragraphs() {
        screen.answer(paragraph(&sentence, 2, ""));
    }
    let mut table = Table::new([("approval", Align::Left), ("status", Align::Left)]);
    for approval in &status.approvals {
        table.row([approval.target.to_string(), approval.standing.to_string()]);
    }
    screen.answer(table.render("  ", |heading| screen.styled(Style::Heading, heading)));
    warn(screen, &status.warnings);
}

/// What could not be done and changes no answer.
pub(crate) fn warn(screen: &Screen, warnings: &[String]) {
    for warning in warnings {
        screen.warning(warning);
    }
}

impl Handoff {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = hand_off(context, self.which.selector(), self.reason.as_deref())?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let HandOff { reason, status, person, next } = &report;
        screen.line(format!("handed off {}/{}: {reason}", status.task, status.study));
        for sentence in status.paragraphs() {
            screen.answer(paragraph(&sentence, 2, ""));
        }
        screen.answer(screen.styled(Style::Heading, "What a person must do"));
        if person.is_empty() {
            screen.answer("  nothing");
        }
        for task in person {
            screen.answer(paragraph(task, 2, "- "));
        }
        screen.answer(paragraph(&format!("Then: {}", next.reason), 2, ""));
        warn(screen, &status.warnings);
        if let Some(command) = &next.command {
            screen.hint(command);
        }
        Ok(Exit::Yes)
    }
}

impl Close {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = close(context, self.which.selector(), &self.reason)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        screen.line(format!("closed {}: {}", report.name, report.reason));
        warn(screen, &report.warnings);
        screen.hint(&format!("rlx study export --study {} --to FOLDER", report.name));
        Ok(Exit::Yes)
    }
}
