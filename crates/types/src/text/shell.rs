//! Words that a shell takes as they are meant.

use std::borrow::Cow;
use std::fmt::Write;

use super::is_hidden;

/// One word for a shell: as it is where that is safe, else in quotes. Hidden
/// characters become octal bytes within `$'…'`, which bash and zsh read back.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_safe = |c: char| (c.is_alphanumeric() && !is_hidden(c)) || "_-./:@%+,=".contains(c);
    // zsh takes an equals sign at the start of a word for the path of a program.
    if !text.is_empty() && !text.starts_with('=') && text.chars().all(is_safe) {
        return Cow::Borrowed(text);
    }
    if !text.chars().any(is_hidden) {
        return Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")));
    }
    let mut out = String::from("$'");
    for character in text.chars() {
        match character {
            '\\' | '\'' => out.extend(['\\', character]),
            hidden if is_hidden(hidden) => {
                for byte in hidden.encode_utf8(&mut [0; 4]).bytes() {
                    // Three octal digits: a hexadecimal escape would swallow the digits after it.
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            other => out.push(other),
        }
    }
    out.push('\'');
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_act_on_them() {
        let cases = [
            ("ppo_größe_001", "ppo_größe_001"),
            ("runs/a:best@2+b,c=1%.yaml", "runs/a:best@2+b,c=1%.yaml"),
            ("", "''"),
            ("my run", "'my run'"),
            ("it's", r"'it'\''s'"),
            ("$(rm -rf ~)", "'$(rm -rf ~)'"),
            ("`x`;y|z&", "'`x`;y|z&'"),
            ("~root", "'~root'"),
            ("=ls", "'=ls'"),
            ("--set", "--set"),
            ("a\u{1b}7'\\", r"$'a\0337\'\\'"),
            ("a\nb", r"$'a\012b'"),
            ("\u{202e}", r"$'\342\200\256'"),
        ];
        for (text, word) in cases {
            assert_eq!(shell_word(text), word, "{text:?}");
        }
    }
}
