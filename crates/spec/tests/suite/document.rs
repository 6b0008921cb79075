//! Documents: exact messages, and properties of arbitrary text.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rlxp_spec::document::{Document, to_yaml, unsupported};
use rlxp_spec::{Problem, Source, render};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Value, json};

/// A minimal study that uses every feature.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Study {
    /// What the study is called.
    name: String,
    mode: Mode,
    /// The total budget.
    budget: Budget,
    #[serde(default)]
    changes: Vec<Change>,
    /// Allowed ranges by key.
    #[serde(default)]
    ranges: BTreeMap<String, (f64, f64)>,
    stop: Option<Stop>,
    #[serde(default)]
    seeds: BTreeSet<u32>,
    level: Option<Level>,
    amount: Option<Amount>,
    #[serde(default)]
    free: Value,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Manual,
    Supervised,
    Autonomous,
}

/// How strong an approval is.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// Signed by a key.
    Signature,
    /// Typed by a person.
    Terminal,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Budget {
    /// How many runs
    /// may be started.
    ///
    /// Not shown.
    #[schemars(range(min = 1, max = 100))]
    runs: u64,
    gpu_hours: Option<f64>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    #[schemars(length(min = 1, max = 5))]
    unit: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Change {
    Set {
        key: String,
        to: Value,
    },
    /// Multiplies a value.
    Scale {
        key: String,
        factor: f64,
    },
    Patch(Patch),
    Nothing,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Patch {
    file: String,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Stop {
    Never,
    After { runs: u32 },
    Below(f64),
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Amount {
    Count(u64),
    Words(String),
    Both { count: u64, unit: String },
    Other { weight: f64 },
}

fn read(text: &str) -> Document {
    Document::read(Source::new("study.yaml", text)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect::<String>().replace("study.yaml:", "")
}

/// The message for a text that is unreadable or not a study.
fn said(text: &str) -> String {
    let result =
        Document::read(Source::new("study.yaml", text)).and_then(|document| document.typed::<Study>());
    lines(&result.expect_err(text).problems)
}

/// Checks the messages for lines added to a valid study.
#[track_caller]
fn check(added: &str, expected: &str) {
    let right = "name: a\nmode: manual\nbudget: {runs: 3}\n";
    assert_eq!(said(&format!("{right}{added}")), expected, "{added}");
}

const RIGHT: &str = r#"
# A study.
name: entropy
mode: autonomous
budget:
  runs: 12
  gpu_hours: 3
changes:
  - {kind: set, key: algo.gamma, to: [1, {a: b}]}
  - kind: scale
    key: algo.learning_rate
    factor: 1e-1
  - {kind: patch, file: reward.py}
  - kind: nothing
ranges:
  algo.gamma: [0.9, 1]
stop: {after: {runs: 3}}
seeds: [1, 2]
level: ~
amount: 2h
"#;

#[test]
fn a_right_document_is_read() {
    let study: Study = read(RIGHT).typed().unwrap_or_else(|problems| panic!("{problems}"));
    let expected = Study {
        name: "entropy".to_owned(),
        mode: Mode::Autonomous,
        budget: Budget { runs: 12, gpu_hours: Some(3.0), strict: false, unit: None },
        changes: vec![
            Change::Set { key: "algo.gamma".to_owned(), to: json!([1, {"a": "b"}]) },
            Change::Scale { key: "algo.learning_rate".to_owned(), factor: 0.1 },
            Change::Patch(Patch { file: "reward.py".to_owned() }),
            Change::Nothing,
        ],
        ranges: BTreeMap::from([("algo.gamma".to_owned(), (0.9, 1.0))]),
        stop: Some(Stop::After { runs: 3 }),
        seeds: BTreeSet::from([1, 2]),
        level: None,
        amount: Some(Amount::Words("2h".to_owned())),
        free: Value::Null,
    };
    assert_eq!(study, expected);
    for added in ["stop: never", "stop: {below: 0.5}", "stop: null", "amount: {weight: 1}", "level: terminal"]
    {
        let text = format!("name: a\nmode: manual\nbudget: {{runs: 3}}\n{added}\n");
        read(&text).typed::<Study>().unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn the_value_is_what_was_written_in_its_order() {
    let document = read("z: 1\na:\n  \"y\": ~\n  b: [1.0, true]\n");
    assert_eq!(document.value().to_string(), r#"{"z":1,"a":{"y":null,"b":[1.0,true]}}"#);
    assert_eq!(document.source().name, "study.yaml");
}

#[test]
fn every_keyword_of_the_types_is_enforced() {
    assert_eq!(unsupported(&schema_for!(Study).to_value()), Vec::<String>::new());
}

#[test]
fn everything_is_said_at_once_in_the_order_of_the_file() {
    let text = "naem: x\nmode: manul\nbudget:\n  run: 3\n  gpu_hours: \"3\"\n  strict: \"yes\"\nchanges:\n  - kind: scale\n    key: 3\nseeds: 1\n";
    insta::assert_snapshot!(said(text));
    let problems = read(text).typed::<Study>().expect_err("there are problems");
    insta::assert_snapshot!("rendered", render(&problems.problems, &problems.sources, false));
}

#[test]
fn keys() {
    check("budgets: 1", "4:1: error: unknown key `budgets` (hint: did you mean `budget`?)\n");
    check(
        "changes: [{kind: patch, file: a, xyzzy: 1}]",
        "4:34: error: unknown key `xyzzy` in `changes[0]` (hint: valid keys here: kind, file)\n",
    );
    assert_eq!(
        said("mode: manual\nbudget: {}\nname: a\n"),
        "2:1: error: `runs` is missing in `budget` (hint: How many runs may be started.)\n"
    );
    assert_eq!(
        said("name: a\nbudget:\nmode:\n  manual\n"),
        "2:7: error: `budget` must be a mapping with `runs`; this is nothing (null) (hint: The total \
         budget.)\n"
    );
    assert_eq!(
        said("budget: {runs: 1}\nname: a\n"),
        "1:1: error: `mode` is missing (hint: write `mode:` and one of manual, supervised, autonomous)\n"
    );
}

#[test]
fn types_and_ranges() {
    assert_eq!(
        said("- 1\n"),
        "1:1: error: the document must be a mapping with `name`, `mode`, `budget`; this is a list (hint: A minimal study that uses every feature.)\n"
    );
    check(
        "seeds: [1, 2, 1]",
        "4:15: error: `seeds[2]` is the same as `seeds[0]` (hint: delete one of the two)\n",
    );
    check("seeds: [-1]", "4:9: error: `seeds[0]` must be 0 to 4294967295; this is -1\n");
    check("seeds: [4294967296]", "4:9: error: `seeds[0]` must be 0 to 4294967295; this is 4294967296\n");
    check(
        "seeds: [1e3]",
        "4:9: error: `seeds[0]` must be a whole number; this is the number 1000.0 (hint: write 1000)\n",
    );
    check("ranges: {a: [1]}", "4:13: error: `ranges.a` must have exactly 2 items; this has 1\n");
    check("ranges: {a: [1, x]}", "4:17: error: `ranges.a[1]` must be a number; this is the text \"x\"\n");
    check(
        "ranges:\n  a.b:\n    - 1\n    - 2\n    - 3",
        "5:3: error: `ranges.a.b` must have exactly 2 items; this has 3\n",
    );
    check(
        "changes: nothing",
        "4:10: error: `changes` must be a list; this is the text \"nothing\" (hint: put it in brackets: [...])\n",
    );
    assert_eq!(
        said("name: 1\nmode: manual\nbudget: {runs: 101, unit: \"\", strict: 1}\n"),
        "1:7: error: `name` must be text; this is the whole number 1 (hint: put it in quotes: \"1\")\n\
         3:16: error: `budget.runs` must be 1 to 100; this is 101 (hint: How many runs may be started.)\n\
         3:27: error: `budget.unit` is empty; it must have 1 to 5 characters\n\
         3:39: error: `budget.strict` must be true or false; this is the whole number 1 (hint: write true)\n"
    );
}

#[test]
fn choices() {
    check(
        "level: signatur",
        "4:8: error: `level` can't be `signatur`; valid: signature, terminal (hint: did you mean `signature`?)\n",
    );
    check(
        "level: 3",
        "4:8: error: `level` must be one of signature, terminal; this is the whole number 3 (hint: How strong an approval is.)\n",
    );
    check(
        "changes: [{key: a}]",
        "4:11: error: `kind` is missing in `changes[0]` (hint: one of set, scale, patch, nothing)\n",
    );
    check(
        "changes: [{kind: pach}]",
        "4:18: error: `changes[0].kind` can't be `pach`; valid: set, scale, patch, nothing (hint: did you mean `patch`?)\n",
    );
    check(
        "changes: [set]",
        "4:11: error: `changes[0]` must be a mapping with `kind`; this is the text \"set\" (hint: write {kind: ...} with one of set, scale, patch, nothing)\n",
    );
    check(
        "stop: nevr",
        "4:7: error: `stop` can't be `nevr`; valid: never, after, below (hint: did you mean `never`?)\n",
    );
    check("stop: after", "4:7: error: `after` needs a value in `stop` (hint: write {after: {runs: ...}})\n");
    check("stop: {never: 1}", "4:15: error: `never` takes no value (hint: write `never` alone)\n");
    check(
        "stop: {after: {run: 1}}",
        "4:8: error: `runs` is missing in `stop.after` (hint: write `runs:` and a whole number)\n",
    );
    check("stop: {belwo: 1}", "4:8: error: unknown key `belwo` in `stop` (hint: did you mean `below`?)\n");
    check(
        "stop: {after: {runs: 1}, below: 1}",
        "4:7: error: `stop` must have exactly one key; this has 2 (hint: one of never, after, below)\n",
    );
    check("amount: -1", "4:9: error: `amount` must be at least 0; this is -1\n");
    check(
        "amount: true",
        "4:9: error: `amount` must be a whole number or text or a mapping with `count`, `unit` or a mapping with `weight`; this is true (hint: put it in quotes: \"true\")\n",
    );
    check(
        "amount: {wight: 1}",
        "4:9: error: `amount` must be a whole number or text or a mapping with `count`, `unit` or a mapping with `weight` (hint: for the closest of them: `weight` is missing in `amount`)\n",
    );
}

#[test]
fn what_is_no_document() {
    let check = |text: &str, expected: &str| assert_eq!(said(text), expected, "{text:?}");
    check("", "1:1: error: the file is empty\n");
    check("# only a remark\n", "1:1: error: the file is empty\n");
    check(
        "a: &x 1\nb: *x\nc: !t 1\nd: 1\nd: 2\n",
        "1:7: error: anchors (&name) are not allowed in a document; write the value out\n2:4: error: aliases (*name) are not allowed in a document; write the value out\n3:7: error: tags (!name) are not allowed in a document; write the plain value\n5:1: error: duplicate key `d`; it is already on line 4 (hint: delete one of the two)\n",
    );
    check(
        "a: yes\nb: .nan\nc: 0x10\n",
        "1:4: error: `yes` is true to some YAML parsers and text to others (hint: write true, or \"yes\" if it is text)\n2:4: error: `.nan` is not a finite number (hint: write a finite number, or \".nan\" if it is text)\n3:4: error: `0x10` is a number to some YAML parsers and text to others (hint: write it as a decimal number, or \"0x10\" if it is text)\n",
    );
    check("a: 1\n---\nb: 2\n", "2:1: error: a second document in the file; a document is one document\n");
    check("[a, b]: 1\n: 2\n", "1:1: error: a key must be plain text\n2:1: error: a value without a key\n");
    let bytes = |bytes: &[u8]| {
        lines(&Document::from_bytes("study.yaml", bytes.to_vec()).expect_err("no text").problems)
    };
    assert_eq!(
        bytes(b"a: \xff"),
        "1:4: error: the file is not UTF-8 text: byte 0xff is not allowed here (hint: save the file in UTF-8 encoding)\n"
    );
    assert_eq!(
        bytes(&[b' '; 300_000]),
        "1:1: error: the file has 300000 bytes; a document must be smaller than 262144\n"
    );
    let deep = said(&format!("{}{}", "[".repeat(40), "]".repeat(40)));
    assert!(deep.contains("nested deeper than 32 levels"), "{deep}");
}

#[test]
fn a_problem_of_the_callers_own_stands_at_its_path() {
    let document = read(RIGHT);
    let check = |path: &str, place: (usize, usize), text: &str| {
        let problem = document.problem(path, "no");
        assert_eq!(((problem.line, problem.column), problem.text.as_str()), (place, text), "{path}");
        assert_eq!((problem.path.as_str(), problem.message.as_str()), (path, "no"));
    };
    check("mode", (4, 7), "autonomous");
    check("budget", (5, 1), "budget");
    check("budget.runs", (6, 9), "12");
    check("budget.disk", (5, 1), "budget");
    check("changes[0].to[1].a", (9, 46), "b");
    check("changes[1].factor", (12, 13), "1e-1");
    check("changes[1]", (10, 5), "");
    check("changes[9].factor", (8, 1), "changes");
    check("ranges.algo.gamma[0]", (16, 16), "0.9");
    check("seeds[1]", (18, 12), "2");
    check("nowhere.at.all", (3, 1), "");
    check("", (3, 1), "");
    check("..[", (3, 1), "");
}

/// Types with a rule that their schemas can't express.
#[derive(Debug, Deserialize, JsonSchema)]
struct Outer {
    #[serde(rename = "inner", default)]
    _inner: Vec<Even>,
    /// How long it may take.
    #[serde(rename = "time")]
    _time: Option<Time>,
    #[serde(rename = "times", default)]
    _times: BTreeMap<String, Time>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
struct Even;

impl TryFrom<u32> for Even {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        if number.is_multiple_of(2) { Ok(Even) } else { Err(format!("{number} is odd")) }
    }
}

/// a time such as 2h
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", example = "2h")]
struct Time;

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.ends_with('h') { Ok(Time) } else { Err(format!("{text:?} is no time")) }
    }
}

#[test]
fn what_only_the_type_knows_is_said_at_its_place() {
    let check = |text: &str, expected: &str| {
        let problems = read(text).typed::<Outer>().expect_err(text).problems;
        assert_eq!(lines(&problems), expected, "{text}");
    };
    check("inner:\n  - 2\n  - 3\n", "3:5: error: `inner[1]`: 3 is odd\n");
    // Reading continues where a valid example exists.
    check(
        "times: {a.b: 1h, c: x}\ntime: y\ninner: [1, 3]\n",
        "1:21: error: `times.c`: \"x\" is no time\n2:7: error: `time`: \"y\" is no time\n3:9: error: `inner[0]`: 1 is odd\n",
    );
    check(
        "time: 2\n",
        "1:7: error: `time` must be text; this is the whole number 2 (hint: a time such as 2h)\n",
    );
    check(
        "times: {a: 2}\n",
        "1:12: error: `times.a` must be text; this is the whole number 2 (hint: a time such as 2h)\n",
    );
    assert!(read("inner: [2]\ntime: 1h").typed::<Outer>().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(4), ..ProptestConfig::default() })]

    #[test]
    fn any_value_is_read_back(value in any_json()) {
        let text = to_yaml(&value);
        let read = Document::read(Source::new("d.yaml", text.clone())).map_err(|problems| problems.to_string());
        prop_assert_eq!(read.as_ref().map(Document::value), Ok(&value), "{}", text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}|[ -~\n\t\r\u{e9}\u{7f}]{0,200}|[a-z0-9:\\[\\]{}, \n-]{0,120}") {
        survive(&text);
    }

    #[test]
    fn no_change_of_a_right_document_panics(
        (from, to, length) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..40),
        inserted in prop::sample::select(vec!["\t", "\0", "- ", "? ", ": ", "&a ", "*a", "!t ", "|\n", "[", "{", "\u{85}", "é", "\r", "---\n", "<<: ", "~", "1", "\n"]),
    ) {
        let (from, to) = (from.index(RIGHT.len()), to.index(RIGHT.len()));
        let piece = &RIGHT[from..(from + length).min(RIGHT.len())];
        survive(&format!("{}{inserted}{piece}{}", &RIGHT[..to], &RIGHT[to..]));
    }
}

/// Whatever the text, each problem points into it.
fn survive(text: &str) {
    let source = Source::new("d.yaml", text);
    let result = Document::read(source).and_then(|document| {
        drop(document.typed::<Outer>());
        drop(document.typed::<Vec<Stop>>());
        document.typed::<Study>()
    });
    let Err(found) = result else { return };
    assert!(!found.problems.is_empty());
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in &found.problems {
        let line = lines.get(problem.line - 1).unwrap_or_else(|| panic!("{problem}"));
        assert!((1..=line.chars().count() + 1).contains(&problem.column), "{problem} in {line:?}");
    }
    assert!(!found.to_string().is_empty());
}

fn any_text() -> impl Strategy<Value = String> {
    let awkward = vec![
        "",
        "null",
        "~",
        "true",
        "Yes",
        "off",
        "1",
        "1e5",
        "012",
        "0x1f",
        ".nan",
        "a: b",
        "a:",
        "- x",
        "a #b",
        " x ",
        "\"",
        "'",
        "|",
        ">",
        "?",
        "- ",
        "a\nb",
        "a\n",
        "\n",
        "\n\n",
        "a\n\n",
        " a\nb",
        "a\n b\n",
        "a\n \nb",
        "a\n\tb",
        "a\r\nb",
        "---",
        "...",
        "%a",
        "@a",
        "`",
        "&a",
        "*a",
        "!a",
        "{",
        "[a]",
        "a,b",
        "<<",
        "=",
        "\u{feff}a",
        "a\u{85}b",
        "2h",
        "\u{0}",
        "y",
        "-",
        "---\na",
        "a\n---\nb\n",
        "# a\nb",
        "a\n# b\n\n\n",
        "a: |\n  b",
        "k\u{301}",
    ];
    prop_oneof![
        any::<String>(),
        "\\PC{0,20}",
        "[a-z \n:#-]{0,20}",
        "[ -~\n]{0,30}",
        prop::sample::select(awkward).prop_map(str::to_owned),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}
