//! What a step sees of its code, and which of its files are reported as opened.

use rlxp_launch::order::Level;

use super::stage::{Stage, without};
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    an_overlay_leaves_the_base_as_it_is,
    a_copy_does_the_same,
    inputs_lie_between_the_base_and_the_changes,
    opened_files_are_reported,
    a_link_leads_no_removal_out,
];

const LOOK: &str = "cat reward.py kept.txt; test -e deep/removed.txt || echo gone; pwd; \
     echo new > new.txt; echo more >> kept.txt; rm reward.py; ls";

fn check(stage: &Stage, how: &str) {
    let outcome = stage.run();
    let at = stage.order.folder.join("train.tree");
    let expected = format!("changed\nkept\ngone\n{}\ndeep\nkept.txt\nnew.txt\n", at.display());
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), (expected.as_str(), ""));
    assert_eq!(outcome.exit.code, Some(0));
    assert_eq!(outcome.mechanisms.tree.as_deref(), Some(how));
    let base = |name: &str| std::fs::read_to_string(stage.order.steps[0].tree.base.join(name)).unwrap();
    assert_eq!((base("kept.txt"), base("reward.py")), ("kept\n".to_owned(), "base\n".to_owned()));
    assert_eq!(base("deep/removed.txt"), "removed\n");
    assert!(!stage.order.steps[0].tree.base.join("new.txt").exists());
}

fn an_overlay_leaves_the_base_as_it_is() {
    let stage = Stage::shell(LOOK);
    check(&stage, "overlay");
    // Not mounted outside the namespace, and what was written is kept.
    assert!(!stage.order.folder.join("train.tree/kept.txt").exists());
    let changed = std::fs::read_to_string(stage.order.folder.join("train.changed/new.txt")).unwrap();
    assert_eq!(changed, "new\n");
}

fn a_copy_does_the_same() {
    without("overlay", || check(&Stage::shell(LOOK).at_least(Level::Partial), "copy"));
}

fn inputs_lie_between_the_base_and_the_changes() {
    let check = |how: &str| {
        let mut stage =
            Stage::shell("cat reward.py kept.txt deep/data; echo more >> deep/data; cat deep/data")
                .at_least(Level::Partial);
        let inputs = stage.path().join("inputs");
        std::fs::create_dir_all(inputs.join("deep")).unwrap();
        for name in ["reward.py", "kept.txt", "deep/data"] {
            std::fs::write(inputs.join(name), "input\n").unwrap();
        }
        stage.step().tree.inputs = Some(inputs.clone());
        let outcome = stage.run();
        assert_eq!(
            (outcome.out.as_str(), outcome.err.as_str()),
            ("changed\ninput\ninput\ninput\nmore\n", "")
        );
        assert_eq!(outcome.mechanisms.tree.as_deref(), Some(how));
        assert_eq!(std::fs::read_to_string(inputs.join("deep/data")).unwrap(), "input\n");
    };
    check("overlay");
    without("overlay", || check("copy"));
}

fn opened_files_are_reported() {
    assert_eq!(Stage::shell("true").run().opened.len(), 0);
    let outcome = Stage::shell("cat reward.py; test -e kept.txt; ls -l").run();
    assert_eq!(outcome.opened.into_iter().collect::<Vec<_>>(), ["reward.py"]);
    let outcome =
        without("overlay", || Stage::shell("cat kept.txt not_there.py").at_least(Level::Partial).run());
    assert_eq!(outcome.opened.into_iter().collect::<Vec<_>>(), ["kept.txt"]);
}

fn a_link_leads_no_removal_out() {
    let mut stage = Stage::shell("true");
    let outside = stage.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("precious"), "").unwrap();
    std::os::unix::fs::symlink(&outside, stage.order.steps[0].tree.base.join("link")).unwrap();
    for name in ["link/precious", "../outside/precious", "/etc/passwd"] {
        stage.step().tree.removed = vec![name.to_owned()];
        assert!(stage.refusal().contains(name));
    }
    assert!(outside.join("precious").exists());
}
