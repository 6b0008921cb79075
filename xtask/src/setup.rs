//! `cargo xtask setup`: what the tests need besides Rust.
//!
//! A Python environment in `.venv` with the Gymnasium that the environments are compared with, the TensorBoard and W&B
//! that write the logs which rlx reads, and the packages that install the tests' RL repository, and a few system
//! packages. If everything is installed, it only checks.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::run::{Done, answer, root, show};

/// The exact version in `.venv`.
const GYMNASIUM: &str = "1.4.0";
/// Its numpy, for Python 3.11 and newer; then the last one that supports Python 3.10.
const NUMPY: &str = "2.4.6";
const NUMPY_FOR_3_10: &str = "2.2.6";
/// Builds the RL repository of `python/fixture`, so that tests install it without a network.
const SETUPTOOLS: &str = "80.9.0";
const WHEEL: &str = "0.45.1";
/// Writes and reads event files. Installed without its dependencies, of which only `absl` and `protobuf` are needed for
/// that: the others are its server, 80 MB of it.
const TENSORBOARD: &str = "2.21.0";
const ABSL: &str = "2.5.1";
/// Writes offline runs. The last versions can't read what they write without a server.
const WANDB: &str = "0.22.3";
const PROTOBUF: &str = "6.33.6";
/// The oldest Python that Gymnasium accepts.
const OLDEST_PYTHON: (u32, u32) = (3, 10);
/// Programs that tests start, how to check that each exists, and its Debian package.
const PROGRAMS: [(&str, &[&str], &str); 7] = [
    ("git", &["--version"], "git"),
    ("strace", &["--version"], "strace"),
    ("ffprobe", &["-version"], "ffmpeg"),
    ("chromium", &["--version"], "chromium"),
    ("zsh", &["--version"], "zsh"),
    ("fish", &["--version"], "fish"),
    // It has no version option; screening an empty list of primes succeeds and leaves nothing behind.
    ("ssh-keygen", &["-M", "screen", "-f", "/dev/null", "/dev/null"], "openssh-client"),
];

pub(crate) fn run() -> Done {
    system_packages();
    python_environment(&root().join(".venv"))
}

/// A missing program is not fatal: the test that needs it fails and says so.
fn system_packages() {
    let missing: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, question, _)| answer(program, question).is_none())
        .map(|(_, _, package)| *package)
        .collect();
    if missing.is_empty() {
        return println!("setup: {} are there", PROGRAMS.map(|(program, ..)| program).join(", "));
    }
    if let Err(problem) = apt_install(&missing) {
        println!("setup: {problem}; tests that need them will fail");
    }
}

fn apt_install(packages: &[&str]) -> Done {
    let wish = format!("please install {}", packages.join(" and "));
    let is_root = answer("id", &["-u"]).as_deref() == Some("0");
    if !is_root || answer("apt-get", &["--version"]).is_none() {
        return Err(wish);
    }
    println!("setup: installing {}", packages.join(", "));
    let apt = |words: &[&str]| {
        show(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(words))
    };
    let install: Vec<&str> =
        ["install", "--yes", "--no-install-recommends"].iter().chain(packages).copied().collect();
    apt(&["update"]).and_then(|()| apt(&install)).map_err(|problem| format!("{problem}; {wish}"))
}

fn python_environment(folder: &Path) -> Done {
    let python = folder.join("bin/python");
    if has_packages(&python) {
        println!("setup: .venv has gymnasium {GYMNASIUM}, tensorboard {TENSORBOARD}, wandb {WANDB}");
        return Ok(());
    }
    println!("setup: making .venv with gymnasium {GYMNASIUM}, tensorboard {TENSORBOARD}, wandb {WANDB}");
    let base = match find_python() {
        Some(base) => base,
        None => {
            apt_install(&["python3", "python3-venv"]).ok();
            find_python().ok_or_else(no_python)?
        }
    };
    let make = || show(Command::new(base).args(["-m", "venv", "--clear"]).arg(folder));
    // Debian's python3 comes without venv; the package python3-venv has it.
    make().or_else(|problem| {
        apt_install(&["python3-venv"]).map_err(|wish| format!("{problem}; {wish}"))?;
        make()
    })?;
    let pip = |words: &[String]| {
        let usual = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        show(Command::new(&python).args(usual).args(words))
    };
    pip(&[
        format!("gymnasium=={GYMNASIUM}"),
        format!("numpy=={}", numpy_for(&python)),
        format!("setuptools=={SETUPTOOLS}"),
        format!("wheel=={WHEEL}"),
        format!("wandb=={WANDB}"),
        format!("protobuf=={PROTOBUF}"),
    ])?;
    pip(&["--no-deps".to_owned(), format!("tensorboard=={TENSORBOARD}"), format!("absl-py=={ABSL}")])?;
    if has_packages(&python) { Ok(()) } else { Err("pip did not install the pinned packages".to_owned()) }
}

fn numpy_for(python: &Path) -> &'static str {
    let version = python_version(python);
    if version.is_some_and(|version| version < (3, 11)) { NUMPY_FOR_3_10 } else { NUMPY }
}

fn has_packages(python: &Path) -> bool {
    let ask = "from importlib.metadata import version as v; \
               print(*map(v, ['gymnasium', 'numpy', 'setuptools', 'wheel', 'wandb', 'protobuf', 'tensorboard', 'absl-py']))";
    let numpy = numpy_for(python);
    let wanted = format!("{GYMNASIUM} {numpy} {SETUPTOOLS} {WHEEL} {WANDB} {PROTOBUF} {TENSORBOARD} {ABSL}");
    answer(python, &["-c", ask]) == Some(wanted)
}

fn find_python() -> Option<&'static str> {
    let names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
    names.into_iter().find(|name| python_version(name).is_some_and(|version| version >= OLDEST_PYTHON))
}

fn python_version(name: impl AsRef<OsStr>) -> Option<(u32, u32)> {
    let text = answer(name, &["-c", "import sys; print(*sys.version_info[:2])"])?;
    let (major, minor) = text.split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn no_python() -> String {
    let (major, minor) = OLDEST_PYTHON;
    let found = python_version("python3")
        .map_or_else(|| "none was found".to_owned(), |(major, minor)| format!("python3 is {major}.{minor}"));
    format!(
        "the tests against Gymnasium need Python {major}.{minor} or newer, but {found}; \
         please install python{major}.{minor} and python{major}.{minor}-venv"
    )
}
