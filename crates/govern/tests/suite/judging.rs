//! From evidence to looks, verdicts and decisions.

mod checks;
mod decisions;
mod guardrails;
mod looks;
mod studied;
