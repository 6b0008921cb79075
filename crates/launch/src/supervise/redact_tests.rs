//! A secret anywhere in a stream, torn anywhere, is never let through; what looks like one goes, everything else stays.

use super::*;

fn secrets(values: &[&str]) -> Arc<Secrets> {
    let names = ["FIRST", "SECOND", "THIRD"];
    let variables =
        names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
    Arc::new(Secrets::new(variables))
}

/// What comes out when `text` comes in pieces of the given lengths, the rest at the end.
fn pass(secrets: &Arc<Secrets>, text: &[u8], pieces: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let mut redactor = Redactor::new(Arc::clone(secrets));
    let mut out = Vec::new();
    let mut rest = text;
    for length in pieces {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        redactor.feed(piece, &mut out);
        rest = after;
    }
    redactor.feed(rest, &mut out);
    redactor.finish(&mut out);
    out
}

fn has(text: &[u8], canary: &str) -> bool {
    text.windows(canary.len()).any(|window| window == canary.as_bytes())
}

#[test]
fn a_value_is_never_let_through_wherever_it_stands_and_wherever_the_stream_is_torn() {
    for canary in ["canary-77", "two\nlines", "ab\ncd\nef", "aaaaaaa", "\nedges\n", "aab aab aac"] {
        let secrets = secrets(&[canary, "nary-77 and more"]);
        let around = "a line\naa\nab\n\nthe last";
        for place in 0..=around.len() {
            let text = [&around[..place], canary, &around[place..]].concat();
            for tear in 0..=text.len() {
                let out = pass(&secrets, text.as_bytes(), [tear]);
                assert!(!has(&out, canary), "{canary:?} at {place}, torn at {tear}: {out:?}");
            }
            for length in 1..=7 {
                let out = pass(&secrets, text.as_bytes(), std::iter::repeat_n(length, text.len()));
                assert!(!has(&out, canary), "{canary:?} at {place} in pieces of {length}");
                assert!(has(&out, "[redacted FIRST]"));
            }
        }
    }
}

#[test]
fn a_value_is_never_let_through_in_lines_without_an_end() {
    let long = "L".repeat(PATTERN_BYTES * 2);
    for canary in ["canary-77", "with\nbreak", long.as_str(), "ghp_0123456789abcdefgh"] {
        let secrets = secrets(&[canary]);
        let patterns_only = secrets_of_none();
        for place in
            (LINE_BYTES - 24..LINE_BYTES + 3).chain([LINE_BYTES * 2 - 3, LINE_BYTES + PATTERN_BYTES - 4])
        {
            let text =
                ["x".repeat(place - 1).as_str(), " ", canary, " ", &"y".repeat(LINE_BYTES * 2)].concat();
            for tear in [place - 1, place + 1, place + canary.len() / 2, place + canary.len(), LINE_BYTES] {
                let out = pass(&secrets, text.as_bytes(), [tear]);
                assert!(!has(&out, canary) && has(&out, "[redacted FIRST]"), "at {place}, torn at {tear}");
                if canary.starts_with("ghp_") {
                    let out = pass(&patterns_only, text.as_bytes(), [tear]);
                    assert!(!has(&out, &canary[..10]), "by its looks at {place}, torn at {tear}");
                }
            }
        }
    }
}

fn secrets_of_none() -> Arc<Secrets> {
    secrets(&[])
}

#[test]
fn the_rest_of_a_secret_that_is_longer_than_a_line_goes_with_it() {
    let text = format!("password={} visible\n", "p".repeat(LINE_BYTES * 3));
    for length in [1000, 8192, LINE_BYTES, LINE_BYTES * 4] {
        let out = pass(&secrets_of_none(), text.as_bytes(), std::iter::repeat_n(length, 400));
        assert!(!has(&out, "pppp"), "in pieces of {length}");
        assert!(has(&out, "password=[redacted]") && has(&out, " visible\n"));
    }
}

#[test]
fn lines_are_bounded_and_everything_else_stays_as_it_was() {
    let secrets = secrets(&["canary-77"]);
    let text = b"first\r\n\n\xff\xfe\x1b[1mbold\nno end";
    for length in 1..=text.len() {
        assert_eq!(pass(&secrets, text, std::iter::repeat_n(length, text.len())), text);
    }
    let out = pass(&secrets, &vec![b'x'; LINE_BYTES * 5 / 2], []);
    let lines: Vec<_> = out.split(|byte| *byte == b'\n').map(<[u8]>::len).collect();
    assert_eq!(lines.iter().sum::<usize>(), LINE_BYTES * 5 / 2);
    assert!(lines.iter().all(|length| *length <= LINE_BYTES + PATTERN_BYTES), "{lines:?}");
}

#[test]
fn what_looks_like_a_secret_is_taken_out_and_what_does_not_is_left() {
    let check = |text: &str, expected: &str| {
        assert_eq!(secrets_of_none().out_of(text), expected, "{text}");
    };
    check("Authorization: Bearer abc.def-ghi012", "Authorization: Bearer [redacted]");
    check("a bearer of news", "a bearer of news");
    check("got ghp_abcdefghij0123456789 here", "got [redacted] here");
    check("github_pat_11ABCDEFG0abcdefghij", "[redacted]");
    check("key sk-proj-abcdEFGH0123-4567", "key [redacted]");
    check("task-abcdefghijklmnopqrst sk-learn", "task-abcdefghijklmnopqrst sk-learn");
    check("AKIAIOSFODNN7EXAMPLE,", "[redacted],");
    check("hf_abcdefghijklmnop\n", "[redacted]\n");
    check(
        "clone https://me:pw@host/x and https://host/a@b",
        "clone https://[redacted]@host/x and https://host/a@b",
    );
    check("https://tok@en@host ssh://git@host/x", "https://[redacted]@host ssh://git@host/x");
    check("password=hunter2 next", "password=[redacted] next");
    check("?token=abc&page=2", "?token=[redacted]&page=2");
    check("HF_TOKEN: abc", "HF_TOKEN: [redacted]");
    check(r#"{"api_key": "a b c", "lr": 1}"#, r#"{"api_key": "[redacted]", "lr": 1}"#);
    check("run --api-key hunter2 --steps 5", "run --api-key [redacted] --steps 5");
    check("num_memory_tokens=12 tokens per second: 7", "num_memory_tokens=12 tokens per second: 7");
    check("the secret of the token is out", "the secret of the token is out");
    check("token=", "token=");
}

#[test]
fn a_name_says_which_value_stood_there() {
    let secrets = secrets(&["value-of-first", "first-and-second", "short"]);
    let check = |text: &str, expected: &str| assert_eq!(secrets.out_of(text), expected, "{text}");
    check("password=value-of-first", "password=[redacted FIRST]");
    check("value-of-first-and-second", "[redacted FIRST]");
    check("short values stay", "short values stay");
    check("https://u:value-of-first@host", "https://[redacted FIRST]@host");
}
