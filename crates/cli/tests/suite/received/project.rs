//! A project with a run from elsewhere, a run of its own, and a folder outside.

use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use tempfile::TempDir;

use crate::project::{Project, RLX};
use crate::received::outside::CANARY;
use crate::received::tree::{Node, Tree};

/// Trains in the time that its processes take to start.
const SMALL: &str = "\
run_name: good
threads: 1
env: {id: CartPole-v1, num_envs: 2, normalize_observations: false, normalize_rewards: false}
algo: {name: ppo, total_timesteps: 128, rollout_steps: 32, batch_size: 64, update_epochs: 1, learning_rate: 0.001}
policy: {type: mlp, hidden_sizes: [4], activation: tanh, shared_network: false}
checkpoint: {save_every: 64, keep: 5}
eval: {every: 64, episodes: 1, deterministic: true}
";

/// The name of the received run.
pub(crate) const RUN: &str = "received_001";
/// The name of the project's own run.
pub(crate) const GOOD: &str = "good_001";

/// A temporary folder, in memory where there is room: these tests create thousands, and none is about power loss.
pub(crate) fn temporary() -> TempDir {
    tempfile::tempdir_in(memory()).unwrap()
}

fn memory() -> &'static Path {
    static MEMORY: OnceLock<PathBuf> = OnceLock::new();
    const NEEDED: u64 = 2 << 30;
    MEMORY.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let free = rustix::fs::statvfs(&memory).map_or(0, |space| space.f_bavail * space.f_frsize);
        if free > NEEDED { memory } else { tempfile::env::temp_dir() }
    })
}

/// A project with [`SMALL`] as `small.yaml`.
pub(crate) fn small_project() -> Project {
    let project = Project::below(memory());
    project.write("small.yaml", SMALL);
    project
}

/// Which run was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base {
    /// A completed run of one seed.
    Alone,
    /// A completed run of two seeds.
    Several,
    /// The run of one seed, killed before its end.
    Lost,
}

/// Runs as training leaves them, with every file that a run can have.
pub(crate) struct Template {
    pub(crate) alone: Tree,
    pub(crate) several: Tree,
    lost: Tree,
    good: Tree,
    /// The first two with the canary in each of their texts.
    canaries: [Tree; 2],
}

impl Template {
    /// Created once by training.
    pub(crate) fn get() -> &'static Self {
        static TEMPLATE: OnceLock<Template> = OnceLock::new();
        TEMPLATE.get_or_init(Self::train)
    }

    fn train() -> Self {
        let project = small_project();
        project.rlx("train small.yaml").expect(0);
        for (seeds, folder) in [("1", "received_001"), ("2", "received_002")] {
            project
                .rlx_with(&[
                    "train",
                    "small.yaml",
                    "--set",
                    "run_name=received",
                    "--set",
                    &format!("seeds={seeds}"),
                ])
                .expect(0);
            project.rlx(&format!("tag {folder} first second")).expect(0);
            project.rlx(&format!("eval --run {folder} --episodes 1")).expect(0);
            project.rlx(&format!("plot {folder}")).expect(0);
        }
        project.rlx("video received_001 --max-steps 2 --size 64x48").expect(0);
        let all = Tree::read(&project.path("runs"));
        let several = with_name(all.below("received_002"), "received_002", RUN);
        let alone = all.below(RUN);
        let mut lost = alone.clone();
        lost.remove("attempts/1/end.json");
        lost.remove("checkpoints/step_128");
        for link in ["best", "latest"] {
            lost.0.insert(Path::new("checkpoints").join(link), Node::Link(PathBuf::from("step_64")));
        }
        let canaries = [&alone, &several].map(|tree| with_canaries(tree.clone()));
        Self { alone, several, lost, good: all.below(GOOD), canaries }
    }

    /// The matching paths in the run of one seed. Of its checkpoints and evaluations the last one is enough.
    pub(crate) fn places(&self, wanted: impl Fn(&Node) -> bool) -> Vec<String> {
        let mut places = self.alone.places(wanted);
        places.retain(|place| !place.contains("step_64"));
        places
    }

    pub(crate) fn base(&self, base: Base) -> &Tree {
        match base {
            Base::Alone => &self.alone,
            Base::Several => &self.several,
            Base::Lost => &self.lost,
        }
    }
}

