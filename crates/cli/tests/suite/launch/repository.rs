//! A repository that really trains, with a study in which everything is approved.
//!
//! ```text
//! let repository = Repository::new();                       // as agreed in `agreed.rs`
//! let repository = Repository::build()                      // or something else
//!     .agree(|agreed| agreed.contract["hardware"]["network"] = "loopback".into())
//!     .train_with(&[".venv/bin/python", "hog.py", "--seed", "{seed}"])
//!     .file("hog.py", "…")
//!     .without_baseline()
//!     .approved();
//! repository.ready("reward", reward_scale(2.5));            // written, validated, approved
//! let ran = repository.launch("reward");                    // the plan is asked for and followed
//! ```

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rlxp_types::Digest;
use serde_json::{Value, json};

use crate::governed::study::{Governed, Ran, ran};
use crate::launch::agreed::Agreed;
use crate::launch::candidates::REFLECTION;
use crate::project::RLX;

/// The repository, its user, and the study in it. It derefs to [`Governed`].
pub(crate) struct Repository {
    governed: Governed,
}

/// Builds a repository, before anything in it is approved.
pub(crate) struct Build {
    agreed: Agreed,
    files: Vec<(String, String)>,
    editable: bool,
}

/// What a launch must leave unchanged.
#[derive(Debug, PartialEq)]
pub(crate) struct Untouched {
    head: String,
    branches: String,
    status: String,
    index: Digest,
    pub(crate) files: BTreeMap<PathBuf, Digest>,
}

impl Deref for Repository {
    type Target = Governed;

    fn deref(&self) -> &Governed {
        &self.governed
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The Python that `cargo xtask setup` made.
pub(crate) fn python() -> PathBuf {
    let python = workspace().join(".venv/bin/python");
    assert!(python.exists(), "{} is missing: cargo xtask setup", python.display());
    python
}

impl Build {
    pub(crate) fn agree(mut self, change: impl FnOnce(&mut Agreed)) -> Self {
        change(&mut self.agreed);
        self
    }

    /// Another command for training.
    pub(crate) fn train_with(self, argv: &[&str]) -> Self {
        self.agree(|agreed| agreed.runbook["train"]["argv"] = json!(argv))
    }

    /// Another command for evaluating.
    pub(crate) fn eval_with(self, argv: &[&str]) -> Self {
        self.agree(|agreed| agreed.runbook["eval"]["argv"] = json!(argv))
    }

    /// An evaluation that takes no time and leaves the same score for every policy.
    pub(crate) fn quick_eval(self) -> Self {
        self.file("score.sh", "echo '{\"success\": 0.5}' > \"$2/scores.json\"\n")
            .eval_with(&["sh", "score.sh", "{seed}", "{run}"])
    }

    /// One more file in the commit, or another text for an existing one.
    pub(crate) fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// How many seeds the short phase has.
    pub(crate) fn screen_seeds(self, seeds: u64) -> Self {
        self.agree(|agreed| agreed.contract["statistics"]["screen_seeds"] = seeds.into())
    }

    /// Candidates need no baseline before them: for tests that are about something else.
    pub(crate) fn without_baseline(self) -> Self {
        self.agree(|agreed| {
            let waived = json!({"section": "baseline", "code": "no_baseline", "reason": "one run is looked at by itself"});
            agreed.contract["exceptions"].as_array_mut().unwrap().push(waived);
        })
    }

    /// The project installed into its environment by pip, as `pip install -e .` does; takes about two seconds.
    pub(crate) fn editable(mut self) -> Self {
        self.editable = true;
        self
    }

    /// The repository with its commit and its environment; no study yet.
    pub(crate) fn plain(&self) -> Repository {
        let repository = Repository { governed: Governed::empty() };
        copy(&workspace().join("python/fixture/repo"), &repository.path(""));
        for (name, text) in &self.files {
            repository.write(name, text);
        }
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "--quiet", "--message", "A pole that learns to stand"]);
        let venv = repository.path(".venv");
        let words = ["-m", "venv", "--without-pip", venv.to_str().unwrap()];
        repository.run(python(), &words).expect(0);
        if self.editable {
            repository.install();
        }
        repository
    }

