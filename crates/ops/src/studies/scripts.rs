//! Scripts that a step starts: which files its command names, and which values a Python script takes on its command
//! line, and how.
//!
//! Reads the text alone. It knows the usual ways (argparse, click, absl, dataclasses that tyro and others turn into
//! flags, Hydra) and returns nothing if it is not sure.

use rlxp_govern::scope::bad_path;

/// A value that a script takes on its command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flag {
    /// As it is typed, without dashes.
    pub(crate) name: String,
    /// Its default, if that is a number.
    pub(crate) default: Option<f64>,
}

/// How every parser of flags takes a value. The equals sign keeps a negative number from looking like a flag.
pub(crate) const FLAG_SYNTAX: &str = "--{key}={value}";
/// How Hydra does.
pub(crate) const HYDRA_SYNTAX: &str = "{key}={value}";

/// How a script takes a value, such as `--{key}={value}`; `None` if it doesn't seem to take any.
pub(crate) fn override_syntax(script: &str) -> Option<&'static str> {
    if script.contains("hydra.main") {
        Some(HYDRA_SYNTAX)
    } else {
        (!flags(script).is_empty()).then_some(FLAG_SYNTAX)
    }
}

/// How a command takes a value, such as `--{key} {value}`.
pub(crate) fn parse_overrides(text: &str) -> Result<String, String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.contains("{key}") && words.contains("{value}") {
        true => Ok(words),
        false => Err(format!(
            "{text:?} has no {{key}} or no {{value}}, as --{{key}} {{value}} or {{key}}={{value}} has"
        )),
    }
}

/// Files in the tree that the words of a command may refer to, except its program.
pub(crate) fn named_files(argv: &[String], folder: &str) -> Vec<String> {
    let words = argv.iter().skip(1).map(|word| word.rsplit('=').next().unwrap_or_default());
    let path = |name: &str| match folder {
        "" | "." => name.to_owned(),
        folder => format!("{folder}/{name}"),
    };
    words.filter(|name| !name.contains('{')).map(path).filter(|path| bad_path(path).is_none()).collect()
}

/// The flags of a script, in the order of the text.
pub(crate) fn flags(script: &str) -> Vec<Flag> {
    let mut found = declared(script);
    found.extend(absl(script));
    found.extend(of_dataclasses(script));
    let mut seen: Vec<String> = Vec::new();
    found.retain(|flag| {
        let is_new = !seen.contains(&flag.name);
        seen.push(flag.name.clone());
        is_new
    });
    found
}

/// The flag with this name.
pub(crate) fn find<'f>(flags: &'f [Flag], name: &str) -> Option<&'f Flag> {
    flags.iter().find(|flag| plain(&flag.name) == plain(name))
}

/// The value that a command gives a flag: the last one counts. Empty for a flag without one.
pub(crate) fn given<'a>(argv: &'a [String], name: &str) -> Option<&'a str> {
    let mut given = None;
    for (at, word) in argv.iter().enumerate() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word.as_str(), argv.get(at + 1).map(String::as_str)),
        };
        // Hydra's have no dashes, and an equals sign instead.
        let is_flag = flag.starts_with("--") || word.contains('=');
        if is_flag && plain(flag) == plain(name) {
            given = Some(value.unwrap_or_default());
        }
    }
    given
}

/// Dashes and underscores are the same to most parsers and to people.
fn plain(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_")
}

/// `add_argument("--lr", …)` of argparse and `option("--lr", …)` of click.
fn declared(script: &str) -> Vec<Flag> {
    let calls = script.match_indices("add_argument(").chain(script.match_indices(".option("));
    let mut calls: Vec<(usize, &str)> =
        calls.map(|(at, word)| (at, call(&script[at + word.len()..]))).collect();
    calls.sort_by_key(|(at, _)| *at);
    let flag = |(_, call): (usize, &str)| {
        let name = quoted(call).find_map(|word| word.strip_prefix("--").map(str::to_owned))?;
        let default = call.split("default=").nth(1).and_then(number);
        is_name(&name).then_some(Flag { name, default })
    };
    calls.into_iter().filter_map(flag).collect()
}

