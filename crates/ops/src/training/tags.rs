//! Tags that runs are given.

use crate::failure::{Failure, Outcome};

/// An error when one of these can't be a tag.
pub(crate) fn check_tags(tags: &[String]) -> Outcome<()> {
    for tag in tags {
        let good = !tag.is_empty()
            && tag.len() <= 60
            && tag.trim() == tag
            && !tag.contains(|c: char| c.is_control() || c == ',');
        if !good {
            return Err(Failure::usage(
                "bad_tag",
                format!(
                    "{tag:?} can't be a tag: use 1 to 60 bytes without commas, control characters or spaces at either end"
                ),
            ));
        }
    }
    Ok(())
}
