//! `kill -9` at any instant of any command that writes: the project stays readable, nothing acknowledged is lost, the
//! command works when it is run again, and the next training cleans up what was left.
//!
//! `RLX_KILLS` sets how often (200 by default), `RLX_KILL_SEED` draws other moments.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rlxp_types::Stream;

use crate::killing::{Victim, run_and_kill};
use crate::project::{Project, Ran};
use crate::received::project::{Base, Template, program, small_project};
use crate::received::tree::{self, Node};

/// The run that commands are about; what training recorded in it never changes.
const GOOD: &str = "good_001";

/// Every command that writes.
const VERBS: [&str; 11] =
    ["tag", "rm", "resume", "train", "eval", "video", "plot", "report", "reproduce", "init", "from"];

/// A project in which commands are killed one after another.
struct Battlefield {
    project: Project,
    /// Tags that were acknowledged, and those that may or may not be there.
    tags: BTreeSet<String>,
    maybe: BTreeSet<String>,
    /// What training recorded in the run that commands are about.
    record: Vec<(String, Vec<u8>)>,
    round: usize,
}

impl Battlefield {
    fn new() -> Self {
        let project = small_project();
        rlx(&project, "train small.yaml").expect(0);
        let record = record(&project, GOOD);
        Self { project, tags: BTreeSet::new(), maybe: BTreeSet::new(), record, round: 0 }
    }

    fn rlx(&self, line: &str) -> Ran {
        rlx(&self.project, line)
    }

    /// Copies a run of the template into the project.
    fn place(&self, base: Base, name: &str) {
        let mut run = Template::get().base(base).clone();
        run.edit("metadata.json", |text| text.replace(crate::received::project::RUN, name));
        run.write(&self.project.path("runs").join(name));
    }

    /// Prepares a round of this verb and returns its command line.
    fn prepare(&self, verb: &str) -> String {
        let round = self.round;
        match verb {
            "tag" => format!("tag {GOOD} tag{round}"),
            "rm" => {
                self.place(Base::Alone, "victim_001");
                "rm victim_001 --yes".to_owned()
            }
            "resume" => {
                self.place(Base::Lost, "lost_001");
                "resume lost_001".to_owned()
            }
            "train" => "train small.yaml --set run_name=new".to_owned(),
            "eval" => format!("eval --run {GOOD} --episodes 2 --seed {}", 30_000 + round),
            "video" => format!("video {GOOD} --max-steps 2 --size 64x48 --seed {}", 30_000 + round),
            "plot" => format!("plot {GOOD}"),
            "report" => format!("report {GOOD} --no-videos --output report.html --force"),
            "reproduce" => format!("reproduce {GOOD}"),
            "init" => format!("init demo{round}"),
            "from" => format!("train small.yaml --set run_name=new --from {GOOD}"),
            other => panic!("{other}"),
        }
    }

