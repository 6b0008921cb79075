//! What the files of a repository reveal about how it trains. Reads names and a few texts; starts nothing, follows no
//! links, and stops after a fixed number of entries.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind, environment};
use rlxp_govern::documents::{Assurance, Claim, ClaimKind, SurfaceKind};
use rlxp_types::Digest;
use rlxp_types::text::shell_word;

use super::ask::Ask;
use super::interpreter::python;
use super::not_in_commits;
use super::survey_text::{
    environment_id, hyperparameter_flags, hyperparameters, python_scripts, rlx_config, slot_words,
    table_metric,
};
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::scripts;

/// Most entries that are read; shallow folders come first.
const MOST_ENTRIES: usize = 20_000;
/// Most levels below the root.
const DEEPEST: usize = 6;
/// Most bytes that are read of a text.
const LONGEST_TEXT: usize = 256 << 10;
/// Most texts that are searched for names of data.
const MOST_TEXTS: usize = 400;
/// Folders with other people's code, or without code. Hidden folders are skipped too.
const SKIPPED: [&str; 9] =
    ["node_modules", "__pycache__", "venv", "env", "site-packages", "target", "build", "dist", "third_party"];

/// Something that was found, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    pub text: String,
    /// The file that says so.
    pub from: String,
}

/// What the scan found.
#[derive(Clone, Debug, Default)]
pub struct RepositoryScan {
    /// Whether the whole repository was scanned.
    pub is_whole: bool,
    /// The command that trains.
    pub train: Option<Guess>,
    /// The command that evaluates.
    pub eval: Option<Guess>,
    /// The environment that is trained on.
    pub environment: Option<Guess>,
    /// Files by the kind of change that they allow.
    pub surfaces: Vec<(SurfaceKind, Vec<String>)>,
    /// Config files with keys of well-known hyperparameters.
    pub configs: Vec<(String, Vec<String>)>,
    /// Files that evaluate or compute metrics.
    pub protected: Vec<String>,
    /// A metric as `NAME`, and its source as `FILE#KEY`.
    pub metric: Option<(Guess, Guess)>,
    /// What shows that there is a GPU.
    pub gpu: Option<String>,
    /// Bytes of available memory.
    pub memory: Option<u64>,
    /// Free bytes on the disk.
    pub disk: Option<u64>,
    /// The weakest kind of approval that the study was opened with.
    pub floor: Option<Assurance>,
    /// The mission on the task card.
    pub mission: Option<Guess>,
    /// How the train command takes a value.
    pub override_syntax: Option<Guess>,
    /// Files that git ignores and the code names.
    pub inputs: Vec<String>,
    /// Digests of the inputs that are agreed.
    pub input_digests: BTreeMap<String, Digest>,
    /// What runs won't have.
    pub warnings: Vec<String>,
    /// The answers of an earlier intake whose draft is replaced.
    pub last_answers: BTreeMap<Ask, Vec<String>>,
}

