//! Answers in documents.

/// Whether a text is an answer. Drafts contain `TODO` for open questions.
pub fn is_answered(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && !text.to_ascii_uppercase().starts_with("TODO")
        && text.chars().any(char::is_alphanumeric)
}