    fn runs(&self) -> BTreeSet<String> {
        let answer = self.rlx("ls --json").expect(0).json();
        let runs = answer["runs"].as_array().unwrap();
        runs.iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What must hold right after a kill.
    fn check(&self, verb: &str) -> Result<(), String> {
        let runs = self.runs();
        let may_be = match verb {
            "rm" => "victim_001",
            "resume" => "lost_001",
            "train" | "from" => "new_001",
            _ => "",
        };
        let wanted: BTreeSet<String> = [GOOD.to_owned()].into();
        let rest: Vec<&String> = runs.difference(&wanted).collect();
        if !runs.contains(GOOD) || rest.iter().any(|name| *name != may_be) {
            return Err(format!("ls shows {runs:?}"));
        }
        for run in &runs {
            let info = self.rlx(&format!("info {run}"));
            if info.code != Some(0) {
                return Err(format!("info {run}: exit {:?}, {}", info.code, info.stderr));
            }
        }
        if record(&self.project, GOOD) != self.record {
            return Err(format!("the record of {GOOD} has changed"));
        }
        let answer = self.rlx(&format!("tag {GOOD} --json")).expect(0).json();
        let tags: BTreeSet<String> =
            answer["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()).collect();
        let lost: Vec<&String> = self.tags.difference(&tags).collect();
        let alien: Vec<&String> =
            tags.iter().filter(|tag| !self.tags.contains(*tag) && !self.maybe.contains(*tag)).collect();
        if !lost.is_empty() || !alien.is_empty() {
            return Err(format!("tags {lost:?} are lost, {alien:?} were never given"));
        }
        Ok(())
    }

    /// Runs the command again and cleans up.
    fn again(&mut self, verb: &str, line: &str) -> Result<(), String> {
        let is_there = |name: &str| self.project.path("runs").join(name).exists();
        if verb == "rm" && !is_there("victim_001") {
            return Ok(());
        }
        let ran = self.rlx(line);
        if ran.code != Some(0) {
            return Err(format!("asked again: exit {:?}, {}", ran.code, ran.stderr));
        }
        match verb {
            "tag" => drop(self.tags.insert(format!("tag{}", self.round))),
            "rm" if is_there("victim_001") => return Err("the run is there after its removal".to_owned()),
            "resume" => {
                let model =
                    |run: &std::path::Path| std::fs::read(run.join("checkpoints/step_128/model.safetensors"));
                let made = model(&self.project.path("runs/lost_001")).map_err(|error| error.to_string())?;
                if made != Template::get().alone.bytes("checkpoints/step_128/model.safetensors") {
                    return Err("the resumed run has other weights".to_owned());
                }
            }
            "init" => {
                let check = self.rlx(&format!("config check demo{}/configs/ppo_cartpole.yaml", self.round));
                if check.code != Some(0) {
                    return Err(format!("its config: {}", check.stderr));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Trains, and resumes what was killed, after which no leftovers may remain; then removes what the round created.
    fn sweep(&self) -> Result<(), String> {
        self.rlx("train small.yaml --set run_name=next").expect(0);
        let made: Vec<String> = self.runs().into_iter().filter(|run| run != GOOD).collect();
        for run in &made {
            let resumed = self.rlx(&format!("resume {run}"));
            if resumed.code != Some(0) {
                return Err(format!("resume {run}: exit {:?}, {}", resumed.code, resumed.stderr));
            }
        }
        let found = leftovers(&self.project);
        for run in &made {
            self.rlx(&format!("rm {run} --yes")).expect(0);
        }
        for path in &found {
            // Reported once, not in each round that follows.
            let path = self.project.path(path);
            drop(std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path)));
        }
        if found.is_empty() { Ok(()) } else { Err(format!("after the next training remains {found:?}")) }
    }

    /// One kill; returns whether something was killed.
    fn kill(&mut self, verb: &str, delay: Duration, victim: Victim) -> Result<bool, String> {
        self.round += 1;
        let line = self.prepare(verb);
        let mut command = self.project.command(program().to_str().unwrap());
        command.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
        let (killed, status) = run_and_kill(command, delay, victim);
        if verb == "tag" {
            let tag = format!("tag{}", self.round);
            if status.success() {
                self.tags.insert(tag)
            } else {
                self.maybe.insert(tag)
            };
        }
        if verb == "rm" && status.success() && self.project.path("runs/victim_001").exists() {
            return Err("the run is there after its removal".to_owned());
        }
        // Clean up even after a fault, or every later round would fail because of it.
        let found = self.check(verb).and_then(|()| self.again(verb, &line));
        let swept = self.sweep();
        if self.project.path(&format!("demo{}", self.round)).exists() {
            std::fs::remove_dir_all(self.project.path(&format!("demo{}", self.round))).unwrap();
        }
        found.and(swept).map(|()| killed)
    }
}

fn rlx(project: &Project, line: &str) -> Ran {
    let mut command = project.command("timeout");
    command.args(["-s", "KILL", "60"]).arg(program()).args(line.split_whitespace());
    project.ran(line.to_owned(), &command.output().unwrap())
}

/// What training recorded in a run: everything but what may be added later.
fn record(project: &Project, run: &str) -> Vec<(String, Vec<u8>)> {
    let tree = tree::Tree::read(&project.path("runs").join(run));
    let made = |place: &String| {
        place.starts_with("checkpoints/")
            || place.starts_with("eval/step_")
            || place == "metrics.jsonl"
            || place == "config_snapshot.yaml"
            || place.starts_with("attempts/1/")
    };
    let files = tree.places(|node| matches!(node, Node::File(_))).into_iter().filter(made);
    files.map(|place| (place.clone(), tree.bytes(&place).to_vec())).collect()
}

/// Everything in the project that has a temporary name.
fn leftovers(project: &Project) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for path in tree::look(project.folder()).keys() {
        let name = path.file_name().unwrap().to_string_lossy();
        let path = path.display().to_string();
        let is_inside = found.iter().any(|folder| path.starts_with(&format!("{folder}/")));
        if (name.starts_with(".tmp-") || name.starts_with(".replaced-")) && !is_inside {
            found.push(path);
        }
    }
    found
}

#[test]
fn killed_at_any_instant_every_command_leaves_the_project_whole() {
    const FIELDS: usize = 2;
    let wanted: usize = std::env::var("RLX_KILLS").map_or(200, |text| text.parse().unwrap());
    let seed: u64 = std::env::var("RLX_KILL_SEED").map_or(0, |text| text.parse().unwrap());
    println!("RLX_KILL_SEED={seed} RLX_KILLS={wanted}");
    Template::get();
    let (kills, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for field in 0..FIELDS {
            let (kills, problems) = (&kills, &problems);
            scope.spawn(move || {
                let mut chance = Stream::new(seed, "kill any command", field as u64);
                let mut ground = Battlefield::new();
                // How long a command takes when it isn't killed, with the others running as they will be.
                let lengths = VERBS.map(|verb| {
                    ground.round += 1;
                    let line = ground.prepare(verb);
                    let begin = Instant::now();
                    ground.rlx(&line).expect(0);
                    let length = begin.elapsed();
                    if verb == "tag" {
                        ground.tags.insert(format!("tag{}", ground.round));
                    }
                    drop(std::fs::remove_dir_all(ground.project.path(&format!("demo{}", ground.round))));
                    ground.sweep().unwrap_or_else(|problem| panic!("{verb}: {problem}"));
                    length
                });
                for round in 0.. {
                    if kills.load(Ordering::Relaxed) >= wanted {
                        break;
                    }
                    assert!(round < 10 * wanted, "too few of the commands live long enough to be killed");
                    let at = (round + field * 3) % VERBS.len();
                    let victim = if chance.uniform() < 0.7 { Victim::Supervisor } else { Victim::Worker };
                    let delay = lengths[at].mul_f64(chance.uniform());
                    match ground.kill(VERBS[at], delay, victim) {
                        Ok(killed) => drop(kills.fetch_add(usize::from(killed), Ordering::Relaxed)),
                        Err(problem) => {
                            kills.fetch_add(1, Ordering::Relaxed);
                            let what =
                                format!("{} killed after {delay:?} ({victim:?}): {problem}", VERBS[at]);
                            problems.lock().unwrap().push(what);
                        }
                    }
                }
            });
        }
    });
    let mut problems = problems.into_inner().unwrap();
    problems.sort();
    assert!(problems.is_empty(), "{} problems, seed {seed}:\n{}", problems.len(), problems.join("\n"));
}
