//! Patches as git writes them, and patches generated from edits: each gives exactly its target and fits nothing else.

use proptest::prelude::*;

use super::apply;

const TWELVE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";

/// Written by git 2.47.
const TWO_HUNKS: &str = "\
diff --git a/a.txt b/a.txt
index e031777..d1fe5b1 100644
--- a/a.txt
+++ b/a.txt
@@ -1,5 +1,5 @@
 one
-two
+TWO
 three
 four
 five
@@ -10,3 +10,4 @@ nine
 ten
 eleven
 twelve
+thirteen
\\ No newline at end of file
";
const WITHOUT_CONTEXT: &str = "\
--- a/a.txt
+++ b/a.txt
@@ -2 +2 @@ one
-two
+TWO
@@ -12,0 +13 @@ twelve
+thirteen
\\ No newline at end of file
";
const CRLF: &str = "--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,3 +1,3 @@\n x\r\n-y\r\n-z\n\\ No newline at end of file\n+Y\r\n+z\r\n";
const GONE: &str =
    "deleted file mode 100644\nindex 286c5f5..0000000\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
const MADE: &str = "new file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+fresh\n\\ No newline at end of file\n";

#[test]
fn patches_as_git_writes_them() {
    let after = TWELVE.replace("two", "TWO") + "thirteen";
    assert_eq!(apply(Some(TWELVE), TWO_HUNKS), Ok(Some(after.clone())));
    assert_eq!(apply(Some(TWELVE), WITHOUT_CONTEXT), Ok(Some(after)));
    assert_eq!(apply(Some("x\r\ny\r\nz"), CRLF), Ok(Some("x\r\nY\r\nz\r\n".into())));
    assert_eq!(apply(Some("gone\n"), GONE), Ok(None));
    assert_eq!(apply(None, MADE), Ok(Some("fresh".into())));
    // With the signature of a mailed patch, and without a final newline.
    let mailed = format!("{TWO_HUNKS}-- \n2.47.3\n");
    assert!(apply(Some(TWELVE), &mailed).is_ok());
    let emptied = "--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a";
    assert_eq!(apply(Some("a\n"), emptied), Ok(Some(String::new())));
    // An empty context line whose leading space was trimmed.
    let trimmed = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n\n-a\n+b\n";
    assert_eq!(apply(Some("\na\n"), trimmed), Ok(Some("\nb\n".into())));
}

#[track_caller]
fn refused(before: Option<&str>, patch: &str, words: &str) {
    let said = apply(before, patch).expect_err(patch);
    assert!(said.contains(words), "{said}");
}

#[test]
fn what_does_not_fit_is_named() {
    refused(Some(&TWELVE.replace("two", "zwei")), TWO_HUNKS, "hunk 1: line 2 is \"zwei\\n\"");
    refused(Some(&TWELVE.replace("ten", "zehn")), TWO_HUNKS, "hunk 2: line 10 is \"zehn\\n\"");
    refused(Some(&format!("zero\n{TWELVE}")), TWO_HUNKS, "hunk 1: line 1 is \"zero\\n\"");
    refused(Some(&TWELVE[..TWELVE.len() - 1]), TWO_HUNKS, "hunk 2: line 12 is \"twelve\"");
    refused(Some(&TWELVE.replace('\n', "\r\n")), TWO_HUNKS, "line 1 is \"one\\r\\n\"");
    refused(Some("one\n"), TWO_HUNKS, "hunk 1: line 2 should be \"two\\n\", but the file ends before it");
    refused(Some("one\n"), WITHOUT_CONTEXT, "hunk 1: line 2 should be");
    refused(Some(&format!("{TWELVE}more\n")), TWO_HUNKS, "another line follows");
    refused(None, TWO_HUNKS, "which does not exist");
    refused(Some("fresh"), MADE, "which already exists");
    refused(Some(""), MADE, "which already exists");
    refused(None, GONE, "which does not exist");
    refused(Some("gone\nmore\n"), GONE, "not all of its lines");
}