/// `flags.DEFINE_float("lr", 1e-3, …)` of absl.
fn absl(script: &str) -> Vec<Flag> {
    let flag = |part: &str| {
        let (kind, rest) = part.split_once('(')?;
        let name = quoted(rest).next().filter(|name| is_name(name))?.to_owned();
        let is_number = kind == "float" || kind == "integer";
        let default = rest.split(',').nth(1).filter(|_| is_number).and_then(number);
        Some(Flag { name, default })
    };
    script.split("DEFINE_").skip(1).filter_map(flag).collect()
}

/// Fields of dataclasses, in a script that turns them into flags.
fn of_dataclasses(script: &str) -> Vec<Flag> {
    let by_tyro = script.contains("tyro.");
    let by_other = ["HfArgumentParser", "simple_parsing", "pyrallis", "draccus"].iter();
    let by_hand = script.contains("fields(") && script.contains("add_argument(");
    if !by_tyro && !by_hand && !by_other.clone().any(|word| script.contains(word)) {
        return Vec::new();
    }
    let with_dashes =
        by_tyro || ["replace(\"_\", \"-\")", "replace('_', '-')"].iter().any(|call| script.contains(call));
    let mut found = Vec::new();
    // The indentation of the class of a dataclass, once its decorator was seen.
    let (mut decorated, mut inside): (bool, Option<usize>) = (false, None);
    for line in script.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.starts_with("@dataclass") || text.starts_with("@dataclasses.dataclass") {
            decorated = true;
        } else if text.starts_with("class ") {
            inside = decorated.then_some(indent);
            decorated = false;
        } else if !text.is_empty() && inside.is_some_and(|class| indent <= class) {
            inside = None;
        } else if inside.is_some_and(|class| indent > class && indent <= class + 8) {
            let Some((name, rest)) = text.split_once(':').filter(|(name, _)| is_name(name)) else { continue };
            let name = if with_dashes { name.replace('_', "-") } else { name.to_owned() };
            found.push(Flag { name, default: rest.split_once('=').and_then(|(_, default)| number(default)) });
        }
    }
    found
}

/// The arguments of a call, up to its closing bracket.
fn call(text: &str) -> &str {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Texts in quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split(['"', '\'']).skip(1).step_by(2)
}

/// The number that a text begins with, unless more of an expression follows.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find([',', ')', ' ', '\n', '#']).unwrap_or(text.len());
    let is_whole =
        text[end..].trim_start_matches(' ').chars().next().is_none_or(|next| ",)\n#".contains(next));
    let value = text[..end].replace('_', "").parse().ok().filter(|value: &f64| value.is_finite());
    value.filter(|_| is_whole)
}

fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(script: &str) -> Vec<String> {
        flags(script).into_iter().map(|flag| flag.name).collect()
    }

    #[test]
    fn flags_of_every_usual_parser() {
        let cleanrl = "@dataclass\nclass Args:\n    seed: int = 1\n    \"\"\"seed\"\"\"\n    learning_rate: float = 2.5e-4\n\
                       \n    total_timesteps: int = 500_000\n\n\ndef run(batch: int = 4):\n    pass\n\nargs = tyro.cli(Args)\n";
        assert_eq!(names(cleanrl), ["seed", "learning-rate", "total-timesteps"]);
        assert_eq!(find(&flags(cleanrl), "learning_rate").unwrap().default, Some(2.5e-4));
        assert_eq!(find(&flags(cleanrl), "--total-timesteps").unwrap().default, Some(500_000.0));
        let argparse = "p.add_argument('-s', \"--seed\", type=int, default=int('3'))\np.add_argument(\n  '--lr', default=3e-4)\n";
        assert_eq!(names(argparse), ["seed", "lr"]);
        assert_eq!(find(&flags(argparse), "lr").unwrap().default, Some(3e-4));
        assert_eq!(names("@click.option('--gamma', default=0.99)\n"), ["gamma"]);
        assert_eq!(flags("flags.DEFINE_float('lr', 0.1, 'rate')\n")[0].default, Some(0.1));
        for script in ["", "print('--lr')", "@dataclass\nclass A:\n    lr: float = 1.0\n"] {
            assert_eq!((names(script), override_syntax(script)), (vec![], None), "{script}");
        }
        assert_eq!(override_syntax(cleanrl), Some(FLAG_SYNTAX));
        assert_eq!(override_syntax("@hydra.main(config_path='conf')"), Some(HYDRA_SYNTAX));
    }
}
