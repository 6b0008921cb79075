//! Signatures of approvals, made by the real `ssh-keygen` and, for security keys that no test machine has, by hand.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails as the test does")]

mod signatures {
    mod approvers;
    mod form;
    mod maker;
    mod security_keys;
    mod signing;
}