/// Looks at the repository at `root`. What was audited comes before what names suggest.
pub fn scan_repository(context: &Context, root: &Path, audited: &[Claim]) -> Outcome<RepositoryScan> {
    let fs = context.fs.as_ref();
    let (files, is_whole) = walk(fs, root)?;
    let read = |name: &str| text_of(fs, &root.join(name));
    let mut found = RepositoryScan { is_whole, ..RepositoryScan::default() };
    let python = python(fs, root, files.iter().any(|file| file == "uv.lock"));
    let scripts = if files.iter().any(|file| file == "pyproject.toml") {
        python_scripts(&read("pyproject.toml"))
    } else {
        Vec::new()
    };
    let by_script = |script: &str| -> (Guess, String) {
        let text = read(script);
        let mut run = format!("{python} {}", shell_word(script));
        for word in slot_words(&text) {
            run.push(' ');
            run.push_str(&word);
        }
        (Guess { text: run, from: script.to_owned() }, text)
    };
    let command = |words: &[&str]| -> Option<(Guess, String)> {
        if let Some(name) = scripts.iter().find(|name| words.iter().any(|word| name.starts_with(word))) {
            let run = if python.starts_with("uv") { format!("uv run {name}") } else { name.clone() };
            return Some((Guess { text: run, from: "pyproject.toml".into() }, String::new()));
        }
        best_script(&files, words).map(by_script)
    };
    // A claim may cite any text; only a script can be turned into a command.
    let claimed = |kinds: &[ClaimKind]| -> Option<(Guess, String)> {
        let is_script = |claim: &&Claim| claim.file.ends_with(".py") && files.contains(&claim.file);
        let of = |kind: &ClaimKind| audited.iter().filter(is_script).find(|claim| claim.about == *kind);
        kinds.iter().find_map(of).map(|claim| by_script(&claim.file))
    };
    let trains = claimed(&[ClaimKind::TrainCommand])
        .or_else(|| command(&["train"]))
        .or_else(|| single_file(&files, &read).map(|script| by_script(&script)))
        .or_else(|| command(&["main"]));
    let mut own_flags = Vec::new();
    if let Some((guess, text)) = trains {
        found.environment = environment_id(&text).map(|id| Guess { text: id, from: guess.from.clone() });
        let syntax = scripts::override_syntax(&text);
        found.override_syntax =
            syntax.map(|syntax| Guess { text: syntax.to_owned(), from: guess.from.clone() });
        own_flags = hyperparameter_flags(&text);
        found.train = Some(guess);
    }
    let evaluates = claimed(&[ClaimKind::EvalCommand, ClaimKind::Evaluator]);
    found.eval = evaluates.or_else(|| command(&EVALUATORS)).map(|(guess, _)| guess);
    for file in files.iter().filter(|file| is_config(file)) {
        let text = read(file);
        if let Some(id) = rlx_config(&text) {
            let from = file.clone();
            found.train.get_or_insert_with(|| Guess {
                text: format!("rlx train {file} --set seed={{seed}}"),
                from: file.clone(),
            });
            found.environment.get_or_insert(Guess { text: id, from });
        }
        if found.configs.len() < 4 {
            let keys = hyperparameters(&text);
            if !keys.is_empty() {
                found.configs.push((file.clone(), keys));
            }
        }
    }
    // Where no config holds them, hyperparameters are flags of the script that trains.
    if let Some(guess) = found.train.as_ref().filter(|_| found.configs.is_empty() && !own_flags.is_empty()) {
        found.configs.push((guess.from.clone(), own_flags));
    }
    for (kind, words) in SURFACE_WORDS {
        let named = |file: &&String| {
            let stem = stem(file).to_lowercase();
            is_code(file) && !is_test(file) && words.iter().any(|word| stem.contains(word))
        };
        let paths: Vec<String> = files.iter().filter(named).take(8).cloned().collect();
        if !paths.is_empty() {
            found.surfaces.push((kind, paths));
        }
    }
    let is_claimed = |file: &str| {
        let evaluates = |claim: &Claim| matches!(claim.about, ClaimKind::Evaluator | ClaimKind::EvalCommand);
        audited.iter().any(|claim| evaluates(claim) && claim.file == file)
    };
    let by_name = |file: &str| !is_test(file) && is_evaluator(stem(file));
    found.protected = files
        .iter()
        .filter(|file| file.ends_with(".py") && (is_claimed(file) || by_name(file)))
        .take(16)
        .cloned()
        .collect();
    found.metric = files.iter().filter(|file| is_log(file)).find_map(|file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        let (metric, key) = table_metric(name, &read(file))?;
        let from = file.clone();
        // A run's evaluation writes below `eval/`.
        let source = Guess { text: format!("eval/{name}#{key}"), from: from.clone() };
        Some((Guess { text: metric, from }, source))
    });
    let texts: Vec<String> =
        files.iter().filter(|file| is_code(file)).take(MOST_TEXTS).map(|file| read(file)).collect();
    let beside = not_in_commits::look(fs, root, &files, &texts);
    (found.inputs, found.warnings) = (beside.inputs, beside.warnings);
    for path in ["/proc/driver/nvidia", "/dev/nvidia0"] {
        if found.gpu.is_none() && fs.metadata_if_any(Path::new(path)).is_ok_and(|meta| meta.is_some()) {
            found.gpu = Some(path.to_owned());
        }
    }
    found.memory = environment::available_memory();
    found.disk = context.user.state.as_ref().and_then(|state| fs.available_around(state).ok());
    Ok(found)
}

const EVALUATORS: [&str; 4] = ["eval", "evaluate", "play", "enjoy"];

const SURFACE_WORDS: [(SurfaceKind, &[&str]); 4] = [
    (SurfaceKind::Reward, &["reward"]),
    (SurfaceKind::Termination, &["terminat"]),
    (SurfaceKind::Curriculum, &["curricul"]),
    (SurfaceKind::Randomisation, &["randomiz", "randomis"]),
];

fn is_evaluator(stem: &str) -> bool {
    let stem = stem.to_lowercase();
    EVALUATORS.iter().any(|word| stem.starts_with(word)) || stem.ends_with("_eval") || stem.contains("metric")
}

