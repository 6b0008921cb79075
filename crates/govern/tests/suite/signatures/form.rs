//! The form of a signature: what around and inside it is refused, what is harmless, and that no text makes it panic.

use ed25519_dalek::Signer as _;
use proptest::prelude::*;
use rlxp_govern::signature::{Approvers, LONGEST_SIGNATURE};

use super::maker::{Parts, armored, check, field, framed, line, number, statement, unarmored};

const ED25519: &str = "ssh-ed25519";
const ECDSA: &str = "ecdsa-sha2-nistp256";

/// A good signature by a key in memory, and the file that allows it.
fn ed25519() -> (Parts, Approvers) {
    let secret = ed25519_dalek::SigningKey::from_bytes(&[9; 32]);
    let key = [field(ED25519.as_bytes()), field(secret.verifying_key().as_bytes())].concat();
    let signature = secret.sign(&framed(&statement().bytes())).to_bytes().to_vec();
    let approvers = Approvers::parse(&line("ada", ED25519, &key)).unwrap();
    (Parts::new(key, [field(ED25519.as_bytes()), field(&signature)].concat()), approvers)
}

fn not_a_signature(text: &str, approvers: &Approvers) {
    let problem = check(text, approvers).expect_err("this must be refused");
    assert_eq!(problem.code(), "not_a_signature", "{text}");
}

#[test]
fn signature_text_may_be_wrapped_and_surrounded_by_white_space() {
    let (parts, approvers) = ed25519();
    let text = parts.armored();
    let texts = [
        text.clone(),
        text.trim().to_owned(),
        text.replace('\n', "\r\n"),
        format!("\n  {text}\t\n\n"),
        armored(&parts.bytes(), 76),
        armored(&parts.bytes(), 4096),
    ];
    for text in texts {
        assert_eq!(check(&text, &approvers).unwrap().name, "ada", "{text:?}");
    }
}

#[test]
fn signature_text_with_anything_around_or_between_is_refused() {
    let (parts, approvers) = ed25519();
    let text = parts.armored();
    let code = text.lines().nth(1).unwrap();
    let texts = [
        String::new(),
        "-----BEGIN SSH SIGNATURE-----".to_owned(),
        "-----BEGIN SSH SIGNATURE----------END SSH SIGNATURE-----".to_owned(),
        "-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----".to_owned(),
        format!("I approve.\n{text}"),
        format!("{text}I approve."),
        format!("{text}{text}"),
        text.replace("-----\n", "----- \n"),
        text.replace("-----\n", "-----\nComment: mine\n"),
        text.replace("-----\n", "-----"),
        text.replacen(code, &format!("{code} "), 1),
        text.replacen(code, &format!("{code}\u{b}"), 1),
        text.replacen(code, &format!("{code}="), 1),
        text.replace("SSH SIGNATURE", "PGP SIGNATURE"),
        format!("{text}{}", "\n".repeat(LONGEST_SIGNATURE)),
    ];
    for text in texts {
        not_a_signature(&text, &approvers);
    }
}

/// The last character before the padding has two unused bits, which must be zero.
#[test]
fn signature_base64_has_one_spelling() {
    let (parts, approvers) = ed25519();
    let text = armored(&parts.bytes(), 4096);
    assert!(check(&text, &approvers).is_ok());
    let (before, after) = text.split_once("=\n").expect("this signature ends in padding");
    let (before, last) = before.split_at(before.len() - 1);
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let place = ALPHABET.find(last).unwrap();
    for spare in &ALPHABET.as_bytes()[place + 1..place + 4] {
        not_a_signature(&format!("{before}{}=\n{after}", char::from(*spare)), &approvers);
    }
    not_a_signature(&format!("{before}{last}\n{after}"), &approvers);
    assert_eq!(format!("{before}{last}=\n{after}"), text);
}