#[test]
fn what_is_no_plain_patch_of_one_file_is_refused() {
    let plain = |body: &str| format!("--- a/x\n+++ b/x\n{body}");
    refused(Some("a\n"), &plain("@@ -1 +2 @@\n-a\n+b\n"), "at line 2 of the new file");
    refused(Some("a\n"), &plain("@@ -0 +1 @@\n-a\n+b\n"), "before the first line");
    refused(
        Some("a\n"),
        &plain("@@ -9 +9 @@\n-a\n+b\n"),
        "starts after line 8, past the end of the file (line 1)",
    );
    refused(Some("a\nb\n"), &plain("@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+d\n"), "hunk 2: it overlaps");
    refused(Some("a\n"), &plain("@@ -1 +1 @@\n-a\n+b\n+c\n"), "line 6 of the patch belongs to no hunk");
    refused(Some("a\n"), &plain("@@ -1,2 +1 @@\n+b\n+c\n-a\n-a\n"), "exceeds the length in its hunk header");
    refused(Some("a\n"), &plain("@@ -1 +1 @@\n\\ No newline\n-a\n+b\n"), "a missing line");
    refused(Some("a\n"), &plain("@@ -+1 +1 @@\n-a\n+b\n"), "invalid hunk header");
    refused(
        Some("a\n"),
        &plain("@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n"),
        "another file",
    );
    refused(Some("a\n"), &plain(&format!("@@ -{} +1 @@\n-a\n+b\n", u64::MAX)), "starts after line");
    refused(Some("a\n"), "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "names 2");
    refused(Some("a\n"), "@@ -1 +1 @@\n-a\n+b\n", "names 0");
    refused(Some("a\n"), "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", "name the file");
    refused(Some("a\n"), "rename from a\nrename to b\n", "renames");
    refused(None, "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", "names 0");
}

/// What an edit does to one line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Edit {
    Keep,
    Drop,
    Add,
}

/// Both texts and the lines of the hunks that lead from one to the other, by the number of old lines before each.
#[derive(Clone, Debug)]
struct Made {
    old: Vec<String>,
    new: Vec<String>,
    patch: String,
    hunks: Vec<(usize, Vec<String>)>,
}

/// A diff with hunks of at most `context` unchanged lines around each change.
fn make(script: &[(Edit, String)], context: usize, open_end: (bool, bool)) -> Option<Made> {
    let side = |without: Edit, open: bool| {
        let kept = script.iter().filter(|(edit, _)| *edit != without);
        let mut lines: Vec<String> = kept.map(|(_, text)| format!("{text}\n")).collect();
        // An empty line can't be without a newline.
        if let Some(last) = lines.last_mut().filter(|last| open && last.len() > 1) {
            last.pop();
        }
        lines
    };
    // A line that both have is identical in both, including its newline.
    let mut open = open_end;
    if script.last().is_some_and(|(edit, _)| *edit == Edit::Keep) {
        open.1 = open.0;
    } else if let (Some(old), Some(new)) = (
        script.iter().rposition(|(edit, _)| *edit != Edit::Add),
        script.iter().rposition(|(edit, _)| *edit != Edit::Drop),
    ) {
        open.0 &= script[old].0 == Edit::Drop;
        open.1 &= script[new].0 == Edit::Add;
    }
    let (old, new) = (side(Edit::Add, open.0), side(Edit::Drop, open.1));
    let changed: Vec<usize> = (0..script.len()).filter(|at| script[*at].0 != Edit::Keep).collect();
    let shown = |at: usize| changed.iter().any(|change| change.abs_diff(at) <= context);
    let mut patch = "--- a/x\n+++ b/x\n".to_owned();
    let mut hunks = Vec::new();
    let (mut old_at, mut new_at, mut at) = (0, 0, 0);
    while at < script.len() {
        if !shown(at) {
            (old_at, new_at, at) = (old_at + 1, new_at + 1, at + 1);
            continue;
        }
        let (old_first, new_first) = (old_at, new_at);
        let mut body = String::new();
        while at < script.len() && shown(at) {
            let (mark, line) = match script[at].0 {
                Edit::Keep => (' ', &old[old_at]),
                Edit::Drop => ('-', &old[old_at]),
                Edit::Add => ('+', &new[new_at]),
            };
            body.push(mark);
            body.push_str(line);
            if !line.ends_with('\n') {
                body.push_str("\n\\ No newline at end of file\n");
            }
            old_at += usize::from(script[at].0 != Edit::Add);
            new_at += usize::from(script[at].0 != Edit::Drop);
            at += 1;
        }
        let range = |first: usize, end: usize| match end - first {
            0 => format!("{first},0"),
            1 => format!("{}", first + 1),
            length => format!("{},{length}", first + 1),
        };
        patch.push_str(&format!("@@ -{} +{} @@\n{body}", range(old_first, old_at), range(new_first, new_at)));
        hunks.push((old_first, old[old_first..old_at].to_vec()));
    }
    (!hunks.is_empty()).then_some(Made { old, new, patch, hunks })
}

