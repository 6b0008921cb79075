//! A study whose runs take milliseconds, each of which tries to leave a process behind, and everything that must hold
//! for it whatever is killed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::launch::candidates::probe;
use crate::launch::repository::Repository;

/// Records that it was started, leaves a process in another session that ignores SIGTERM, and does its work:
/// immediately, or once it is released.
const TRAIN: &str = r#"seed=$1 run=$2 word=$3
echo "$RLX_RUN" >> "$run/starts"
(trap '' TERM; setsid sh linger.sh "$word" < /dev/null > /dev/null 2>&1 &)
if [ "$4" = hold ]; then
    trap '' TERM
    until [ -e "$run/end" ]; do sleep 0.02; done
fi
echo "$seed" > "$run/result"
"#;
const LINGER: &str = "while :; do sleep 1; done\n";
const EVAL: &str = r#"run=$2 trained=$3
echo "$RLX_RUN" >> "$run/starts"
cp "$trained/result" "$run/result"
echo '{"success": 0.75}' > "$run/scores.json"
"#;

/// How long something may take on a busy machine. Nothing that a test waits for happens by itself meanwhile: leftover
/// processes run forever, and a waiting run is ended by its limit much later.
const PATIENCE: Duration = Duration::from_secs(30);

/// A study with a candidate that can be launched.
pub(super) struct Scene {
    pub(super) repository: Repository,
    pub(super) candidate: String,
    /// The digest of its plan.
    pub(super) plan: String,
    /// In the command line of every process of its runs, and of no other.
    word: String,
}

/// A recorded run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) key: String,
    pub(super) seed: u64,
    /// How it ended; empty when it hasn't.
    pub(super) end: String,
}

impl Scene {
    /// Runs end immediately; one at a time.
    pub(super) fn new(candidate: &str, phase: &str, seeds: u64) -> Self {
        Self::with(candidate, phase, seeds, 1, "at once")
    }

    /// As many at once as `parallel`; runs end `when`: immediately, or once they are released (`hold`).
    pub(super) fn with(candidate: &str, phase: &str, seeds: u64, parallel: u64, when: &str) -> Self {
        let word = format!("word-{}", own(candidate));
        let build = Repository::build()
            .without_baseline()
            .screen_seeds(seeds)
            .file("train.sh", TRAIN)
            .file("linger.sh", LINGER)
            .file("eval.sh", EVAL)
            .train_with(&["sh", "train.sh", "{seed}", "{run}", &word, when])
            .eval_with(&["sh", "eval.sh", "{seed}", "{run}", "{trained}"])
            .agree(|agreed| {
                agreed.runbook["artifacts"] = json!(["result"]);
                agreed.runbook["inputs"] = json!([]);
                let budget = &mut agreed.contract["budget"];
                budget["runs"] = 100.into();
                budget["wall_clock"] = "2h".into();
                budget["disk"] = "10GiB".into();
                budget["parallel"] = parallel.into();
            });
        let (repository, nothing) = (build.approved(), String::new());
        let mut scene = Self { repository, candidate: nothing.clone(), plan: nothing, word };
        scene.next_candidate(candidate, phase);
        scene
    }

    /// Another candidate that changes nothing, from here on.
    pub(super) fn next_candidate(&mut self, name: &str, phase_name: &str) {
        let mut value = probe();
        if phase_name == "smoke" {
            value["kind"] = "smoke".into();
        }
        self.candidate = own(name);
        self.repository.ready(&self.candidate, value);
        // As validated: nothing that a launch creates exists yet.
        self.plan =
            self.repository.validate(&self.candidate).expect(0).json()["plan"].as_str().unwrap().to_owned();
    }

    /// The arguments that launch its next run.
    pub(super) fn launch_one(&self) -> String {
        self.repository.execute(&self.candidate, &self.plan) + " --runs 1"
    }

    /// Its runs, in the order in which they were intended.
    pub(super) fn runs(&self) -> Vec<Run> {
        let ends = self.repository.records("run_ended");
        let intents = self.repository.records("launch_intent").into_iter();
        let run = |intent: Value| {
            let end = ends.iter().find(|end| end["key"] == intent["key"]);
            Run {
                key: intent["key"].as_str().unwrap().to_owned(),
                seed: intent["seed"].as_u64().unwrap(),
                end: end.map(|end| end["end"].as_str().unwrap().to_owned()).unwrap_or_default(),
            }
        };
        intents.filter(|intent| intent["candidate"] == *self.candidate).map(run).collect()
    }

    pub(super) fn runs_of(&self, seed: u64) -> Vec<Run> {
        self.runs().into_iter().filter(|run| run.seed == seed).collect()
    }

    /// How often a step of a run really started, according to its own record.
    pub(super) fn starts(&self, key: &str, step: &str) -> usize {
        let file = self.repository.run_folder(key).join(step).join("starts");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        assert!(text.lines().all(|line| line == key), "{key}: {text}");
        text.lines().count()
    }

