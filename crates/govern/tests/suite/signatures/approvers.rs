//! The approvers file: ssh's format, and a reason for every line that rlx can't honour.

use proptest::prelude::*;
use rlxp_govern::signature::{Approvers, Fingerprint};

use super::maker::{field, line};

fn ed25519(seed: u8) -> Vec<u8> {
    let secret = ed25519_dalek::SigningKey::from_bytes(&[seed; 32]);
    [b"ssh-ed25519", &secret.verifying_key().as_bytes()[..]].map(field).concat()
}

/// `kind base64` of a good key.
fn key(seed: u8) -> String {
    line("", "ssh-ed25519", &ed25519(seed)).trim().to_owned()
}

/// Line and message of every problem.
fn problems(text: &str) -> Vec<(usize, String)> {
    let problems = Approvers::parse(text).expect_err(text);
    problems.into_iter().map(|problem| (problem.line, problem.message)).collect()
}

fn check(text: &str, expected: &[&str]) {
    let found = problems(text);
    assert_eq!(found.len(), expected.len(), "{text}\n{found:#?}");
    for ((line, message), expected) in found.iter().zip(expected) {
        assert_eq!(*line, 1, "{text}");
        assert!(message.contains(expected), "{text}\n{message}\ndoesn't say {expected}");
    }
}

#[test]
fn signature_lists_are_read_as_ssh_does() {
    let text = format!(
        "# who may approve\r\n\n  \tada@example.org,ada {} ada's laptop # old\n\"Bob B\"\tnamespaces=\"git,rlx-*\"  {}\n   # {}\ncarol NameSpaces=\"*\" {}",
        key(1),
        key(2),
        key(3),
        key(4),
    );
    let approvers = Approvers::parse(&text).unwrap();
    let read: Vec<_> =
        approvers.iter().map(|one| (one.name.as_str(), one.line, one.comment.as_str())).collect();
    assert_eq!(read, [("ada@example.org", 3, "ada's laptop # old"), ("Bob B", 4, ""), ("carol", 6, "")]);
    assert_eq!(approvers.iter().next().unwrap().other_names, ["ada"]);
    assert_eq!(approvers.fingerprints().len(), 3);
    for approver in approvers.iter() {
        assert_eq!(approvers.find(approver.fingerprint()), Some(approver));
        assert!(approvers.fingerprints().contains(approver.fingerprint()));
        assert_eq!(approver.key.kind(), "ssh-ed25519");
    }
    assert!(Approvers::parse("").unwrap().is_empty());
    assert!(Approvers::parse("\u{feff}# only words\n").unwrap().is_empty());
}

#[test]
fn signature_lists_refuse_what_rlx_cannot_honour() {
    let good = key(1);
    check(&format!("ada cert-authority {good}"), &["cert-authority is not supported"]);
    check(
        &format!("ada valid-after=\"20200101\" {good}"),
        &["valid-after is not supported: rlx doesn't use the clock"],
    );
    check(&format!("ada VALID-BEFORE=20300101 {good}"), &["valid-before is not supported"]);
    check(&format!("ada namespaces=\"git\" {good}"), &["doesn't include rlx-approval"]);
    check(&format!("ada namespaces=\"*,!rlx-approval\" {good}"), &["doesn't include rlx-approval"]);
    check(&format!("ada namespaces=rlx-approval {good}"), &["double quotes"]);
    check(&format!("ada namespaces=\"*\",namespaces=\"*\" {good}"), &["more than once"]);
    check(
        &format!("ada no-touch-required {good}"),
        &["\"no-touch-required\" is neither a key type nor a supported option"],
    );
    check(
        &format!("ada valid-after=\"1\",cert-authority,x=\"a,b c\",namespaces=\"git\" {good}"),
        &["valid-after", "cert-authority", "x=", "doesn't include"],
    );
    check(&format!("*@example.org {good}"), &["is a pattern"]);
    check(&format!("ada,!bob {good}"), &["is a pattern"]);
    check(&format!("ada,, {good}"), &["a name is empty", "a name is empty"]);
    check(&format!("\"\" {good}"), &["a name is empty"]);
    check(&format!("a\u{1b}[2Jda {good}"), &["control characters"]);
    check(&good, &["the line starts with the key"]);
    check("ada", &["the key is missing"]);
    check("ada ssh-ed25519", &["the key is missing"]);
    check("ada ssh-ed25519 ?", &["not base64"]);
    check("ada ssh-rsa AAAA", &["RSA keys are not accepted; rlx accepts ed25519"]);
    check("ada ssh-dss AAAA", &["DSA keys are not accepted"]);
    check("ada ssh-ed25519-cert-v01@openssh.com AAAA", &["certificates are not accepted"]);
    check("ada ecdsa-sha2-nistp521 AAAA", &["ecdsa-sha2-nistp521"]);
}

