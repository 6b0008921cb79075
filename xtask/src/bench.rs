//! `cargo xtask bench`, `starters`, `verdicts`, `diagnosis` and `soak`: what takes too long
//! for every test run. The measuring itself is in `python/bench/`, because reading a
//! child's CPU time and JSON needs nothing but Python's standard library.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Done, answer, cargo, root, show};
use crate::setup;

/// What the comparison needs; large, so it has a folder of its own.
/// Stable-Baselines3 takes Gymnasium below 1.3; Box2D and MuJoCo are for the environments of the bridge's rows.
const SB3: [(&str, &str); 5] = [
    ("stable-baselines3", "2.7.1"),
    ("gymnasium", "1.2.3"),
    ("box2d", "2.3.10"),
    ("pygame", "2.6.1"),
    ("mujoco", "4.0.0"),
];

/// The fastest peer on continuous control, compiled here against its headers.
const RLTOOLS: [(&str, &str); 3] = [("rltools", "2.2.1"), ("mkl", "2026.2.0"), ("mkl-include", "2026.2.0")];

/// Measures speed and memory and writes `docs/benchmarks.md`.
/// With `only`, measures one group of rows and keeps the others.
pub(crate) fn bench(compare: bool, only: Option<&str>) -> Done {
    build(&["--package", "rlxp"])?;
    for (package, example) in [
        ("rlxp-nn", "update_speed"),
        ("rlxp-env", "step_speed"),
        ("rlxp-store", "index_speed"),
        ("rlxp-store", "log_speed"),
        ("rlxp-ops", "logging_cost"),
        ("rlxp-analyze", "bootstrap_speed"),
        ("rlxp-analyze", "campaign_speed"),
        ("rlxp-ops", "listing_speed"),
        ("rlxp-ops", "study_speed"),
        ("rlxp-ops", "bridge_speed"),
    ] {
        build(&["--package", package, "--example", example])?;
    }
    let mut command = Command::new(python()?);
    command.arg(script("bench.py"));
    if let Some(group) = only {
        command.args(["--only", group]);
    }
    if compare {
        command.arg("--sb3").arg(sb3_python()?);
        if only != Some("gymnasium") {
            command.arg("--rltools").arg(rltools_program()?);
        }
    }
    show(&mut command)
}

/// Trains every starter over ten seeds and writes `docs/starters.md`.
pub(crate) fn starters(names: &[&str]) -> Done {
    build(&["--package", "rlxp"])?;
    show(Command::new(python()?).arg(script("starters.py")).args(names))
}

/// Error rates of verdicts, simulated and on real trainings, into `docs/verdicts.md`.
pub(crate) fn verdicts() -> Done {
    build(&["--package", "rlxp"])?;
    build(&["--package", "rlxp-analyze", "--example", "verdict_simulation"])?;
    show(Command::new(python()?).arg(script("verdicts.py")))
}

/// How often whole studies of equal candidates accept one, as a table.
pub(crate) fn study_errors(repetitions: &str) -> Done {
    let mut command = cargo(&root());
    command.args([
        "run",
        "--release",
        "--quiet",
        "--package",
        "rlxp-govern",
        "--example",
        "study_errors",
        "--",
    ]);
    show(command.arg(repetitions))
}

/// Healthy and deliberately broken trainings against the diagnosis rules, into `docs/diagnosis.md`.
pub(crate) fn diagnosis() -> Done {
    build(&["--package", "rlxp"])?;
    show(Command::new(python()?).arg(script("diagnosis.py")))
}

/// First suggestions on poor configs, followed and judged, into `docs/suggestions.md`.
pub(crate) fn suggest() -> Done {
    build(&["--package", "rlxp"])?;
    show(Command::new(python()?).arg(script("suggest.py")))
}

/// The whole corpus of attacks on run folders.
pub(crate) fn attack() -> Done {
    let mut command = cargo(&root());
    command.args(["test", "--package", "rlxp", "--features", "attacks"]);
    show(command.args(["--test", "suite", "received::"]))
}

/// Five hundred kills of training instead of fifty and two hundred of a study's loop instead of twenty, of what the tests have
/// built.
pub(crate) fn soak() -> Done {
    let mut command = cargo(&root());
    command.args(["test", "--package", "rlxp", "--test", "suite", "--", "kill::fault_kill_loop"]);
    command.arg("killed_at_random_instants");
    command.env("RLX_KILLS", "500").env("RLX_LOOP_KILLS", "200");
    show(&mut command)
}

fn build(what: &[&str]) -> Done {
    show(cargo(&root()).args(["build", "--release", "--quiet"]).args(what))
}

fn script(name: &str) -> PathBuf {
    root().join("python/bench").join(name)
}

fn python() -> Result<PathBuf, String> {
    setup::run()?;
    Ok(root().join(".venv/bin/python"))
}

fn sb3_python() -> Result<PathBuf, String> {
    let folder = root().join("target/bench-venv");
    let python = folder.join("bin/python");
    if !has_sb3(&python) {
        println!("bench: installing Stable-Baselines3 and its torch; this is large");
        show(Command::new(root().join(".venv/bin/python")).args(["-m", "venv", "--clear"]).arg(&folder))?;
        let pins = SB3.map(|(name, version)| format!("{name}=={version}"));
        show(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(pins))?;
    }
    Ok(python)
}

fn has_sb3(python: &Path) -> bool {
    let names = SB3.map(|(name, _)| format!("'{name}'")).join(", ");
    let ask = format!("from importlib.metadata import version; print(*map(version, [{names}]))");
    answer(python, &["-c", &ask]) == Some(SB3.map(|(_, version)| version).join(" "))
}

/// Compiles `rltools_pendulum.cpp` unless that was done before.
fn rltools_program() -> Result<PathBuf, String> {
    let folder = root().join("target/bench-rltools");
    let (python, program) = (folder.join("bin/python"), folder.join("pendulum"));
    let source = script("rltools_pendulum.cpp");
    if is_newer(&program, &source) {
        return Ok(program);
    }
    println!("bench: compiling RLtools with MKL");
    show(Command::new(root().join(".venv/bin/python")).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pins = RLTOOLS.map(|(name, version)| format!("{name}=={version}"));
    show(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(pins))?;
    let ask =
        "from importlib.util import find_spec; print(find_spec('rltools').submodule_search_locations[0])";
    let package = answer(&python, &["-c", ask]).ok_or("rltools was installed and can't be found")?;
    let library = folder.join("lib");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-Ofast", "-march=native", "-I"]).arg(folder.join("include"));
    compiler.arg("-I").arg(Path::new(&package).join("external/rl_tools/include"));
    compiler.arg(&source).arg("-o").arg(&program).arg("-L").arg(&library).arg("-l:libmkl_rt.so.3");
    compiler.arg(format!("-Wl,-rpath,{}", library.display()));
    show(&mut compiler)?;
    // Without its product the library falls back to plain loops, an eighth as fast, and says nothing.
    match answer(Path::new("nm"), &["-D", &program.display().to_string()]) {
        Some(symbols) if symbols.contains("cblas_sgemm") => Ok(program),
        _ => Err(format!("{} doesn't call cblas_sgemm", program.display())),
    }
}

fn is_newer(made: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    time(made).is_some_and(|made| time(source).is_some_and(|source| made > source))
}
