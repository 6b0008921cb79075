//! Texts that one YAML parser reads as what was approved, and another as something else: rlx reads them as broken or
//! changed, never as approved. And arguments that would bypass what was agreed.

use crate::governed::study::Governed;

/// Each replaces `  runs: 40` in the contract, or the whole text where it has `{all}`.
const TRICKS: [(&str, &str); 24] = [
    ("the key twice", "  runs: 40\n  runs: 4000"),
    ("the key twice, first the other", "  runs: 4000\n  runs: 40"),
    ("a merge", "  runs: 40\n  <<: {runs: 4000}"),
    ("an anchor", "  runs: &many 40"),
    ("an alias of nothing", "  runs: *many"),
    ("a tag", "  runs: !!int \"40\""),
    ("a tag of one's own", "  runs: !override 40"),
    ("text", "  runs: \"40\""),
    ("a fraction", "  runs: 40.0"),
    ("an exponent", "  runs: 4e1"),
    ("hexadecimal", "  runs: 0x28"),
    ("octal", "  runs: 050"),
    ("base sixty", "  runs: 0:40"),
    ("underscores", "  runs: 4_0_0"),
    ("infinitely many", "  runs: .inf"),
    ("more than a number holds", "  runs: 1e400"),
    ("more than fits", "  runs: 18446744073709551656"),
    ("less than nothing", "  runs: -40"),
    ("a look-alike", "  run\u{455}: 40"),
    ("a key that nobody sees", "  runs: 40\n  \u{200b}runs: 4000"),
    ("a decomposed key", "  runs: 40\n  rune\u{301}: 4000"),
    ("a second document", "{all}---\nbudget:\n  runs: 4000\n"),
    ("a directive", "%YAML 1.1\n---\n{all}"),
    ("a tab", "\truns: 40"),
];

#[test]
fn a_text_that_can_be_read_in_two_ways_is_not_approved() {
    let governed = Governed::approved();
    let approved = governed.read("contract.yaml");
    assert!(approved.contains("  runs: 40\n"));
    // A change without any effect voids nothing.
    for harmless in [
        approved.replace("  runs: 40\n", "  # four thousand\n  runs: 40 # runs: 4000\n"),
        approved.replace("  runs: 40\n", "  \"runs\": 40\n"),
        approved.replace('\n', "\r\n"),
    ] {
        std::fs::write(governed.file("contract.yaml"), harmless).unwrap();
        assert_eq!(governed.standing("budget"), "given");
    }
    let mut voided = 0;
    for (what, trick) in TRICKS {
        let text = match trick.contains("{all}") {
            true => trick.replace("{all}", &approved),
            false => approved.replacen("  runs: 40", trick, 1),
        };
        assert_ne!(text, approved, "{what}");
        std::fs::write(governed.file("contract.yaml"), text).unwrap();
        let standing = governed.standing("budget");
        std::fs::write(governed.file("contract.yaml"), &approved).unwrap();
        // What was read as something else stays void until a person approves it again. What wasn't read is as before.
        match standing.as_str() {
            "void" => {
                voided += 1;
                assert_eq!(governed.standing("budget"), "void", "{what}");
                governed.sign("--all", "alice").expect(0);
            }
            "unreadable" => assert_eq!(governed.standing("budget"), "given", "{what}"),
            other => panic!("{what}: {other}"),
        }
    }
    assert_eq!(governed.kinds().iter().filter(|kind| *kind == "voided").count(), voided);
    governed.rlx("verify --chain").expect(0);
}

/// An agent that can't approve a study can't bypass that by opening another one next to it or below it.
#[test]
fn no_study_is_opened_that_is_easier_to_approve_than_one_that_is_open() {
    let governed = Governed::approved();
    std::fs::create_dir_all(governed.path("deep/er")).unwrap();
    for (line, code) in [
        ("study init --task mine --study mine --assurance terminal", "weaker_than_beside"),
        ("study init --task balance --study mine --assurance host", "weaker_than_beside"),
        ("study init --root deep --assurance terminal", "weaker_than_beside"),
        ("study init --root deep/er --assurance terminal --task mine", "weaker_than_beside"),
    ] {
        let answer = governed.rlx(&format!("{line} --json")).expect(3).json();
        assert_eq!(answer["code"], code, "{line}: {answer}");
    }
    assert!(!governed.path("deep/.rlxp").exists());
    governed.rlx("study init --task balance --study second --assurance signature").expect(0);
    // Once a person has closed it, it is over.
    governed.sign("close --study tuning", "alice").expect(0);
    governed.rlx("study close --reason done --study tuning").expect(0);
    governed.rlx("study init --task balance --study third --assurance terminal").expect(0);
}
