//! The only place that writes to stdout and stderr.
//!
//! All text passes through [`Ink`], which lets no character through that could control a terminal, so callers pass
//! names and reasons as they are. Ink can't know which newlines are data: fields of one line are written by
//! [`Screen::line`], as cells of a table, or through `rlxp_types::text::one_line`. A message on stderr is always one
//! line, so that no name can pass for an error or a verdict.
//!
//! If the reader goes away (`rlx ls | head -1`), writing ends quietly; an answer that can't be written for another
//! reason (a full disk behind a redirection) is a storage error.

mod ink;

/// Comes before each line of another program's words in a message.
const FENCE: &str = "\n  | ";

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};

use rlxp_ops::below::{Problem, Refusal, Source, environment, render};
use rlxp_ops::reports::Report;
use rlxp_ops::{Event, Failure};
use rlxp_types::Exit;
use rlxp_types::text::{one_line, visible, visible_json};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::arguments::{Color, Global};

use ink::Ink;

/// Writes answers, notes and progress.
pub(crate) struct Screen {
    json: bool,
    quiet: bool,
    colored_stdout: bool,
    colored_stderr: bool,
    ink: Ink,
    stdout: Cell<Stdout>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stdout {
    Open,
    /// The reader has gone away.
    Closed,
    /// Writing failed.
    Failed,
}

/// The meaning of a text; colour only emphasises it.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Error,
    Warning,
    Hint,
    Good,
    Heading,
    Dim,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Error => "1;31",
            Style::Warning => "1;33",
            Style::Hint => "1;36",
            Style::Good => "32",
            Style::Heading => "1",
            Style::Dim => "2",
        }
    }
}

