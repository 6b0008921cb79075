//! Security keys, simulated by keys in memory as OpenSSH's PROTOCOL.u2f describes them; `ssh-keygen` checks that the
//! result is what a real one would have made.

use ed25519_dalek::Signer as _;
use rlxp_govern::signature::Approvers;
use ssh_key::sha2::{Digest as _, Sha256};

use super::maker::{Folder, Parts, check, field, framed, line, number, statement};

const ED25519: &str = "sk-ssh-ed25519@openssh.com";
const ECDSA: &str = "sk-ecdsa-sha2-nistp256@openssh.com";
const TOUCHED: u8 = 0x01;
const PIN_ONLY: u8 = 0x04;

/// What the device signs: the application, its flags and counter, and the message it is given.
fn signed_by_device(application: &str, flags: u8, counter: u32, message: &[u8]) -> Vec<u8> {
    [&Sha256::digest(application)[..], &[flags], &counter.to_be_bytes(), &Sha256::digest(message)[..]]
        .concat()
}

/// The key, and its signature with these flags, of a device of kind `kind`.
fn device(kind: &str, application: &str, flags: u8, counter: u32) -> Parts {
    let data = signed_by_device(application, flags, counter, &framed(&statement().bytes()));
    let (key, signature) = if kind == ED25519 {
        let secret = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        (field(secret.verifying_key().as_bytes()), secret.sign(&data).to_bytes().to_vec())
    } else {
        let secret = p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
        let point = secret.verifying_key().to_encoded_point(false);
        let signature: p256::ecdsa::Signature = secret.sign(&data);
        let (r, s) = signature.split_bytes();
        ([field(b"nistp256"), field(point.as_bytes())].concat(), [number(&r), number(&s)].concat())
    };
    let key = [field(kind.as_bytes()), key, field(application.as_bytes())].concat();
    let trailer = [&[flags][..], &counter.to_be_bytes()].concat();
    Parts::new(key, [field(kind.as_bytes()), field(&signature), trailer].concat())
}

fn allowed(kind: &str) -> String {
    line("ada", kind, &device(kind, "ssh:", TOUCHED, 0).key)
}

#[test]
fn signatures_of_touched_security_keys_are_taken() {
    let folder = Folder::new();
    for kind in [ED25519, ECDSA] {
        let approvers = Approvers::parse(&allowed(kind)).unwrap();
        for (flags, counter) in [(TOUCHED, 1), (TOUCHED | PIN_ONLY, u32::MAX)] {
            let armored = device(kind, "ssh:", flags, counter).armored();
            assert_eq!(check(&armored, &approvers).unwrap().name, "ada", "{kind}");
            assert!(folder.ssh_agrees(&allowed(kind), "ada", &armored), "{kind}");
            let elsewhere = device(kind, "ssh:elsewhere", flags, counter).armored();
            assert!(!folder.ssh_agrees(&allowed(kind), "ada", &elsewhere), "{kind}");
        }
    }
}

#[test]
fn signatures_of_untouched_security_keys_are_refused() {
    for kind in [ED25519, ECDSA] {
        let approvers = Approvers::parse(&allowed(kind)).unwrap();
        for flags in [0, PIN_ONLY] {
            let problem = check(&device(kind, "ssh:", flags, 5).armored(), &approvers).unwrap_err();
            assert_eq!(problem.code(), "user_not_present", "{kind}");
        }
    }
}

/// Flags, counter and application are part of what the device signed.
#[test]
fn signature_of_a_security_key_covers_what_the_device_adds() {
    for kind in [ED25519, ECDSA] {
        let approvers = Approvers::parse(&allowed(kind)).unwrap();
        let refused = |parts: &Parts| check(&parts.armored(), &approvers).unwrap_err().code();
        let last = device(kind, "ssh:", 0, 5).signature.len() - 1;

        let mut pretended_touch = device(kind, "ssh:", 0, 5);
        pretended_touch.signature[last - 4] = TOUCHED;
        assert_eq!(refused(&pretended_touch), "does_not_verify", "{kind}");

        let mut other_counter = device(kind, "ssh:", TOUCHED, 5);
        let last = other_counter.signature.len() - 1;
        other_counter.signature[last] = 6;
        assert_eq!(refused(&other_counter), "does_not_verify", "{kind}");

        let elsewhere = device(kind, "ssh:elsewhere", TOUCHED, 5);
        assert_eq!(refused(&elsewhere), "unknown_key", "{kind}");
        let moved = Parts { key: device(kind, "ssh:", TOUCHED, 5).key, ..elsewhere };
        assert_eq!(refused(&moved), "does_not_verify", "{kind}");

        let mut longer = device(kind, "ssh:", TOUCHED, 5);
        longer.signature.push(0);
        assert_eq!(refused(&longer), "not_a_signature", "{kind}");
        longer.signature.truncate(last);
        assert_eq!(refused(&longer), "not_a_signature", "{kind}");
    }
}

/// A security key's signature needs flags, and doesn't count for the same key outside a device.
#[test]
fn signature_kinds_cannot_be_exchanged() {
    for (kind, plain) in [(ED25519, "ssh-ed25519"), (ECDSA, "ecdsa-sha2-nistp256")] {
        let approvers = Approvers::parse(&allowed(kind)).unwrap();
        let parts = device(kind, "ssh:", TOUCHED, 5);
        let inner = &parts.signature[4 + kind.len()..];
        let without_flags = [field(plain.as_bytes()), inner[..inner.len() - 5].to_vec()].concat();
        let renamed = Parts { signature: without_flags, ..parts.clone() };
        assert_eq!(check(&renamed.armored(), &approvers).unwrap_err().code(), "not_a_signature", "{kind}");
        let invented = [field(b"x@example.org"), field(&[&inner[4..]].concat())].concat();
        let renamed = Parts { signature: invented, ..parts };
        assert_eq!(check(&renamed.armored(), &approvers).unwrap_err().code(), "not_a_signature", "{kind}");
    }
}
