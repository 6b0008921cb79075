//! `rlx contract`: what a person sees from the intake to the request for an approval.

use insta::assert_snapshot;

use crate::project::Project;
use crate::terminal::seen;

/// A repository that trains with scripts, with a study.
fn repository() -> Project {
    let project = Project::new();
    project.write("train.py", "env = gym.make('Ant-v4')\nparser.add_argument('--seed')\n");
    project.write("eval.py", "parser.add_argument('--seed')\n");
    project.write("src/reward.py", "");
    project.rlx("study init --task walk").expect(0);
    project
}

fn read(project: &Project, file: &str) -> String {
    std::fs::read_to_string(project.path(&format!(".rlxp/tasks/walk/studies/first/{file}"))).unwrap()
}

/// Every answer that the folder can't give, and those that depend on the machine.
const ANSWERS: [&str; 18] = [
    "--mission",
    "Walk further",
    "--metric",
    "success_rate",
    "--metric-source",
    "eval/scores.json#/success_rate",
    "--smallest-effect",
    "0.05",
    "--disk",
    "5GiB",
    "--per-run",
    "20m,100MiB,2GiB",
    "--device",
    "cpu",
    "--train",
    "python3 train.py --seed {seed} --out {run}",
    "--eval",
    "python3 eval.py --seed {seed} --trained {trained} --out {run}",
];

fn answered(project: &Project) {
    project.rlx_with(&[&["contract", "new", "--yes"][..], &ANSWERS].concat()).expect(0);
}

#[test]
fn the_files_read_well() {
    let project = repository();
    answered(&project);
    for file in ["contract.yaml", "metric_spec.yaml", "surface_map.yaml", "runbook.yaml"] {
        assert_snapshot!(format!("contract_draft_{}", file.split('.').next().unwrap()), read(&project, file));
    }
}

#[test]
fn open_answers_are_named_with_their_places() {
    let project = repository();
    project
        .rlx_with(&[
            "contract",
            "new",
            "--yes",
            "--disk",
            "5GiB",
            "--per-run",
            "20m,1MiB,2GiB",
            "--device",
            "cpu",
        ])
        .expect(0);
    assert_snapshot!(project.rlx("contract check").expect(1).shown());
    let checked = project.rlx("contract check --json").expect(1).json();
    assert_eq!((&checked["schema"], &checked["complete"]), (&"rlx.contract_check/1".into(), &false.into()));
    assert_eq!(checked["open"][0]["path"], "task.mission");
}

#[test]
fn a_complete_contract_is_said_to_be_one() {
    let project = repository();
    answered(&project);
    let checked = project.rlx("contract check").expect(0).stdout;
    assert!(checked.ends_with("the contract of walk/first is complete\n"), "{checked}");
    project.write(
        ".rlxp/tasks/walk/studies/first/runbook.yaml",
        "schema: rlxp.runbook/1\ntrain: {argv: []}\nevl: 1\n",
    );
    let broken = project.rlx("contract check").expect(2);
    for part in ["runbook.yaml:2:", "evl", "`eval`", "some files of walk/first can't be read"] {
        assert!(broken.stdout.contains(part), "{part} in {}", broken.stdout);
    }
}

#[test]
fn wrong_answers_are_refused_together() {
    let project = repository();
    let ran = project.rlx("contract new --yes --runs 0 --disk 5GB --surface x --train a|b").expect(2);
    for part in ["--runs", "--disk", "--surface", "--train", "shell", "5GiB"] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    answered(&project);
    let path = ".rlxp/tasks/walk/studies/first/contract.yaml";
    project.write(path, &read(&project, "contract.yaml").replace("runs: 40", "runs: 41"));
    let before = read(&project, "contract.yaml");
    let again = project.rlx("contract new --yes --json").expect(3).json();
    assert_eq!(again["code"], "contract_exists");
    assert_eq!(read(&project, "contract.yaml"), before);
}

#[test]
fn a_person_is_asked_with_what_was_found_as_the_default() {
    let project = repository();
    // Mission, metric, source; a wrong direction, then the default; the rest is Enter.
    let typed = format!(
        "Walk further\nsuccess_rate\neval/scores.json#/success_rate\nup\n\n0.05\n{}",
        "\n".repeat(30)
    );
    let (screen, code) = seen(&project, "rlx contract new --constraint 'no falls'", &typed);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("What should the study improve? [leave open]"), "{screen}");
    assert!(
        screen.contains(" train.py --seed {seed}]") && screen.contains("is none of higher, lower"),
        "{screen}"
    );
    // Everything else is shown, with the place where it can be changed.
    assert!(screen.contains("contract.yaml statistics.incumbent_seeds"), "{screen}");
    let contract = read(&project, "contract.yaml");
    assert!(contract.contains("mission: Walk further\n  constraints:\n    - no falls\n"), "{contract}");
    assert_eq!(project.rlx("contract check").code, Some(0), "{contract}");
}

#[test]
fn the_request_is_what_a_person_needs() {
    let project = repository();
    answered(&project);
    let text = project.rlx("contract request metrics").expect(0).stdout;
    let stable: Vec<&str> = text.lines().filter(|line| !line.starts_with("digest")).collect();
    assert_snapshot!(stable.join("\n"));
    project.rlx("contract request --to ask.txt").expect(0);
    project.rlx("contract request --to ask.txt").expect(3);
    let asked = project.rlx("contract request scope --json").expect(0).json();
    assert_eq!(asked["terminal"], "rlx approve scope");
    // The study was opened without approvers, so no signature could ever count.
    assert_eq!(asked["signature"].as_array().unwrap().len(), 0, "{asked}");
    assert!(project.rlx("contract diff").expect(0).stdout.contains("scope: never approved"));
}

#[test]
fn old_files_are_listed_and_taken_over() {
    let project = Project::new();
    project.write(".rlxp/contract.yaml", "task: {id: a}\ngoal: walk\n");
    project.write(".rlxp/task_card.md", "# Goal\n\nWalk far.\n");
    let listed = project.rlx("study list").expect(0);
    assert!(listed.stdout.contains("old files, read-only: contract.yaml, task_card.md"), "{}", listed.stdout);
    assert!(listed.stderr.contains("rlx study init --import .rlxp"), "{}", listed.stderr);
    let taken = project.rlx("study init --task walk --import .rlxp").expect(0).stdout;
    for part in
        ["imported .rlxp as text; nothing in it is approved", "imported/task_card.md", "contract.yaml: goal"]
    {
        assert!(taken.contains(part), "{part} in {taken}");
    }
    assert!(read(&project, "contract.yaml").contains("mission: Walk far."));
    assert_eq!(
        project.rlx("study init --study other --import nowhere --json").expect(2).json()["code"],
        "import_not_found"
    );
}