impl Screen {
    pub(crate) fn new(global: &Global) -> Self {
        let colored = |terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !environment::is_set("NO_COLOR"),
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            colored_stdout: colored(io::stdout().is_terminal()),
            colored_stderr: colored(io::stderr().is_terminal()),
            ink: Ink::new(),
            stdout: Cell::new(Stdout::Open),
        }
    }

    /// Whether the answer is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether notes, hints and progress are shown.
    pub(crate) fn is_talkative(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Whether a line of stderr can be overwritten.
    pub(crate) fn is_live(&self) -> bool {
        self.is_talkative() && io::stderr().is_terminal()
    }

    /// Whether stdout is still open.
    pub(crate) fn is_read(&self) -> bool {
        self.stdout.get() == Stdout::Open
    }

    /// A part of the answer: one or more lines.
    pub(crate) fn answer(&self, text: impl AsRef<str>) {
        self.put(&self.ink.written(text.as_ref()));
    }

    /// A part of the answer that is one line, whatever the names in it contain.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.put(&format!("{}\n", self.ink.written_in_line(text.as_ref())));
    }

    /// Parts of the answer that are one line each.
    pub(crate) fn lines(&self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        lines.into_iter().for_each(|line| self.line(line));
    }

    fn put(&self, text: &str) {
        if !self.is_read() {
            return;
        }
        let mut out = io::stdout().lock();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let written = out
            .write_all(text.as_bytes())
            .and_then(|()| out.write_all(end.as_bytes()))
            .and_then(|()| out.flush());
        if let Err(error) = written {
            let state =
                if error.kind() == io::ErrorKind::BrokenPipe { Stdout::Closed } else { Stdout::Failed };
            self.stdout.set(state);
        }
    }

    /// The answer as one JSON object on one line.
    pub(crate) fn json<R: Report>(&self, report: &R) {
        self.put(&visible_json(&object(R::SCHEMA, report).to_string()));
    }

    /// A JSON document that is the whole answer.
    pub(crate) fn document(&self, json: &str) {
        self.put(&visible_json(json));
    }

    /// An event as one line, when the answer is JSON.
    pub(crate) fn event(&self, event: &Event) {
        if self.json {
            self.json(event);
        }
    }

    /// A note, on one line.
    pub(crate) fn note(&self, text: &str) {
        if self.is_talkative() {
            self.complain(text);
        }
    }

    /// A warning.
    pub(crate) fn warning(&self, text: &str) {
        if !self.json {
            self.complain(&format!("{} {text}", self.on_stderr(Style::Warning, "warning:")));
        }
    }

    /// A command to continue with.
    pub(crate) fn hint(&self, text: &str) {
        if self.is_talkative() {
            self.complain(&format!("{} {text}", self.on_stderr(Style::Hint, "hint:")));
        }
    }

    /// Problems of a config with their locations; as warning events in JSON.
    pub(crate) fn warnings(&self, problems: &[Problem], sources: &[Source]) {
        if self.json {
            for problem in problems {
                self.event(&Event::Warning { message: problem.to_string() });
            }
        } else if !problems.is_empty() {
            self.complain_of(problems, sources);
        }
    }

    /// Why a command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            self.put(&visible_json(&failure.to_json().to_string()));
            return;
        }
        if !failure.problems.is_empty() {
            self.complain_of(&failure.problems, &failure.sources);
            self.complain("");
        }
        // What Python said is behind a fence on every line, so none of them can pass for a message of rlx.
        let mut parts = failure.message.split(FENCE);
        let message = parts.next().unwrap_or_default();
        self.complain(&format!("{} {message}", self.on_stderr(Style::Error, "error:")));
        for line in parts {
            self.complain(&format!("  | {line}"));
        }
        for refusal in &failure.refusals {
            self.complain(&refused(refusal));
        }
        for hint in helps(failure) {
            self.complain(&format!("{} {hint}", self.on_stderr(Style::Hint, "hint:")));
        }
    }

    /// Replaces the live line; an empty text clears it.
    pub(crate) fn live(&self, text: &str) {
        let mut err = io::stderr().lock();
        // If stderr is gone, there is nowhere to report that.
        let _ = write!(err, "\r\x1b[2K{}", self.ink.written_in_line(text)).and_then(|()| err.flush());
    }

    /// Replaces the live lines, of which `shown` are on the terminal; none clears them.
    pub(crate) fn live_lines(&self, lines: &[String], shown: usize) {
        let up = if shown > 1 { format!("\x1b[{}A", shown - 1) } else { String::new() };
        let lines: Vec<_> = lines.iter().map(|line| self.ink.written_in_line(line)).collect();
        let mut err = io::stderr().lock();
        // If stderr is gone, there is nowhere to report that.
        let _ = write!(err, "{up}\r\x1b[J{}", lines.join("\n")).and_then(|()| err.flush());
    }

    /// Asks on the terminal; `None` without a terminal.
    pub(crate) fn ask(&self, question: &str) -> Option<bool> {
        let answer = self.type_in(&format!("{question} [y/N] "))?;
        Some(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    /// Whether there is a terminal for questions.
    pub(crate) fn can_type(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// What the user types after a text; `None` without a terminal.
    pub(crate) fn type_in(&self, text: &str) -> Option<String> {
        if !self.can_type() {
            return None;
        }
        let mut err = io::stderr().lock();
        // In one write, so that nothing gets in between.
        let _ = err.write_all(self.ink.written(text).as_bytes()).and_then(|()| err.flush());
        let mut typed = String::new();
        io::stdin().read_line(&mut typed).ok()?;
        Some(typed)
    }

    /// `text` as it looks on stdout, on one line.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        self.styled_block(style, &one_line(text))
    }

    /// Finished lines as they look on stdout.
    pub(crate) fn styled_block(&self, style: Style, text: &str) -> String {
        self.painted(self.colored_stdout, style, text)
    }

    /// The exit code, unless the answer could not be written.
    pub(crate) fn verdict(&self, exit: Exit) -> Exit {
        if self.stdout.get() != Stdout::Failed {
            return exit;
        }
        self.complain("error: can't write to stdout");
        if exit == Exit::Yes { Exit::Storage } else { exit }
    }

    fn on_stderr(&self, style: Style, text: &str) -> String {
        self.painted(self.colored_stderr, style, text)
    }

    fn painted(&self, colored: bool, style: Style, text: &str) -> String {
        if colored { self.ink.paint(style.code(), text) } else { text.to_owned() }
    }

    /// A message on stderr, on one line.
    fn complain(&self, text: &str) {
        write_to_stderr(&self.ink.written_in_line(text));
    }

    /// Problems with their locations; `render` escapes what it quotes, so its colours are rlx's own.
    fn complain_of(&self, problems: &[Problem], sources: &[Source]) {
        let rendered = self.ink.adopt(&render(problems, sources, self.colored_stderr));
        write_to_stderr(&self.ink.written(&rendered));
    }
}

/// A message of the argument parser, on stdout if it was requested. It repeats arguments, so the caller must build
/// `error` from escaped ones.
pub(crate) fn print_parser_message(error: &clap::Error, exit: Exit) -> Exit {
    match error.print() {
        Err(problem) if problem.kind() != io::ErrorKind::BrokenPipe => Exit::Storage,
        _ => exit,
    }
}

/// JSON before a screen exists.
pub(crate) fn print_bare_json(value: &Value) {
    // The exit code says the same, so nothing is lost if the reader is gone.
    let _ = writeln!(io::stdout().lock(), "{}", visible_json(&value.to_string()));
}

/// The report of an internal error, on stderr.
pub(crate) fn print_defect(text: &str) {
    write_to_stderr(&set_in(&visible(text)));
}

fn write_to_stderr(text: &str) {
    // If stderr is gone, there is nowhere to report that.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// `text` with every line after the first indented, so that none looks like a separate message.
fn set_in(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push('\n');
        if !line.is_empty() && !line.starts_with([' ', '\t']) {
            out.push_str("  ");
        }
        out.push_str(line);
    }
    out
}

/// Hints without duplicates: several reasons often have one remedy, and approvals are given together.
fn helps(failure: &Failure) -> Vec<String> {
    const APPROVE: &str = "rlx approve ";
    let all = failure.hints.iter().chain(failure.refusals.iter().map(|one| &one.help));
    let mut helps: Vec<String> = Vec::new();
    for help in all {
        let together = help.strip_prefix(APPROVE).filter(|target| !target.contains(' '));
        let known = helps.iter_mut().find(|known| match together {
            Some(_) => known.starts_with(APPROVE),
            None => *known == help,
        });
        match (known, together) {
            (Some(known), Some(target)) if known.split(' ').all(|word| word != target) => {
                known.push(' ');
                known.push_str(target);
            }
            (Some(_), _) => {}
            (None, _) => helps.push(help.clone()),
        }
    }
    helps
}

/// One reason of a refusal, with its location in a file.
pub(crate) fn refused(refusal: &Refusal) -> String {
    let Refusal { code, gate, reason, evidence, .. } = refusal;
    // The ledger can't be edited, and a location that the reason already names isn't repeated.
    let is_told =
        evidence.is_empty() || evidence.starts_with("ledger.jsonl") || reason.contains(evidence.as_str());
    let place = if is_told { String::new() } else { format!(" [{evidence}]") };
    format!("  {code} ({gate}): {reason}{place}")
}

/// `value` with its schema first.
fn object(schema: &str, value: &impl Serialize) -> Value {
    let mut object = Map::new();
    object.insert("schema".to_owned(), Value::from(schema));
    match serde_json::to_value(value).expect("reports are plain data with text keys") {
        Value::Object(fields) => object.extend(fields.into_iter().filter(|(key, _)| key != "schema")),
        other => {
            object.insert("value".to_owned(), other);
        }
    }
    Value::Object(object)
}
