//! `rlx doctor`: what this machine offers for governed runs, and why something is missing. Starts no process.

use std::path::Path;

use rlxp_fs::{FsExt, environment};
use rlxp_launch::order::{Level, Mechanisms};
use serde::Serialize;

use crate::context::Context;

#[derive(Clone, Debug, Serialize)]
pub struct DoctorReport {
    /// How well runs can be sandboxed.
    pub level: Level,
    pub mechanisms: Mechanisms,
    pub findings: Vec<Finding>,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked.
    pub what: String,
    /// The result.
    pub is: String,
    /// What that means, or what would help.
    pub why: String,
}

/// Checks the machine. Files and programs come first: probing the namespaces leaves this process inside them.
pub fn doctor(context: &Context) -> DoctorReport {
    let mut others = vec![
        program(context, "git", "checks out the code of a commit"),
        program(context, "python3", "needed by the repositories of most studies"),
        program(context, "ssh-keygen", "signs approvals"),
    ];
    others.push(Finding {
        what: "CPU cores".into(),
        is: environment::processor_count().to_string(),
        why: match environment::available_memory() {
            Some(bytes) => format!("{} of memory available", crate::below::bytes_about(bytes)),
            None => "available memory unknown".into(),
        },
    });
    others.push(state_folder(context));
    // Before the namespaces, in which cgroups can't be created.
    let mut limits = Mechanisms::default();
    rlxp_launch::supervise::describe_limits(&mut limits);
    let mut mechanisms = rlxp_launch::confine::probe_here();
    mechanisms.memory = limits.memory;
    mechanisms.process_count = limits.process_count;
    mechanisms.missing.extend(limits.missing);
    let mut findings = of_mechanisms(&mechanisms);
    findings.extend(others);
    DoctorReport { level: mechanisms.level(), mechanisms, findings }
}

fn program(context: &Context, name: &str, why: &str) -> Finding {
    let found = crate::studies::candidate::find_program(context.fs.as_ref(), Path::new("/"), name);
    let is = found.map_or_else(|| "not found".to_owned(), |path| path.display().to_string());
    Finding { what: name.to_owned(), is, why: why.to_owned() }
}

fn state_folder(context: &Context) -> Finding {
    let what = "state folder".to_owned();
    let Some(state) = &context.user.state else {
        return Finding { what, is: "none".into(), why: "HOME is not set, so runs can't be stored".into() };
    };
    let why = context.fs.available_around(state).map_or_else(
        |_| "free space unknown".to_owned(),
        |bytes| format!("{} free", crate::below::bytes_about(bytes)),
    );
    Finding { what, is: state.display().to_string(), why }
}

/// The mechanisms of the sandbox: name, key in `Mechanisms::missing`, and purpose.
const MECHANISMS: [(&str, &str, &str); 8] = [
    ("files", "files", "runs write only to their own folders and can't read keys"),
    ("root", "root", "only listed files exist for a run, and no socket of another program"),
    ("processes", "processes", "runs see only their own processes, and none outlives its supervisor"),
    ("network", "network", "runs have only the network access in the contract"),
    ("system calls", "syscalls", "runs can't use kernel keys, or sockets that reach past their network"),
    ("tree", "overlay", "each run gets its own copy of the code instantly; otherwise it is copied"),
    ("memory", "memory cgroup", "runs that use too much memory are stopped"),
    ("process count", "process cgroup", "runs that start too many processes are stopped"),
];

fn of_mechanisms(mechanisms: &Mechanisms) -> Vec<Finding> {
    let values = [
        &mechanisms.files,
        &mechanisms.root,
        &mechanisms.processes,
        &mechanisms.network,
        &mechanisms.syscalls,
        &mechanisms.tree,
        &mechanisms.memory,
        &mechanisms.process_count,
    ];
    let line = |((what, mechanism, means), value): (&(&str, &str, &str), &Option<String>)| {
        // Without mounts, there is no root either.
        let because = if *mechanism == "root" { mechanisms.missing.get("mounts") } else { None };
        let missing = mechanisms.missing.get(*mechanism).or(because);
        Finding {
            what: (*what).to_owned(),
            is: value.clone().unwrap_or_else(|| "not isolated".to_owned()),
            why: missing.cloned().unwrap_or_else(|| (*means).to_owned()),
        }
    };
    MECHANISMS.iter().zip(values).map(line).collect()
}