    /// The same with a study, its documents written and nothing approved.
    pub(crate) fn drafted(&self) -> Repository {
        let repository = self.plain();
        let assurance = self.agreed.contract["assurance"].as_str().unwrap();
        repository
            .rlx(&format!("study init --task balance --study tuning --assurance {assurance}"))
            .expect(0);
        repository.rlx("study audit --claim train_command:src/balance/train.py:1").expect(0);
        let commit = repository.git(&["rev-parse", "HEAD"]);
        for (name, document) in self.agreed.files() {
            let mut document = document.clone();
            if name == "contract.yaml" {
                document["baseline"]["commit"] = commit.trim().into();
            }
            let text = serde_json::to_string_pretty(&document).unwrap();
            std::fs::write(repository.file(name), text).unwrap();
        }
        let reflection = repository.file(REFLECTION);
        std::fs::create_dir_all(reflection.parent().unwrap()).unwrap();
        std::fs::write(reflection, json!({"upright": 0.9, "effort": 0.1}).to_string()).unwrap();
        repository.rlx("contract check").expect(0);
        repository
    }

    /// The same with everything approved, by signature.
    pub(crate) fn approved(&self) -> Repository {
        let repository = self.drafted();
        repository.sign("--all", "alice").expect(0);
        repository
    }
}

impl Repository {
    /// The usual agreement, approved.
    pub(crate) fn new() -> Self {
        Self::build().approved()
    }

    /// Removes git from a repository whose study isn't approved yet; the contract names the folder's digest, which is
    /// returned.
    pub(crate) fn without_git(&self) -> String {
        std::fs::remove_dir_all(self.path(".git")).unwrap();
        // `contract new` says what the folder is now.
        self.rlx("study init --task balance --study other --assurance signature").expect(0);
        self.rlx("contract new --yes").expect(0);
        self.rlx("study use tuning").expect(0);
        let other = self.path(".rlxp/tasks/balance/studies/other/contract.yaml");
        let drafted = std::fs::read_to_string(other).unwrap();
        let digest = drafted.lines().find_map(|line| line.strip_prefix("  snapshot: ")).unwrap();
        let mut contract: Value = serde_json::from_str(&self.read("contract.yaml")).unwrap();
        contract["baseline"].as_object_mut().unwrap().remove("commit");
        contract["baseline"]["snapshot"] = digest.into();
        std::fs::write(self.file("contract.yaml"), contract.to_string()).unwrap();
        digest.to_owned()
    }

