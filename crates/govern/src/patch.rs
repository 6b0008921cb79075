//! Unified diffs: which paths they touch, what they must not do, and what a text is after one.

mod apply;

pub use apply::apply;

/// What a diff says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchFacts {
    /// Every path it names, without `a/` and `b/`, each once.
    pub paths: Vec<String>,
    /// Whether it creates a file.
    pub adds: bool,
    pub removes: bool,
    /// What it does besides changing lines; none of this is allowed.
    pub tricks: Vec<String>,
}

/// Reads the headers of a unified diff.
pub fn facts(patch: &str) -> PatchFacts {
    let mut found = PatchFacts::default();
    // Lines left of the current hunk: inside it, a line that looks like a header is content.
    let (mut old_left, mut new_left) = (0u64, 0u64);
    let mut hunks = 0;
    for line in patch.lines() {
        if old_left > 0 || new_left > 0 {
            match line.as_bytes().first() {
                Some(b'+') => new_left = new_left.saturating_sub(1),
                Some(b'-') => old_left = old_left.saturating_sub(1),
                Some(b' ') | None => {
                    old_left = old_left.saturating_sub(1);
                    new_left = new_left.saturating_sub(1);
                }
                Some(b'\\') => {}
                _ => found.tricks.push(format!("a hunk is shorter than its header says: {line:?}")),
            }
            continue;
        }
        if let Some(hunk) = line.strip_prefix("@@ ") {
            hunks += 1;
            match apply::ranges(hunk) {
                Some(((_, old), (_, new))) => (old_left, new_left) = (old, new),
                None => found.tricks.push(format!("invalid hunk header: {line:?}")),
            }
        } else if let Some(path) = line.strip_prefix("--- ") {
            found.adds |= found.name(path.split('\t').next().unwrap_or(path));
        } else if let Some(path) = line.strip_prefix("+++ ") {
            found.removes |= found.name(path.split('\t').next().unwrap_or(path));
        } else if let Some(pair) = line.strip_prefix("diff --git ") {
            // Paths with spaces are ambiguous here; the headers below name them again.
            let parts: Vec<&str> = pair.split(' ').collect();
            match parts[..] {
                [one, other] => {
                    found.name(one);
                    found.name(other);
                }
                _ => found.tricks.push(format!("ambiguous paths: {line:?}")),
            }
        } else if let Some(what) = forbidden(line) {
            found.tricks.push(format!("{what}: {line:?}"));
        }
    }
    if old_left > 0 || new_left > 0 {
        found.tricks.push("its last hunk is truncated".into());
    }
    if hunks == 0 {
        found.tricks.push("it has no hunks".into());
    }
    found
}

impl PatchFacts {
    /// Adds a path; returns whether it is `/dev/null`.
    fn name(&mut self, path: &str) -> bool {
        if path == "/dev/null" {
            return true;
        }
        let plain = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
        if plain.starts_with('"') {
            self.tricks.push(format!("a quoted path: {path}"));
        } else if !self.paths.iter().any(|known| known == plain) {
            self.paths.push(plain.to_owned());
        }
        false
    }
}

/// Extended headers that do more than change lines.
fn forbidden(line: &str) -> Option<&'static str> {
    const FORBIDDEN: [(&str, &str); 12] = [
        ("rename from ", "it renames a file"),
        ("rename to ", "it renames a file"),
        ("copy from ", "it copies a file"),
        ("copy to ", "it copies a file"),
        ("old mode ", "it changes a file's mode"),
        ("new mode ", "it changes a file's mode"),
        ("new file mode 120", "it creates a symlink"),
        ("new file mode 160", "it creates a submodule"),
        ("new file mode 100755", "it creates an executable file"),
        ("deleted file mode 120", "it removes a symlink"),
        ("GIT binary patch", "it is binary"),
        ("Binary files ", "it is binary"),
    ];
    FORBIDDEN.iter().find(|(prefix, _)| line.starts_with(prefix)).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: &str = "diff --git a/envs/reward.py b/envs/reward.py\nindex 1..2 100644\n--- a/envs/reward.py\n+++ b/envs/reward.py\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";

    #[test]
    fn a_plain_patch() {
        let found = facts(PLAIN);
        assert_eq!(found, PatchFacts { paths: vec!["envs/reward.py".into()], ..PatchFacts::default() });
        let added = facts("--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+a\n");
        let removed = facts("deleted file mode 100644\n--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!((added.adds, added.removes, removed.adds, removed.removes), (true, false, false, true));
    }

    #[test]
    fn what_looks_like_a_header_inside_a_hunk_is_content() {
        let patch = "--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,2 @@\n--- a/other\n++++ b/other\n+y\n";
        assert_eq!(facts(patch).paths, ["x.py"]);
    }

    #[test]
    fn tricks_are_named() {
        for (text, word) in [
            ("rename from a\nrename to ../b\n", "renames"),
            ("new file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/etc\n", "link"),
            ("GIT binary patch\n", "binary"),
            ("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n", "truncated"),
            ("diff --git a/a b b/a b\n", "ambiguous"),
            ("", "no hunk"),
        ] {
            assert!(facts(text).tricks.iter().any(|trick| trick.contains(word)), "{text:?}");
        }
        let two = format!("{PLAIN}--- a/eval.py\n+++ b/eval.py\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(facts(&two).paths, ["envs/reward.py", "eval.py"]);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(?s).*", lines in prop::collection::vec("(@@ -[0-9,]* \\+[0-9,]* @@|[-+ ]{1,4}[a-z/]*|diff --git .*)", 0..20)) {
            facts(&text);
            facts(&lines.join("\n"));
        }
    }
}