#[test]
fn signature_with_bytes_too_many_or_too_few_is_refused() {
    let (good, approvers) = ed25519();
    let longer = |content: &[u8]| [content, &[0]].concat();
    let refused = |parts: Parts| check(&parts.armored(), &approvers).unwrap_err().code();
    assert_eq!(refused(Parts { after: vec![0], ..good.clone() }), "not_a_signature");
    assert_eq!(refused(Parts { signature: longer(&good.signature), ..good.clone() }), "not_a_signature");
    assert_eq!(refused(Parts { reserved: vec![0], ..good.clone() }), "not_a_signature");
    assert_eq!(refused(Parts { version: 0, ..good.clone() }), "not_a_signature");
    assert_eq!(refused(Parts { version: 2, ..good.clone() }), "not_a_signature");
    assert_eq!(refused(Parts { key: longer(&good.key), ..good.clone() }), "unknown_key");
    assert_eq!(refused(Parts { key: Vec::new(), ..good.clone() }), "unsupported_key");
    assert_eq!(refused(Parts { namespace: Vec::new(), ..good.clone() }), "wrong_namespace");
    assert_eq!(refused(Parts { namespace: b"rlx-approval\0".to_vec(), ..good.clone() }), "wrong_namespace");
    assert_eq!(refused(Parts { hash: b"sha1".to_vec(), ..good.clone() }), "unsupported_hash");
    assert_eq!(refused(Parts { hash: b"sha256".to_vec(), ..good.clone() }), "does_not_verify");
    let bytes = good.bytes();
    for length in 0..bytes.len() {
        not_a_signature(&armored(&bytes[..length], 70), &approvers);
    }
    assert_eq!(unarmored(&good.armored()), bytes);
    assert!(check(&good.armored(), &approvers).is_ok());
}

/// A length of four gigabytes costs nothing.
#[test]
fn signature_fields_cannot_claim_more_than_there_is() {
    let (good, approvers) = ed25519();
    let mut bytes = good.bytes();
    bytes[10..14].fill(0xff);
    not_a_signature(&armored(&bytes, 70), &approvers);
}

/// Anyone can derive the second signature that ECDSA allows from the first. It is for the same text by the same key.
#[test]
fn signature_in_the_other_form_of_ecdsa_is_harmless() {
    let secret = p256::ecdsa::SigningKey::from_slice(&[9; 32]).unwrap();
    let point = secret.verifying_key().to_encoded_point(false);
    let key = [ECDSA.as_bytes(), b"nistp256", point.as_bytes()].map(field).concat();
    let approvers = Approvers::parse(&line("ada", ECDSA, &key)).unwrap();
    let one: p256::ecdsa::Signature = secret.sign(&framed(&statement().bytes()));
    let other = p256::ecdsa::Signature::from_scalars(one.r().to_bytes(), (-*one.s()).to_bytes()).unwrap();
    assert_ne!(one, other);
    let signed = [one, other].map(|signature| {
        let (r, s) = signature.split_bytes();
        let numbers = [number(&r), number(&s)].concat();
        let parts = Parts::new(key.clone(), [field(ECDSA.as_bytes()), field(&numbers)].concat());
        check(&parts.armored(), &approvers).unwrap()
    });
    assert_eq!(signed[0], signed[1]);
    for (r, s) in [(&[0][..], &[1][..]), (&[1], &[0]), (&[0xff; 32], &[1]), (&[1; 33], &[1])] {
        let numbers = [number(r), number(s)].concat();
        let parts = Parts::new(key.clone(), [field(ECDSA.as_bytes()), field(&numbers)].concat());
        assert!(check(&parts.armored(), &approvers).is_err());
    }
}

proptest! {
    #[test]
    fn signature_of_any_text_never_panics(text in any::<String>()) {
        let (_, approvers) = ed25519();
        prop_assert!(check(&text, &approvers).is_err());
    }

    #[test]
    fn signature_of_any_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (_, approvers) = ed25519();
        prop_assert!(check(&armored(&bytes, 70), &approvers).is_err());
        prop_assert!(check(&armored(&[b"SSHSIG\0\0\0\x01", &bytes[..]].concat(), 70), &approvers).is_err());
    }

    /// Deeper than random bytes get: one field of a good signature is replaced.
    #[test]
    fn signature_with_any_field_replaced_never_panics(which in 0..5_usize, content in prop::collection::vec(any::<u8>(), 0..120)) {
        let (good, approvers) = ed25519();
        let mut parts = good.clone();
        let place = [&mut parts.key, &mut parts.namespace, &mut parts.hash, &mut parts.signature, &mut parts.after];
        place.into_iter().nth(which).unwrap().clone_from(&content);
        prop_assert_eq!(check(&parts.armored(), &approvers).is_ok(), parts.bytes() == good.bytes());
        let of_kind = [field(ED25519.as_bytes()), field(&content)].concat();
        let parts = Parts { signature: of_kind, ..good };
        prop_assert!(check(&parts.armored(), &approvers).is_err());
    }
}