    /// The files of another fixture in a commit, with an environment that has numpy, and a user without any key.
    pub(crate) fn shape(fixture: &str) -> Self {
        let repository = Self { governed: Governed::empty() };
        std::fs::remove_file(repository.home().join(".config/rlx/approvers")).unwrap();
        copy(&workspace().join("python/fixture").join(fixture), &repository.path(""));
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "--quiet", "--message", "As it was found"]);
        let venv = repository.path(".venv");
        repository.run(python(), &["-m", "venv", "--without-pip", venv.to_str().unwrap()]).expect(0);
        let packages = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let of = |python: PathBuf| repository.run(python, &["-c", packages]).expect(0).stdout;
        let own = of(venv.join("bin/python"));
        std::fs::write(Path::new(own.trim()).join("shared.pth"), of(python())).unwrap();
        repository
    }

    /// Another agreement.
    pub(crate) fn build() -> Build {
        let start_states =
            std::fs::read(workspace().join("python/fixture/repo/data/start_states.json")).unwrap();
        Build { agreed: Agreed::usual(Digest::hash(&start_states)), files: Vec::new(), editable: false }
    }

    /// Writes a candidate's file. Phases that it doesn't have are those of the contract.
    pub(crate) fn candidate(&self, id: &str, mut value: Value) {
        value["id"] = id.into();
        if value["phases"].is_null() {
            value["phases"] = self.agreed_phases(value["kind"].as_str().unwrap());
        }
        let file = self.file(&format!("candidates/{id}.yaml"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    }

    fn agreed_phases(&self, kind: &str) -> Value {
        let contract: Value = serde_json::from_str(&self.read("contract.yaml")).unwrap();
        let (statistics, limit) = (&contract["statistics"], &contract["budget"]["per_run"]["wall_clock"]);
        let phase = |name: &str, seeds: &Value| json!({"phase": name, "seeds": seeds, "wall_clock": limit});
        let smoke = phase("smoke", &1.into());
        let short = phase("short", &statistics["screen_seeds"]);
        // The older form of the statistics has the same number of seeds for both groups.
        let older = statistics["confirm_seeds"].as_u64();
        let looks = statistics["looks"].as_array().map(|looks| looks.iter().filter_map(Value::as_u64));
        let looks: Vec<u64> = looks.map_or_else(Vec::new, Iterator::collect);
        let incumbent = statistics["incumbent_seeds"].as_u64().or(older).unwrap();
        let last = looks.last().copied().or(older).unwrap();
        let audit = incumbent.saturating_sub(*looks.first().unwrap_or(&last)).max(5);
        match kind {
            "smoke" => json!([smoke]),
            "probe" => json!([short]),
            "baseline" => json!([smoke, phase("confirm", &incumbent.into())]),
            _ => {
                let audit = phase("incumbent_validation", &audit.into());
                json!([smoke, short, phase("confirm", &last.into()), audit])
            }
        }
    }

    /// Checks a candidate against every gate.
    pub(crate) fn validate(&self, id: &str) -> Ran {
        self.rlx(&format!("candidate validate {id} --json"))
    }

    /// Approves a candidate by signature.
    pub(crate) fn approve(&self, id: &str) -> Ran {
        self.sign(&format!("candidate:{id}"), "alice")
    }

    /// A candidate that can be launched: written, validated and approved.
    #[track_caller]
    pub(crate) fn ready(&self, id: &str, value: Value) {
        self.candidate(id, value);
        self.validate(id).expect(0);
        self.approve(id).expect(0);
    }

    /// The digest of what a launch would do now.
    #[track_caller]
    pub(crate) fn plan(&self, id: &str) -> String {
        let plan = self.rlx(&format!("launch {id} --json")).expect(0).json();
        plan["plan"].as_str().unwrap_or_else(|| panic!("no plan: {plan}")).to_owned()
    }

    /// The arguments that follow a plan.
    pub(crate) fn execute(&self, id: &str, plan: &str) -> String {
        format!("launch {id} --execute --confirm RUN_CANDIDATE --plan {plan} --json")
    }

    /// Asks for the plan and follows it; waits for the end.
    #[track_caller]
    pub(crate) fn launch(&self, id: &str) -> Ran {
        self.rlx(&self.execute(id, &self.plan(id)))
    }

    /// Launches one phase after another until the one of this name has run; waits for its end.
    #[track_caller]
    pub(crate) fn launch_through(&self, id: &str, phase: &str) -> Ran {
        loop {
            let plan = self.rlx(&format!("launch {id} --json")).expect(0).json();
            let ran = self.rlx(&self.execute(id, plan["plan"].as_str().unwrap()));
            if plan["phase"] == phase {
                return ran;
            }
            ran.expect(0);
        }
    }

    /// A command of rlx that is left running, with additional environment variables. It reacts to Ctrl-C, even where a shell
    /// without job control has started these tests so that they ignore it.
    pub(crate) fn start(&self, line: &str, variables: &[(&str, &str)]) -> Child {
        let mut command = self.command("env");
        command.args(["--default-signal=INT", RLX]);
        command.args(line.split_whitespace()).envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A command of rlx with additional environment variables.
    pub(crate) fn rlx_where(&self, variables: &[(&str, &str)], line: &str) -> Ran {
        let output = self.start(line, variables).wait_with_output().unwrap();
        ran(format!("rlx {line}"), &output)
    }

    /// Any program, in the repository's folder.
    pub(crate) fn run(&self, program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Ran {
        let line = format!("{} {}", program.as_ref().display(), words.join(" "));
        let mut command = self.command(program);
        command.args(words).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
        ran(line, &command.output().unwrap())
    }

    pub(crate) fn python(&self, words: &[&str]) -> Ran {
        self.run(self.path(".venv/bin/python"), words)
    }

    /// What git prints.
    #[track_caller]
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let mut command = self.command("git");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Alice")
                .env(format!("GIT_{role}_EMAIL"), "alice@example.org");
            command.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_OPTIONAL_LOCKS", "0");
        let output = command.args(words).output().unwrap();
        ran(format!("git {}", words.join(" ")), &output).expect(0).stdout
    }

    /// Every record of the ledger.
    pub(crate) fn ledger(&self) -> Vec<Value> {
        self.read("ledger.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The bodies of all records of a kind.
    pub(crate) fn records(&self, kind: &str) -> Vec<Value> {
        let of_kind = self.ledger().into_iter().filter(|record| record["kind"] == kind);
        of_kind.map(|mut record| record["body"].take()).collect()
    }

    /// Rewrites the last record of a kind for which `edit` returns true, and the chain after it as rlx chains it: nothing about
    /// a chain is secret. Returns the ledger as it was.
    pub(crate) fn forge(&self, kind: &str, edit: impl Fn(&mut Value) -> bool) -> String {
        let before = self.read("ledger.jsonl");
        let mut records = self.ledger();
        let mut of_kind = records.iter_mut().rev().filter(|record| record["kind"] == kind);
        assert!(of_kind.any(|record| edit(&mut record["body"])), "no {kind} was changed");
        let mut prev = Value::Null;
        let mut after = String::new();
        for record in &mut records {
            let fields = record.as_object_mut().unwrap();
            fields.remove("digest");
            if !prev.is_null() {
                fields.insert("prev".into(), prev);
            }
            let digest = Digest::hash(sorted(record).to_string().as_bytes()).to_string();
            record["digest"] = digest.clone().into();
            after.push_str(&sorted(record).to_string());
            after.push('\n');
            prev = digest.into();
        }
        std::fs::write(self.file("ledger.jsonl"), after).unwrap();
        before
    }

    /// The code of every problem that `rlx verify` finds in a ledger that was forged; then the ledger is put back.
    pub(crate) fn forged(&self, kind: &str, edit: impl Fn(&mut Value) -> bool) -> Vec<String> {
        let before = self.forge(kind, edit);
        let found = self.rlx("verify --json").expect(1).json();
        std::fs::write(self.file("ledger.jsonl"), before).unwrap();
        let code = |problem: &Value| problem["code"].as_str().unwrap().to_owned();
        found["problems"].as_array().unwrap().iter().map(code).collect()
    }

    /// Keys of a candidate's runs, in the order in which they were intended.
    pub(crate) fn runs_of(&self, id: &str) -> Vec<String> {
        let intents = self.records("launch_intent").into_iter().filter(|intent| intent["candidate"] == id);
        intents.map(|intent| intent["key"].as_str().unwrap().to_owned()).collect()
    }

    /// How a run ended.
    #[track_caller]
    pub(crate) fn end_of(&self, key: &str) -> Value {
        let ends = self.records("run_ended");
        ends.into_iter().find(|end| end["key"] == key).unwrap_or_else(|| panic!("{key} hasn't ended"))
    }

    /// Where rlx keeps the state of this study outside the repository.
    pub(crate) fn state(&self) -> PathBuf {
        let opened = &self.ledger()[0]["body"];
        self.home().join(".local/state/rlx/studies").join(opened["id"].as_str().unwrap())
    }

    pub(crate) fn run_folder(&self, key: &str) -> PathBuf {
        self.state().join("runs").join(key)
    }

    /// The lines of a JSON Lines file that a run left.
    #[track_caller]
    pub(crate) fn run_lines(&self, key: &str, name: &str) -> Vec<Value> {
        let path = self.run_folder(key).join(name);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What must be the same before and after a launch: HEAD, branches, index and every file outside `.rlxp`.
    pub(crate) fn untouched(&self) -> Untouched {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap();
                if path.is_dir() && !path.is_symlink() {
                    folders.extend((name != ".git" && name != ".rlxp").then_some(path));
                } else {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    files.insert(path, Digest::hash(&bytes));
                }
            }
        }
        Untouched {
            head: std::fs::read_to_string(self.path(".git/HEAD")).unwrap(),
            branches: self.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]),
            status: self.git(&["status", "--porcelain=v2", "--branch"]),
            index: Digest::hash(&std::fs::read(self.path(".git/index")).unwrap()),
            files,
        }
    }

    /// `pip install -e .`, without a network: pip, setuptools and wheel are those of the workspace's environment.
    fn install(&self) {
        let packages = self.run(python(), &["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
        let mut pip = self.command(self.path(".venv/bin/python"));
        pip.env("PYTHONPATH", packages.expect(0).stdout.trim());
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]);
        pip.args(["--no-index", "--no-build-isolation", "--no-deps", "--editable", "."]);
        ran("pip install --editable .".to_owned(), &pip.output().unwrap()).expect(0);
    }
}

/// Copies the files of the fixture.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match name {
            "__pycache__" => {}
            _ if path.is_dir() => copy(&path, &to.join(name)),
            // Under its own name it would hide files of the fixture from git.
            "gitignore" | "gitattributes" => {
                std::fs::copy(&path, to.join(format!(".{name}"))).unwrap();
            }
            _ => drop(std::fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

/// The fields of a record in the order in which rlx writes them.
fn sorted(record: &Value) -> Value {
    let mut fields: Vec<(String, Value)> = record.as_object().unwrap().clone().into_iter().collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    Value::Object(fields.into_iter().collect())
}