    pub(super) fn candidate_state(&self) -> String {
        self.state()["candidates"][&self.candidate]["state"].as_str().unwrap().to_owned()
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.repository.read("state.json")).unwrap()
    }

    /// What must hold when nothing runs, whatever was killed at a place that the source names.
    #[track_caller]
    pub(super) fn check(&self, place: &str) {
        self.check_runs(place);
        self.check_budget(place);
        self.check_groups(place);
        // Nothing half-written stays in the study.
        let mut folders = vec![self.repository.file("")];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder) {
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(!name.starts_with(".tmp-") && !name.contains(".lock"), "{place}: {}", path.display());
                folders.extend(path.is_dir().then_some(path));
            }
        }
    }

    /// One run per key, each started at most once; at most one result per seed, and none that was reported is lost.
    #[track_caller]
    pub(super) fn check_runs(&self, place: &str) {
        let runs = self.runs();
        let keys: BTreeSet<&str> = runs.iter().map(|run| run.key.as_str()).collect();
        assert_eq!(keys.len(), runs.len(), "{place}: {runs:?}");
        let good: Vec<u64> = runs.iter().filter(|run| run.end == "ok").map(|run| run.seed).collect();
        assert_eq!(good.iter().collect::<BTreeSet<_>>().len(), good.len(), "{place}: {runs:?}");
        for folder in entries(&self.repository.state().join("runs")) {
            let key = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let starts = ["train", "smoke", "eval"].map(|step| self.starts(&key, step));
            assert!(starts.iter().all(|count| *count <= 1), "{place}: {key} started {starts:?} times");
            let known = self.repository.records("launch_intent").iter().any(|intent| intent["key"] == *key);
            assert!(known || starts == [0; 3], "{place}: {key} ran and is not on record");
        }
        for run in runs.iter().filter(|run| run.end == "ok") {
            assert_eq!(self.starts(&run.key, "train"), 1, "{place}: {run:?}");
            let end = std::fs::read(self.repository.run_folder(&run.key).join("end.json")).unwrap();
            let end: Value = serde_json::from_slice(&end).unwrap();
            assert_eq!(end["manifest"], self.repository.end_of(&run.key)["manifest"], "{place}");
        }
    }

    /// Nothing is reserved any more, and what is spent is what the ends say.
    #[track_caller]
    pub(super) fn check_budget(&self, place: &str) {
        let state = self.state();
        let ends = self.repository.records("run_ended");
        for what in ["runs", "wall_clock", "gpu_time", "disk"] {
            assert_eq!(state["reserved"][what], 0, "{place}: {what}");
            let sum: u64 = ends.iter().map(|end| end["spent"][what].as_u64().unwrap()).sum();
            assert_eq!(state["spent"][what], sum, "{place}: {what}");
        }
        let counted = ends.iter().filter(|end| end["end"] != "blocked").count();
        assert_eq!(state["spent"]["runs"], counted, "{place}");
    }

    /// No control group of a run is left.
    #[track_caller]
    fn check_groups(&self, place: &str) {
        let mine = format!("rlx-{}-r1-", self.candidate);
        let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder).into_iter().filter(|path| path.is_dir() && !path.is_symlink()) {
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(!name.starts_with(&mine), "{place}: {}", path.display());
                folders.push(path);
            }
        }
    }

    /// Folders of runs whose claim was begun and not completed.
    pub(super) fn unfinished_claims(&self) -> Vec<PathBuf> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let runs = entries(&self.repository.state().join("runs"));
        runs.into_iter().filter(|path| name(path).starts_with(".tmp-")).collect()
    }

    /// Nothing of its phase is left to run, and a launch reports that.
    #[track_caller]
    pub(super) fn is_over(&self) {
        let ran = self.repository.rlx(&self.launch_one()).expect(3);
        match self.candidate_state().as_str() {
            "launched" => assert_eq!(ran.json()["code"], "nothing_to_run", "{}", ran.stdout),
            // All its runs failed: there is no metric to wait for.
            state => assert_eq!((state, ran.codes()), ("completed", vec!["not_validated".to_owned()])),
        }
    }

    /// Processes of its runs: those with the word in their arguments, and all with the home of this study's user in their
    /// environment.
    pub(super) fn processes(&self) -> Vec<String> {
        let home = self.repository.home().to_str().unwrap();
        let mut found = Vec::new();
        for folder in entries(Path::new("/proc")) {
            // A process that ends meanwhile has no files any more, and those of a zombie are empty.
            let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_default();
            let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let variables = String::from_utf8_lossy(&read("environ")).into_owned();
            if command.contains(&self.word) || command.contains(home) || variables.contains(home) {
                found.push(format!("{} {command}", folder.file_name().unwrap().to_str().unwrap()));
            }
        }
        found
    }

    /// Waits until no process of any run exists; killed ones take a moment to disappear.
    #[track_caller]
    pub(super) fn nothing_is_left(&self, place: &str) {
        let began = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{place}: left running: {left:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the last launched run works and has started the process it leaves behind; returns its key.
    #[track_caller]
    pub(super) fn works(&self) -> String {
        let began = Instant::now();
        loop {
            if let Some(run) = self.runs().pop()
                && run.end.is_empty()
                && self.starts(&run.key, "train") == 1
                && self.processes().iter().any(|line| line.contains("sh linger.sh"))
            {
                return run.key;
            }
            assert!(began.elapsed() < PATIENCE, "no run works: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets a waiting run continue to its end.
    pub(super) fn let_end(&self, key: &str) {
        std::fs::write(self.repository.run_folder(key).join("train/end"), "").unwrap();
    }

    /// The process number of a run's supervisor.
    pub(super) fn supervisor(&self, key: &str) -> u32 {
        let text = std::fs::read(self.repository.run_folder(key).join("shim.json")).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        value["pid"].as_u64().unwrap().try_into().unwrap()
    }
}

/// A name that no other process running these tests has.
fn own(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// The entries of a folder; none if it doesn't exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}
