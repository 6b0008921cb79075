//! Words of commands with slots in braces, such as `{seed}`.

/// The words of a command with its slots filled: `{name}` becomes the value, wherever it appears in a word.
/// One pass: filled-in text isn't scanned again, and unknown slots stay.
pub fn fill(argv: &[String], slots: &[(&str, &str)]) -> Vec<String> {
    argv.iter().map(|word| fill_word(word, slots)).collect()
}

pub(crate) fn fill_word(word: &str, slots: &[(&str, &str)]) -> String {
    let (mut filled, mut rest) = (String::with_capacity(word.len()), word);
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let slot = slots.iter().find_map(|(name, value)| {
            let after = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, after))
        });
        match slot {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slots_are_filled_once() {
        let argv: Vec<String> = ["train.py", "--seed={seed}", "{run}/{seed}", "{other}", "{{seed}", "{", ""]
            .map(str::to_owned)
            .into();
        let filled = fill(&argv, &[("seed", "{run}"), ("run", "/tmp/é")]);
        assert_eq!(filled, ["train.py", "--seed={run}", "/tmp/é/{run}", "{other}", "{{run}", "{", ""]);
    }

    proptest! {
        #[test]
        fn filling_never_panics(word in "[{}a-dé]{0,12}", value in "[{}a-d]{0,6}") {
            let filled = fill_word(&word, &[("a", &value), ("ab", "x")]);
            if !word.contains("{a}") && !word.contains("{ab}") {
                prop_assert_eq!(filled, word);
            }
        }
    }
}
