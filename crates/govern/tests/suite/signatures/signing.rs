//! Signatures from `ssh-keygen -Y sign` are accepted; anything else is refused for the right reason.

use std::collections::BTreeSet;

use rlxp_govern::signature::{Approvers, Statement, verify};
use rlxp_types::Digest;

use super::maker::{Folder, check, statement};

const FOR_RLX: [&str; 2] = ["-n", "rlx-approval"];

fn refusal(armored: &str, approvers: &Approvers) -> &'static str {
    check(armored, approvers).expect_err("this must be refused").code()
}

#[test]
fn signatures_of_both_kinds_and_both_hashes_are_taken() {
    let folder = Folder::new();
    for (name, kind) in [("ed", &["ed25519"][..]), ("ec", &["ecdsa", "-b", "256"])] {
        let allowed = format!("{name}@example.org,second {}\n", folder.make_key(name, kind));
        let approvers = Approvers::parse(&allowed).unwrap();
        for more in [&FOR_RLX[..], &["-n", "rlx-approval", "-O", "hashalg=sha256"]] {
            let armored = folder.sign(name, more, &statement().bytes());
            let signed = check(&armored, &approvers).unwrap();
            assert_eq!(signed.name, format!("{name}@example.org"));
            assert_eq!(signed.fingerprint.to_string(), folder.fingerprint(name));
            assert!(folder.ssh_agrees(&allowed, "second", &armored));
        }
    }
}

#[test]
fn signature_of_another_statement_does_not_verify() {
    let folder = Folder::new();
    let approvers = Approvers::parse(&format!("ada {}", folder.make_key("key", &["ed25519"]))).unwrap();
    let armored = folder.sign("key", &FOR_RLX, &statement().bytes());
    let other = Digest::hash(b"something else");
    for (what, changed) in [
        ("study", Statement { study: "walker-7f3b".to_owned(), ..statement() }),
        ("section", Statement { section: "budget".to_owned(), ..statement() }),
        ("digest", Statement { digest: other, ..statement() }),
        ("head", Statement { head: other, ..statement() }),
        ("digest and head", Statement { digest: statement().head, head: statement().digest, ..statement() }),
    ] {
        let problem = verify(&changed, &armored, &approvers).expect_err(what);
        assert_eq!(problem.code(), "does_not_verify", "{what}");
    }
    assert!(verify(&statement(), &armored, &approvers).is_ok());
}

#[test]
fn signature_for_another_purpose_or_by_another_key_is_refused_by_name() {
    let folder = Folder::new();
    let known = format!("ada {}", folder.make_key("known", &["ed25519"]));
    let approvers = Approvers::parse(&known).unwrap();
    let stranger = folder.make_key("stranger", &["ecdsa", "-b", "256"]);
    let rsa = folder.make_key("rsa", &["rsa", "-b", "2048"]);
    let wide = folder.make_key("wide", &["ecdsa", "-b", "384"]);
    let bytes = statement().bytes();

    let for_git = folder.sign("known", &["-n", "git"], &bytes);
    let problem = check(&for_git, &approvers).unwrap_err();
    assert_eq!(problem.code(), "wrong_namespace");
    assert!(problem.to_string().contains("\"git\""), "{problem}");

    let problem = check(&folder.sign("stranger", &FOR_RLX, &bytes), &approvers).unwrap_err();
    assert_eq!(problem.code(), "unknown_key");
    assert!(problem.to_string().contains(&folder.fingerprint("stranger")), "{problem}");
    let nobody = Approvers::default();
    assert_eq!(refusal(&folder.sign("known", &FOR_RLX, &bytes), &nobody), "unknown_key");
    let both = Approvers::parse(&format!("{known}\nbob {stranger}")).unwrap();
    assert_eq!(check(&folder.sign("stranger", &FOR_RLX, &bytes), &both).unwrap().name, "bob");

    for (name, kind) in [("rsa", "ssh-rsa"), ("wide", "ecdsa-sha2-nistp384")] {
        let problem = check(&folder.sign(name, &FOR_RLX, &bytes), &approvers).unwrap_err();
        assert_eq!(problem.code(), "unsupported_key");
        assert!(problem.to_string().contains(kind), "{problem}");
        assert!(problem.to_string().contains("ssh-keygen -t ed25519"), "{problem}");
    }
    for (line, what) in [(rsa, "RSA keys"), (wide, "ecdsa-sha2-nistp384")] {
        let problems = Approvers::parse(&format!("eve {line}")).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.contains(what), "{problems:?}");
    }
}

/// Every bit of the text but the eighth, which no ASCII has.
#[test]
fn signature_with_any_bit_flipped_is_refused() {
    let folder = Folder::new();
    for (name, kind) in [("ed", &["ed25519"][..]), ("ec", &["ecdsa", "-b", "256"])] {
        let approvers = Approvers::parse(&format!("ada {}", folder.make_key(name, kind))).unwrap();
        let armored = folder.sign(name, &FOR_RLX, &statement().bytes());
        assert!(check(&armored, &approvers).is_ok());
        let mut codes = BTreeSet::new();
        for (position, bit) in (0..armored.len()).flat_map(|position| (0..7).map(move |bit| (position, bit)))
        {
            let mut flipped = armored.clone().into_bytes();
            flipped[position] ^= 1 << bit;
            let flipped = String::from_utf8(flipped).unwrap();
            let problem = check(&flipped, &approvers).expect_err("no bit may be flipped");
            codes.insert(problem.code());
        }
        let expected = [
            "does_not_verify",
            "not_a_signature",
            "unknown_key",
            "unsupported_hash",
            "unsupported_key",
            "wrong_namespace",
        ];
        assert_eq!(codes, BTreeSet::from(expected));
    }
}