#[test]
fn signature_lists_refuse_keys_that_are_none() {
    let of = |kind: &str, blob: &[u8]| line("ada", kind, blob);
    let good = ed25519(1);
    check(&of("ssh-ed25519", &good[..good.len() - 1]), &["truncated"]);
    check(&of("ssh-ed25519", &[&good[..], &[0]].concat()), &["too long"]);
    check(&of("ecdsa-sha2-nistp256", &good), &["says ecdsa-sha2-nistp256, but the key is ssh-ed25519"]);
    check(&of("ssh-ed25519", &field(b"ssh-rsa")), &["type differs"]);
    let one = [&[1][..], &[0; 31]].concat();
    check(&of("ssh-ed25519", &[b"ssh-ed25519", &one[..]].map(field).concat()), &["weak"]);
    let two = [&[2][..], &[0; 31]].concat();
    check(&of("ssh-ed25519", &[b"ssh-ed25519", &two[..]].map(field).concat()), &["not a point"]);

    let kind = "ecdsa-sha2-nistp256";
    let secret = p256::ecdsa::SigningKey::from_slice(&[1; 32]).unwrap();
    let p256 = |point: &[u8]| of(kind, &[kind.as_bytes(), b"nistp256", point].map(field).concat());
    let point = secret.verifying_key().to_encoded_point(false);
    assert!(Approvers::parse(&p256(point.as_bytes())).is_ok());
    check(&p256(secret.verifying_key().to_encoded_point(true).as_bytes()), &["compressed"]);
    check(&p256(&[&[4][..], &[1; 64]].concat()), &["not a point"]);
    check(&p256(&[0]), &["truncated"]);
}

#[test]
fn signature_lists_tell_all_problems_at_once() {
    let text = format!("ada {0}\n\nbob ssh-rsa AAAA\neve cert-authority {1}\nbob {0}\n?\n", key(1), key(2));
    let found: Vec<_> = problems(&text).into_iter().map(|(line, _)| line).collect();
    assert_eq!(found, [3, 4, 5, 6, 6]);
    assert!(problems(&text)[2].1.contains("already on line 1"));
}

#[test]
fn signature_fingerprints_are_text() {
    let approvers = Approvers::parse(&format!("ada {}", key(1))).unwrap();
    let fingerprint = approvers.iter().next().unwrap().fingerprint().clone();
    let text = fingerprint.to_string();
    assert_eq!(text.parse::<Fingerprint>().unwrap(), fingerprint);
    let json = serde_json::to_string(&fingerprint).unwrap();
    assert_eq!(json, format!("\"{text}\""));
    assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), fingerprint);
    let spare_bits = format!("SHA256:{}B", "A".repeat(42));
    for wrong in
        ["", "SHA256:", "SHA256:abc", &text[7..], &format!("{text}="), &format!(" {text}"), &spare_bits]
    {
        assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
    }
    assert!(serde_json::from_str::<Fingerprint>("\"MD5:aa\"").is_err());
}

proptest! {
    #[test]
    fn signature_lists_of_any_text_never_panic(text in any::<String>()) {
        Approvers::parse(&text).ok();
    }

    #[test]
    fn signature_lists_of_any_words_never_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "ada", "\"", "\\", ",", " ", "\t", "\n", "#", "=", "namespaces=\"", "rlx-approval", "*", "cert-authority",
            "ssh-ed25519", "ssh-rsa", "AAAA", "AAAAC3NzaC1lZDI1NTE5AAAAI", "é", "\u{0}",
        ]), 0..40),
    ) {
        if let Err(problems) = Approvers::parse(&words.concat()) {
            prop_assert!(!problems.is_empty());
        }
    }
}