/// A few different lines, including all that look like something else.
fn line() -> impl Strategy<Value = String> {
    let looks = [
        "",
        "a",
        "b",
        "-",
        "+",
        "-- ",
        "--- a/x",
        "+++ b/x",
        "@@ -1 +1 @@",
        "\\ No newline",
        " ",
        "a\r",
        "é",
    ];
    prop::sample::select(looks.map(str::to_owned).to_vec())
}

fn made() -> impl Strategy<Value = Made> {
    let edit = prop_oneof![3 => Just(Edit::Keep), 1 => Just(Edit::Drop), 1 => Just(Edit::Add)];
    let script = prop::collection::vec((edit, line()), 1..25);
    (script, 0..4usize, any::<(bool, bool)>())
        .prop_filter_map("it changes nothing", |(script, context, open)| make(&script, context, open))
}

/// Whether every hunk matches `text` at its position, judging by the lines alone.
fn fits(made: &Made, text: &[String]) -> bool {
    made.hunks.iter().all(|(at, lines)| text.get(*at..at + lines.len()) == Some(lines.as_slice()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn a_diff_gives_exactly_its_target(made in made()) {
        prop_assert_eq!(apply(Some(&made.old.concat()), &made.patch), Ok(Some(made.new.concat())), "{}", made.patch);
        prop_assert!(apply(None, &made.patch).is_err());
    }

    #[test]
    fn another_text_takes_it_only_where_every_hunk_fits(
        made in made(),
        at in any::<prop::sample::Index>(),
        other in line(),
        how in 0..3,
    ) {
        let mut text = made.old.clone();
        let at = at.index(text.len() + 1);
        match how {
            0 => text.insert(at, other + "\n"),
            1 if at < text.len() => drop(text.remove(at)),
            _ if at < text.len() => text[at] = other + "\n",
            _ => text.push(other),
        }
        // A line without a newline is joined with the next one.
        let text: Vec<String> = text.concat().split_inclusive('\n').map(str::to_owned).collect();
        match apply(Some(&text.concat()), &made.patch) {
            Ok(_) => prop_assert!(fits(&made, &text), "{:?}\n{}", text, made.patch),
            Err(said) => prop_assert!(!fits(&made, &text) || said.contains("no newline"), "{}: {:?}", said, text),
        }
    }

    #[test]
    fn a_patch_with_one_line_more_less_or_other_is_another_patch(
        made in made(),
        at in any::<prop::sample::Index>(),
        with in prop_oneof![Just(None), line().prop_map(Some)],
    ) {
        let mut lines: Vec<String> = made.patch.split_inclusive('\n').map(str::to_owned).collect();
        let at = 3 + at.index(lines.len() - 3);
        match with {
            Some(text) => lines[at] = text + "\n",
            None => drop(lines.remove(at)),
        }
        let patch = lines.concat();
        // It may still be a patch of other lines; it gives the target only if it says the same.
        if let Ok(after) = apply(Some(&made.old.concat()), &patch) {
            let same = after.as_deref() == Some(made.new.concat().as_str());
            prop_assert!(!same || says(&patch) == says(&made.patch), "{}\n{}", made.patch, patch);
        }
    }

    #[test]
    fn nothing_panics(
        before in prop::option::of("[ab\r\n]{0,12}"),
        patch in "(?s).{0,80}",
        lines in prop::collection::vec("(@@ -[0-9,]{0,4} \\+[0-9,]{0,4} @@|[-+ \\\\][ab\r]{0,2}|--- a/x|\\+\\+\\+ b/x|--- /dev/null)", 0..14),
    ) {
        let _ = apply(before.as_deref(), &patch);
        let _ = apply(before.as_deref(), &lines.join("\n"));
        let _ = apply(before.as_deref(), &format!("--- a/x\n+++ b/x\n{}", lines.join("\n")));
    }
}

/// A patch without the freedom that its format leaves: trailing spaces, newline markers, and order.
fn says(patch: &str) -> Vec<String> {
    let line = |line: &str| match line.as_bytes().first() {
        None => " ".to_owned(),
        Some(b'\\') => "\\".to_owned(),
        Some(_) => line.to_owned(),
    };
    let mut lines: Vec<String> = patch.lines().map(line).collect();
    lines.sort_unstable();
    lines
}
