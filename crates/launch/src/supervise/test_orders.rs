//! Orders for the tests of this module.

use std::path::Path;

use crate::order::{ConfinementRequest, Level, Limits, Reach, RunOrder, StepOrder, TreeOrder};

pub(super) fn order(folder: &Path, steps: Vec<StepOrder>) -> RunOrder {
    RunOrder {
        key: "c1-r1-smoke-1-1".to_owned(),
        folder: folder.to_owned(),
        steps,
        limits: Limits {
            wall_clock: 60,
            cpu_time: 60,
            memory: 1 << 30,
            processes: 100,
            disk: 1 << 30,
            output: 1 << 20,
            silence: None,
        },
        confinement: ConfinementRequest { least: Level::None, network: Reach::None, hidden: Vec::new() },
        linked: Vec::new(),
        scan: false,
        expected: Vec::new(),
    }
}

pub(super) fn step(name: &str, argv: &[&str]) -> StepOrder {
    StepOrder {
        name: name.to_owned(),
        argv: argv.iter().map(|&one| one.to_owned()).collect(),
        program: None,
        tree: TreeOrder {
            base: "/absent".into(),
            inputs: None,
            changed: "/absent".into(),
            work: "/absent".into(),
            at: "/absent".into(),
            removed: Vec::new(),
        },
        folder: String::new(),
        environment: Vec::new(),
        values: Default::default(),
        set: std::collections::BTreeMap::new(),
        readable: Vec::new(),
        watched: Vec::new(),
        artifacts: Vec::new(),
        needs: Vec::new(),
        is_check: false,
    }
}