/// The file that most likely does what the first of `words` names: the simplest name nearest to the root.
fn best_script<'f>(files: &'f [String], words: &[&str]) -> Option<&'f str> {
    let rank = |file: &str| -> Option<usize> {
        let stem = stem(file).to_lowercase();
        words.iter().enumerate().find_map(|(index, word)| {
            if stem == *word {
                Some(2 * index)
            } else if stem.starts_with(word) && *word != "main" {
                Some(2 * index + 1)
            } else {
                None
            }
        })
    };
    files
        .iter()
        .filter(|file| file.ends_with(".py") && !is_test(file))
        .filter_map(|file| Some(((file.matches('/').count(), rank(file)?, file.as_str()), file)))
        .min_by_key(|(order, _)| *order)
        .map(|(_, file)| file.as_str())
}

/// Names of algorithms, which single-file implementations have.
const ALGORITHMS: [&str; 16] = [
    "ppo",
    "dqn",
    "sac",
    "td3",
    "ddpg",
    "a2c",
    "c51",
    "ppg",
    "rpo",
    "trpo",
    "reinforce",
    "rainbow",
    "qdagger",
    "impala",
    "dreamer",
    "cem",
];

/// A script that is an algorithm in one file, as in CleanRL: it is named after it, can be started, and takes flags.
fn single_file(files: &[String], read: &dyn Fn(&str) -> String) -> Option<String> {
    let rank = |file: &str| -> Option<(bool, usize)> {
        let stem = stem(file).to_lowercase();
        let index = ALGORITHMS.iter().position(|name| stem.starts_with(name))?;
        Some((stem != ALGORITHMS[index], index))
    };
    let mut named: Vec<((bool, usize), usize, &String)> = files
        .iter()
        .filter(|file| file.ends_with(".py") && !is_test(file) && !is_evaluator(stem(file)))
        .filter_map(|file| Some((rank(file)?, file.matches('/').count(), file)))
        .collect();
    named.sort_unstable();
    let is_started = |text: &str| text.contains("__main__") && scripts::override_syntax(text).is_some();
    named.into_iter().take(MOST_NAMED).map(|(_, _, file)| file).find(|file| is_started(&read(file))).cloned()
}

/// Most scripts named after an algorithm that are read.
const MOST_NAMED: usize = 40;

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

fn is_test(file: &str) -> bool {
    file.split('/').any(|part| part == "tests" || part == "test" || part.starts_with("test_"))
}

fn is_code(file: &str) -> bool {
    [".py", ".yaml", ".yml", ".toml", ".json"].iter().any(|end| file.ends_with(end))
}

fn is_config(file: &str) -> bool {
    let in_folder =
        file.split('/').rev().skip(1).any(|part| ["configs", "config", "conf", "cfg"].contains(&part));
    let named = ["config", "hyperparam", "params"].iter().any(|word| stem(file).starts_with(word));
    (file.ends_with(".yaml") || file.ends_with(".yml")) && (in_folder || named)
}

fn is_log(file: &str) -> bool {
    file.ends_with(".jsonl") || file.ends_with("progress.csv") || file.ends_with("evaluations.csv")
}

/// Plain files below `root`, sorted, and whether that is all of them.
fn walk(fs: &dyn Fs, root: &Path) -> Outcome<(Vec<String>, bool)> {
    let mut files = Vec::new();
    let (mut seen, mut is_whole) = (0, true);
    let mut waiting: VecDeque<(String, usize)> = VecDeque::from([(String::new(), 0)]);
    while let Some((folder, depth)) = waiting.pop_front() {
        // A folder that can't be listed is skipped.
        let Ok(entries) = fs.list(&join(root, &folder)) else { continue };
        for entry in entries {
            seen += 1;
            if seen > MOST_ENTRIES {
                is_whole = false;
                break;
            }
            let path =
                if folder.is_empty() { entry.name.clone() } else { format!("{folder}/{}", entry.name) };
            match entry.kind {
                Kind::File => files.push(path),
                Kind::Folder if entry.name.starts_with('.') || SKIPPED.contains(&entry.name.as_str()) => {}
                Kind::Folder if depth == DEEPEST => is_whole = false,
                Kind::Folder => waiting.push_back((path, depth + 1)),
                Kind::Link | Kind::Other => {}
            }
        }
    }
    files.sort_unstable();
    Ok((files, is_whole))
}

fn join(root: &Path, folder: &str) -> PathBuf {
    if folder.is_empty() { root.to_owned() } else { root.join(folder) }
}

/// The beginning of a text; empty if it can't be read.
fn text_of(fs: &dyn Fs, path: &Path) -> String {
    let bytes = fs.read_at(path, 0, LONGEST_TEXT).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
