//! Paths and globs of surfaces, as pure text: what a path may look like, and which pattern it matches.
//!
//! Matching what may be changed is exact. Matching what is protected is wide: case is ignored there, so that a file
//! system that ignores it too can't be used to reach a protected file under another name.

/// What is always protected.
pub const ALWAYS_PROTECTED: [&str; 3] = [".rlxp/**", ".git/**", ".git"];

/// Why a text is not a valid path for a candidate; `None` if it is.
pub fn bad_path(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.starts_with('/') || path.starts_with('~') {
        return Some("it is not relative to the repository's root");
    }
    if path.contains('\\') || path.contains('\0') || path.chars().any(char::is_control) {
        return Some("it has a backslash or a control character");
    }
    if path.as_bytes().get(1) == Some(&b':') {
        return Some("it contains a drive letter");
    }
    if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Some("it has an empty, `.` or `..` part");
    }
    if path.split('/').any(|part| part.ends_with('.') || part.ends_with(' ') || part.starts_with(' ')) {
        return Some("a component ends with a dot or starts or ends with a space");
    }
    None
}

/// Whether every character is plain ASCII, so that none can be a look-alike.
pub fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// Why a text is not a valid pattern; `None` if it is.
pub fn bad_glob(glob: &str) -> Option<&'static str> {
    if glob.contains(['[', ']', '{', '}', '!']) {
        return Some("only `*` (within a name), `?` (one character) and `**` (across folders) are supported");
    }
    if glob.split('/').any(|part| part.contains("**") && part != "**") {
        return Some("`**` matches whole folders and must be between slashes");
    }
    bad_path(glob)
}

/// Whether `path` matches `glob`, letter by letter.
pub fn matches(glob: &str, path: &str) -> bool {
    let glob: Vec<&str> = glob.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    folders(&glob, &path)
}

/// Whether `path` matches `glob` when case is ignored.
pub fn matches_any_case(glob: &str, path: &str) -> bool {
    matches(&glob.to_lowercase(), &path.to_lowercase())
}

/// Whether `glob` protects `path` itself or a folder above it: protecting `eval` also protects its content.
pub fn protects(glob: &str, path: &str) -> bool {
    matches_any_case(glob, path) || matches_any_case(&format!("{glob}/**"), path)
}

/// The first pattern of those given, and of those that always hold, that protects `path`.
pub fn protected_by<'g>(globs: &'g [String], path: &str) -> Option<&'g str> {
    ALWAYS_PROTECTED.into_iter().chain(globs.iter().map(String::as_str)).find(|glob| protects(glob, path))
}

/// Patterns over whole names, by dynamic programming: no pattern takes more than the product of the lengths.
fn folders(glob: &[&str], path: &[&str]) -> bool {
    run(glob, path, |part| *part == "**", |part, name| names(part, name))
}

fn names(glob: &str, name: &str) -> bool {
    let glob: Vec<char> = glob.chars().collect();
    let name: Vec<char> = name.chars().collect();
    run(&glob, &name, |letter| *letter == '*', |letter, other| *letter == '?' || letter == other)
}

/// Whether `text` matches `pattern`, whose `wild` items stand for any number of items.
fn run<T>(pattern: &[T], text: &[T], wild: impl Fn(&T) -> bool, same: impl Fn(&T, &T) -> bool) -> bool {
    // reached[i]: the pattern so far matches the first i items.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for item in pattern {
        if wild(item) {
            for at in 1..reached.len() {
                reached[at] |= reached[at - 1];
            }
        } else {
            for at in (1..reached.len()).rev() {
                reached[at] = reached[at - 1] && same(item, &text[at - 1]);
            }
            reached[0] = false;
        }
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn globs() {
        let check = |glob: &str, path: &str, expected: bool| {
            assert_eq!(matches(glob, path), expected, "{glob} {path}")
        };
        check("envs/*.py", "envs/reward.py", true);
        check("envs/*.py", "envs/deep/reward.py", false);
        check("envs/**", "envs/deep/reward.py", true);
        check("envs/**", "envs", true);
        check("**/reward.py", "reward.py", true);
        check("**/reward.py", "a/b/reward.py", true);
        check("a/**/c", "a/c", true);
        check("reward?.py", "reward1.py", true);
        check("reward?.py", "reward.py", false);
        check("Reward.py", "reward.py", false);
        check("*", "a/b", false);
        assert!(matches_any_case("Eval/**", "eVAL/x.PY"));
        assert_eq!(protected_by(&[], ".RLXP/registry.yaml"), Some(".rlxp/**"));
        assert_eq!(protected_by(&["eval/**".into()], "EVAL/run.py"), Some("eval/**"));
        assert_eq!(protected_by(&["eval/**".into()], "evaluate.py"), None);
        assert_eq!(protected_by(&["eval".into()], "Eval/deep/run.py"), Some("eval"));
        assert_eq!(protected_by(&["eval".into()], "evaluate.py"), None);
        assert_eq!(protected_by(&["*/metrics".into()], "src/metrics/a.py"), Some("*/metrics"));
    }

    #[test]
    fn paths_that_leave_or_pretend() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "./a",
            "a\\b",
            "~/x",
            "C:/x",
            "a/b/",
            "a\u{0}b",
            "a. /b",
        ] {
            assert!(bad_path(bad).is_some(), "{bad}");
        }
        for good in ["a", "envs/reward.py", ".hidden", "a-b_c.d"] {
            assert_eq!(bad_path(good), None, "{good}");
        }
        assert!(!is_plain("envs/rew\u{430}rd.py"));
        assert!(
            bad_glob("a/**b").is_some() && bad_glob("{a,b}").is_some() && bad_glob("a/**/b*.py").is_none()
        );
    }

    proptest! {
        #[test]
        fn a_path_matches_itself_and_everything(path in "[a-c]{1,3}(/[a-c]{1,3}){0,4}") {
            prop_assert!(matches(&path, &path));
            prop_assert!(matches("**", &path));
            let starred: String = path.split('/').map(|_| "*").collect::<Vec<_>>().join("/");
            prop_assert!(matches(&starred, &path));
            let longer = format!("{path}/x");
            prop_assert!(!matches(&longer, &path));
        }

        #[test]
        fn stars_match_like_a_plain_search(name in "[ab]{0,8}", before in "[ab]{0,3}", after in "[ab]{0,3}") {
            let expected = name.len() >= before.len() + after.len() && name.starts_with(&before) && name.ends_with(&after);
            let glob = format!("{before}*{after}");
            prop_assert_eq!(matches(&glob, &name), expected);
        }
    }
}
