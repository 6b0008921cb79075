//! Signatures of approvals, made by the real `ssh-keygen` and, for security keys that no test machine has, by hand.

mod approvers;
mod form;
mod maker;
mod security_keys;
mod signing;