fn with_name(mut tree: Tree, from: &str, to: &str) -> Tree {
    tree.edit("metadata.json", |text| text.replace(from, to));
    tree
}

/// The same run with the canary in each of its texts, still valid wherever a link points to it.
fn with_canaries(mut tree: Tree) -> Tree {
    for place in tree.places(|node| matches!(node, Node::File(_))) {
        if place.ends_with(".safetensors") || place.ends_with(".mp4") {
            continue;
        }
        tree.edit(&place, |text| {
            text.replace("\"tags\": [", &format!("\"tags\": [\"{CANARY}\", "))
                .replace("\"host\": \"", &format!("\"host\": \"{CANARY}"))
                .replace("\"reason\": null", &format!("\"reason\": \"{CANARY}\""))
                .replace("run_name: received", &format!("run_name: {CANARY}"))
                .replace("\"values\":{", &format!("\"values\":{{\"{CANARY}\":1.0,"))
                .replace("\"first\"", &format!("\"{CANARY}\""))
                .replace("</svg>", &format!("<!-- {CANARY} --></svg>"))
        });
    }
    tree
}

/// A project with a received run in it.
pub(crate) struct ReceivedProject {
    pub(crate) project: Project,
    outside: TempDir,
    program: Option<PathBuf>,
}

impl ReceivedProject {
    /// The received run is `base`, as it was sent.
    pub(crate) fn new(base: Base) -> Self {
        let template = Template::get();
        let project = small_project();
        template.good.write(&project.path("runs").join(GOOD));
        template.base(base).write(&project.path("runs").join(RUN));
        let outside = temporary();
        template.canaries[usize::from(base == Base::Several)].write(&outside.path().join("run"));
        std::fs::write(outside.path().join("secret.txt"), format!("{CANARY}: [secret, {CANARY}\n")).unwrap();
        Self { project, outside, program: None }
    }

    /// Gives everything to an unprivileged user, who runs this program from now on.
    pub(crate) fn hand_over(&mut self, program: &Path) {
        if rustix::process::geteuid().is_root() {
            for folder in [self.project.folder(), self.project.home(), self.outside.path()] {
                give_away(folder);
            }
            self.program = Some(program.to_owned());
        }
    }

    /// The program that an unprivileged user runs; `None` where these tests are unprivileged themselves.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// The received run's folder, or a path in it.
    pub(crate) fn run(&self, place: &str) -> PathBuf {
        let folder = self.project.path("runs").join(RUN);
        if place.is_empty() { folder } else { folder.join(place) }
    }

    /// The folder outside the project, or a path in it.
    pub(crate) fn outside(&self, place: &str) -> PathBuf {
        self.outside.path().join(place)
    }

    /// The relative path from a link at `from` to a path outside.
    pub(crate) fn outside_from(&self, from: &Path, place: &str) -> PathBuf {
        let up = from.parent().unwrap().components().count() - 1;
        let mut path: PathBuf = std::iter::repeat_n("..", up).collect();
        path.extend(self.outside(place).components().skip(1));
        path
    }
}

fn give_away(path: &Path) {
    const NOBODY: Option<u32> = Some(65534);
    lchown(path, NOBODY, NOBODY).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

/// The built `rlx` without its debug information, which is most of it: training hashes its program, and these tests
/// train thousands of times.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let built = std::fs::metadata(RLX).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        let place = folder.join(format!("rlx-received-{}", built.as_nanos()));
        if place.exists() {
            return place;
        }
        let new = folder.join(format!("rlx-{}", std::process::id()));
        let stripped = Command::new("strip").args(["--strip-all", "-o"]).arg(&new).arg(RLX).status();
        assert!(stripped.unwrap().success(), "strip comes with the linker");
        // The first process wins: replacing a program that another one runs would take its path away.
        match std::fs::hard_link(&new, &place) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{error}"),
            _ => std::fs::remove_file(new).unwrap(),
        }
        place
    })
}

/// A folder with an `rlx` that every user may run: the build's own folder may be closed to others.
pub(crate) fn program_for_everybody() -> TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::copy(program(), folder.path().join("rlx")).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}
