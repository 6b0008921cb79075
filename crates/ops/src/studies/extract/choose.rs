//! Which of a run's files a declaration means.

use rlxp_govern::documents::{Extractor, Role};
use rlxp_govern::ledger::event::{NoValue, Unmeasured};
use rlxp_govern::scope::matches;

/// The printed output of the evaluation.
const EVAL_LOG: &str = "eval.log";

/// The files that a metric is read from. For TensorBoard and W&B these can be several, of which one has the metric.
pub(crate) fn choose<'f>(
    source: &Extractor,
    role: Role,
    files: impl Iterator<Item = &'f str> + Clone,
) -> Result<Vec<&'f str>, Unmeasured> {
    let may_be_read = |name: &str| !role.decides() || is_of_evaluation(name);
    let fitting: Vec<&str> = files.clone().filter(|name| fits(source, name)).collect();
    let (own, other): (Vec<&str>, Vec<&str>) = fitting.into_iter().partition(|name| may_be_read(name));
    let several = |names: &[&str]| {
        let shown: Vec<&str> = names.iter().take(5).copied().collect();
        let more = if names.len() > shown.len() { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    let no = |kind, detail| Err(Unmeasured { kind, detail });
    match own.as_slice() {
        [] => {
            let Some(pattern) = source.file() else {
                return no(NoValue::Missing, format!("the run has no {EVAL_LOG}"));
            };
            let mut detail = format!("no file matches {pattern}");
            let below =
                files.clone().find(|name| name.strip_prefix("eval/").is_some_and(|rest| fits(source, rest)));
            if let Some(name) = other.first() {
                let role = role.as_str();
                detail = format!(
                    "{name} is not written by the evaluation: a {role} metric must be in a file below eval/"
                );
            } else if let Some(name) = below {
                detail.push_str(&format!("; found in {name}: output of the eval step is in eval/"));
            }
            no(NoValue::Missing, detail)
        }
        [_] => Ok(own),
        _ if matches!(source, Extractor::Tensorboard { .. } | Extractor::Wandb { .. }) => Ok(own),
        names => {
            let pattern = source.file().unwrap_or_default();
            no(NoValue::Ambiguous, format!("{pattern} matches several files: {}", several(names)))
        }
    }
}

/// Whether only the evaluation can have written a file.
fn is_of_evaluation(name: &str) -> bool {
    name == EVAL_LOG || name.starts_with("eval/")
}

fn fits(source: &Extractor, name: &str) -> bool {
    let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
    match source {
        Extractor::Json { file, .. } | Extractor::Jsonl { file, .. } | Extractor::Csv { file, .. } => {
            matches(file, name)
        }
        Extractor::Stdout { .. } | Extractor::StdoutRegex { .. } => name == EVAL_LOG,
        Extractor::Tensorboard { file, .. } => {
            last.contains("tfevents") && (matches(file, name) || matches(file.trim_end_matches('/'), folder))
        }
        Extractor::Wandb { file, .. } => {
            // The folder of the run, the `wandb` folder with it, or the folder above.
            let file = file.trim_end_matches('/');
            let is_run = last.starts_with("run-") && last.ends_with(".wandb");
            let mut folders = name.rmatch_indices('/').map(|(end, _)| &name[..end]).take(3);
            is_run && (matches(file, name) || folders.any(|folder| matches(file, folder)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        source: Extractor,
        role: Role,
        files: &[&'static str],
    ) -> Result<Vec<&'static str>, (NoValue, String)> {
        choose(&source, role, files.iter().copied()).map_err(|no| (no.kind, no.detail))
    }

    fn json(file: &str) -> Extractor {
        Extractor::Json { file: file.into(), pointer: "/x".into() }
    }

    #[test]
    fn what_decides_comes_from_the_evaluation() {
        let files = ["eval.log", "eval/a.json", "eval/b.json", "train/a.json", "train/c.json"];
        assert_eq!(chosen(json("eval/a.json"), Role::Primary, &files), Ok(vec!["eval/a.json"]));
        // A pattern that training's files fit too means those of the evaluation alone.
        assert_eq!(chosen(json("*/a.json"), Role::Primary, &files), Ok(vec!["eval/a.json"]));
        let several = "*/a.json matches several files: eval/a.json, train/a.json".to_owned();
        assert_eq!(chosen(json("*/a.json"), Role::Diagnostic, &files), Err((NoValue::Ambiguous, several)));
        let several = "eval/*.json matches several files: eval/a.json, eval/b.json".to_owned();
        assert_eq!(chosen(json("eval/*.json"), Role::Primary, &files), Err((NoValue::Ambiguous, several)));
        for role in [Role::Primary, Role::Guardrail, Role::Rollback] {
            let (kind, detail) = chosen(json("train/c.json"), role, &files).unwrap_err();
            assert_eq!(kind, NoValue::Missing);
            assert!(detail.starts_with("train/c.json is not written by the evaluation"), "{detail}");
        }
        assert_eq!(chosen(json("train/c.json"), Role::Component, &files), Ok(vec!["train/c.json"]));
        let (_, detail) = chosen(json("a.json"), Role::Primary, &files).unwrap_err();
        assert!(detail.contains("found in eval/a.json"), "{detail}");
        let log = Extractor::Stdout { before: "return:".into() };
        assert_eq!(chosen(log.clone(), Role::Primary, &files), Ok(vec!["eval.log"]));
        assert!(chosen(log, Role::Primary, &["train.log"]).is_err());
    }

    /// Whatever is read is expected, so a run is never said to lack what it has.
    #[test]
    fn what_is_chosen_is_expected() {
        let files = [
            "eval/scores.json",
            "eval/tb/events.out.tfevents.1.host.2.0",
            "eval/wandb/offline-run-20260101_000000-abc/run-abc.wandb",
        ];
        let tensorboard = |file: &str| Extractor::Tensorboard { file: file.into(), tag: "x".into() };
        let wandb = |file: &str| Extractor::Wandb { file: file.into(), key: "x".into() };
        let sources = [
            json("eval/scores.json"),
            json("eval/*.json"),
            tensorboard("eval/tb"),
            tensorboard("eval/*"),
            tensorboard("eval/tb/*"),
            wandb("eval"),
            wandb("eval/wandb/"),
            wandb("eval/wandb/offline-run-*"),
            wandb("eval/wandb/offline-run-*/run-abc.wandb"),
        ];
        for source in sources {
            let patterns = source.expected_files().unwrap();
            let chosen = choose(&source, Role::Primary, files.iter().copied()).unwrap();
            assert!(
                chosen.iter().all(|name| patterns.iter().any(|pattern| matches(pattern, name))),
                "{source:?}"
            );
            assert!(!patterns.iter().any(|pattern| matches(pattern, "eval/other/notes.txt")), "{source:?}");
        }
        assert_eq!(Extractor::Stdout { before: "return:".into() }.expected_files(), None);
    }

    #[test]
    fn folders_of_event_files_and_offline_runs() {
        let files = [
            "eval/tb/events.out.tfevents.1.host.2.0",
            "eval/tb/events.out.tfevents.2.host.2.0",
            "eval/tb/notes.txt",
            "eval/wandb/offline-run-20260101_000000-abc/run-abc.wandb",
            "eval/wandb/offline-run-20260101_000000-abc/logs/debug.log",
        ];
        let tensorboard = |file: &str| Extractor::Tensorboard { file: file.into(), tag: "x".into() };
        for file in ["eval/tb", "eval/tb/", "eval/*", "eval/tb/*"] {
            assert_eq!(chosen(tensorboard(file), Role::Primary, &files), Ok(files[..2].to_vec()), "{file}");
        }
        let wandb = |file: &str| Extractor::Wandb { file: file.into(), key: "x".into() };
        for file in
            ["eval", "eval/wandb", "eval/wandb/offline-run-*", "eval/wandb/offline-run-*/run-abc.wandb"]
        {
            assert_eq!(chosen(wandb(file), Role::Primary, &files), Ok(vec![files[3]]), "{file}");
        }
        assert!(chosen(wandb("train"), Role::Diagnostic, &files).is_err());
    }
}
