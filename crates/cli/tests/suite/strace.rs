//! Parses what `strace` wrote about the processes that a command created.

use std::collections::{BTreeMap, BTreeSet};

/// Options of strace: trace every call that creates a process or executes a program, with all arguments.
pub(crate) const OPTIONS: [&str; 10] = [
    "-f",
    "-qq",
    "-v",
    "-s",
    "100000",
    "--seccomp-bpf",
    "-e",
    "signal=none",
    "-e",
    "trace=execve,execveat,fork,vfork,clone,clone3",
];

/// What a command started.
pub(crate) struct Trace {
    /// Processes that were created, without the command itself. Threads don't count.
    pub(crate) made: BTreeSet<u32>,
    /// Programs that were executed, in this order.
    pub(crate) programs: Vec<Program>,
}

/// A program that a process executed.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) process: u32,
    /// Its arguments with its name.
    pub(crate) argv: Vec<String>,
    pub(crate) environment: Vec<String>,
}

impl Trace {
    /// Parses strace's lines: `PROCESS CALL(ARGUMENTS) = RESULT`, a call in two halves when another process interrupted
    /// it.
    pub(crate) fn read(text: &str) -> Self {
        let (mut made, mut programs) = (BTreeSet::new(), Vec::new());
        let mut begun: BTreeMap<u32, String> = BTreeMap::new();
        for line in text.lines() {
            let (process, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (process, rest) = (process.parse().unwrap_or_else(|_| panic!("{line}")), rest.trim_start());
            // The end of a process, or a process that was killed before strace knew what it called.
            if rest.starts_with("+++") || rest.starts_with("???") {
                continue;
            }
            if let Some(start) = rest.strip_suffix("<unfinished ...>") {
                begun.insert(process, start.to_owned());
                continue;
            }
            let whole = match rest.strip_prefix("<... ") {
                Some(end) => {
                    let end = end.split_once("resumed>").unwrap_or_else(|| panic!("{line}")).1;
                    begun.remove(&process).unwrap_or_else(|| panic!("{line}")) + end
                }
                None => rest.to_owned(),
            };
            let (call, result) = whole.rsplit_once(" = ").unwrap_or_else(|| panic!("{line}"));
            let name = call.split('(').next().unwrap();
            match name {
                "execve" | "execveat" if result == "0" => {
                    let mut lists = lists(call).into_iter();
                    let (argv, environment) = (lists.next().unwrap(), lists.next().unwrap());
                    programs.push(Program { process, argv, environment });
                }
                "execve" | "execveat" => {}
                "fork" | "vfork" | "clone" | "clone3" => {
                    if !call.contains("CLONE_THREAD")
                        && let Ok(child) = result.split(' ').next().unwrap().parse()
                    {
                        made.insert(child);
                    }
                }
                _ => panic!("{line}"),
            }
        }
        assert!(!programs.is_empty(), "strace saw nothing: {text}");
        // The first is the command itself.
        programs.remove(0);
        Self { made, programs }
    }

    /// Whether a program with these arguments was started.
    pub(crate) fn started(&self, is: impl Fn(&[String]) -> bool) -> bool {
        self.programs.iter().any(|program| is(&program.argv))
    }
}

/// The lists of strings among a call's arguments. Strings have C's escapes, of which only escaped quotes matter here.
fn lists(call: &str) -> Vec<Vec<String>> {
    let (mut lists, mut text, mut is_text, mut is_escaped): (Vec<Vec<String>>, String, bool, bool) =
        (Vec::new(), String::new(), false, false);
    let mut is_list = false;
    for letter in call.chars() {
        match letter {
            _ if is_escaped => {
                is_escaped = false;
                text.push(letter);
            }
            '\\' if is_text => is_escaped = true,
            '"' if is_text => {
                is_text = false;
                let word = std::mem::take(&mut text);
                if is_list {
                    lists.last_mut().unwrap().push(word);
                }
            }
            '"' => is_text = true,
            _ if is_text => text.push(letter),
            '[' => {
                is_list = true;
                lists.push(Vec::new());
            }
            ']' => is_list = false,
            _ => {}
        }
    }
    lists
}

#[test]
fn calls_are_understood() {
    let text = r#"7 execve("/bin/rlx", ["/bin/rlx", "ls"], ["A=1"]) = 0
7 clone3({flags=CLONE_VM|CLONE_THREAD, exit_signal=0} => {parent_tid=[8]}, 88) = 8
7 clone(child_stack=0x1, flags=CLONE_VM|CLONE_VFORK|SIGCHLD <unfinished ...>
9 execve("/nowhere/git", ["git", "a\"b, [c]"], ["PATH=/x"]) = -1 ENOENT (No such file or directory)
9 execve("/bin/git", ["git", "a\"b, [c]"], ["PATH=/x", "B="]) = 0
7 <... clone resumed>)              = 9
9 +++ exited with 0 +++
10 ???( <detached ...>
7 vfork() = -1 EAGAIN (Resource temporarily unavailable)
"#;
    let trace = Trace::read(text);
    assert_eq!(trace.made, BTreeSet::from([9]));
    let [git] = &trace.programs[..] else { panic!("{:?}", trace.programs) };
    assert_eq!((git.process, &git.argv[..]), (9, &["git".to_owned(), "a\"b, [c]".to_owned()][..]));
    assert_eq!(git.environment, ["PATH=/x", "B="]);
}
