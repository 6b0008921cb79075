//! Parses answers as people type them, at the terminal and in flags. Each error says what to write instead.

use rlxp_govern::documents::{
    Aggregation, Bytes, Extractor, Guardrail, Metric, Operation, PerRun, Seconds, Slug, StopRule, Surface,
    SurfaceKey, SurfaceKind,
};
use rlxp_govern::scope::{bad_glob, bad_path};
use rlxp_spec::document::Words;
use serde::de::DeserializeOwned;

/// An answer, or what is wrong with it and what to write instead.
pub type Parsed<T> = Result<T, String>;

/// One of the words of a type, such as `higher`.
pub fn word<T: DeserializeOwned + Words>(text: &str) -> Parsed<T> {
    serde_json::from_value(text.trim().to_lowercase().into())
        .map_err(|_| format!("{text:?} is none of {}", T::words().join(", ")))
}

/// Any type that parses itself.
pub fn plain<T: std::str::FromStr>(text: &str, what: &str) -> Parsed<T> {
    text.trim().parse().map_err(|_| format!("{text:?} is not {what}"))
}

/// A finite number.
pub fn number(text: &str) -> Parsed<f64> {
    let value: f64 = plain(text, "a number")?;
    if value.is_finite() { Ok(value) } else { Err(format!("{text:?} is not a finite number")) }
}

/// An effect size.
pub fn effect(text: &str) -> Parsed<f64> {
    number(text).and_then(|effect| if effect > 0.0 { Ok(effect) } else { Err("more than zero".to_owned()) })
}

/// A whole number of at least one.
pub fn count(text: &str) -> Parsed<u64> {
    plain(text, "a whole number of at least 1")
        .and_then(|count| if count > 0 { Ok(count) } else { Err("at least 1".to_owned()) })
}

/// A whole number within these bounds.
pub fn count_within(text: &str, least: u64, most: u64) -> Parsed<u64> {
    let count = count(text)?;
    if (least..=most).contains(&count) {
        return Ok(count);
    }
    Err(if most == u64::MAX { format!("at least {least}") } else { format!("from {least} to {most}") })
}

/// Rising numbers of seeds, the first of at least 5.
pub fn looks(text: &str) -> Parsed<Vec<u64>> {
    let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
    let looks = inside.split([',', ' ']).filter(|part| !part.trim().is_empty());
    let looks: Vec<u64> = looks.map(count).collect::<Parsed<_>>()?;
    let is_rising = looks.windows(2).all(|pair| pair[0] < pair[1]);
    match looks.as_slice() {
        [first, ..]
            if *first >= 5 && is_rising && looks.len() <= 10 && looks.iter().all(|seeds| *seeds <= 1000) =>
        {
            Ok(looks)
        }
        _ => Err("rising numbers of seeds from 5 on, at most 10 of them, such as 5,10,15".to_owned()),
    }
}

/// The probability of a false claim, within the allowed range.
pub fn alpha(text: &str) -> Parsed<f64> {
    match number(text)? {
        alpha if (0.0001..=0.2).contains(&alpha) => Ok(alpha),
        _ => Err(format!("{text:?} is not from 0.0001 to 0.2")),
    }
}

/// `yes` or `no`.
pub fn yes(text: &str) -> Parsed<bool> {
    match text.trim().to_lowercase().as_str() {
        "y" | "yes" | "true" => Ok(true),
        "n" | "no" | "false" => Ok(false),
        _ => Err(format!("{text:?} is neither yes nor no")),
    }
}

/// A name, or the nearest valid one: `eval/Mean Return` becomes `eval-mean-return`.
pub fn name(text: &str) -> Parsed<Slug> {
    let text = text.trim();
    text.parse().or_else(|error| Slug::from_words(text).ok_or_else(|| format!("{error}")))
}

/// `FILE#KEY`: the file extension determines how it is read.
pub fn source(text: &str) -> Parsed<Extractor> {
    let (file, key) = text
        .trim()
        .split_once('#')
        .filter(|(file, key)| !file.is_empty() && !key.is_empty())
        .ok_or_else(|| {
        format!(
            "{text:?} is not FILE#KEY, such as eval/scores.json#/success_rate or eval/progress.csv#return"
        )
    })?;
    let file_name = file.to_owned();
    let pointer = if key.starts_with('/') { key.to_owned() } else { format!("/{key}") };
    let last = file.rsplit('/').next().unwrap_or(file);
    Ok(match last.rsplit('.').next().unwrap_or_default() {
        "json" => Extractor::Json { file: file_name, pointer },
        "jsonl" => Extractor::Jsonl { file: file_name, pointer, step: None },
        "csv" => Extractor::Csv { file: file_name, column: key.to_owned(), step: None },
        _ if last == "stdout" => Extractor::Stdout { before: key.to_owned() },
        _ if file.contains("wandb") => Extractor::Wandb { file: file_name, key: key.to_owned() },
        _ if file.contains("tfevents") || !last.contains('.') => {
            Extractor::Tensorboard { file: file_name, tag: key.to_owned() }
        }
        _ => {
            return Err(format!(
                "{file:?} is not a .json, .jsonl or .csv file, a folder of TensorBoard events or stdout"
            ));
        }
    })
}

/// `NAME=FILE#KEY,higher|lower,ALLOWED`
pub fn guardrail(text: &str) -> Parsed<Guardrail> {
    let shape = || format!("{text:?} is not NAME=FILE#KEY,higher|lower,ALLOWED_REGRESSION");
    let (metric, rest) = text.split_once('=').ok_or_else(shape)?;
    let parts: Vec<&str> = rest.split(',').collect();
    let [from, direction, allowed] = parts[..] else { return Err(shape()) };
    let allowed_regression = number(allowed)?;
    if allowed_regression < 0.0 {
        return Err(format!("{allowed}: the allowed regression must be 0 or more"));
    }
    let direction = word(direction)?;
    let metric = Metric {
        name: name(metric)?,
        source: source(from)?,
        direction,
        aggregation: Aggregation::Mean,
        window: None,
        unit: None,
        range: None,
    };
    Ok(Guardrail { metric, allowed_regression })
}

/// A pattern of paths.
pub fn pattern(text: &str) -> Parsed<String> {
    let wrong = bad_glob(text).map(|why| format!("{text:?} is not a valid pattern: {why}"));
    wrong.map_or_else(|| Ok(text.to_owned()), Err)
}

/// `ID=KIND:GLOB[,GLOB…][:KEY=MIN..MAX[,KEY…]][:edit]`
pub fn surface(text: &str) -> Parsed<Surface> {
    let shape = || format!("{text:?} is not ID=KIND:FILES[:KEY=MIN..MAX][:edit], such as {EXAMPLE}");
    let (id, rest) = text.trim().split_once('=').ok_or_else(shape)?;
    let mut parts = rest.split(':').map(str::trim);
    let kind: SurfaceKind = word(parts.next().unwrap_or_default())?;
    let paths: Vec<String> = pieces(parts.next().ok_or_else(shape)?);
    if paths.is_empty() {
        return Err(shape());
    }
    let (keys, code) = match parts.collect::<Vec<_>>()[..] {
        [] => ("", Code::Kept),
        [EDIT] => ("", Code::Edited),
        [keys] => (keys, Code::Kept),
        [keys, EDIT] => (keys, Code::Edited),
        _ => return Err(shape()),
    };
    new_surface(id, kind, paths, &pieces(keys), code)
}

/// The word that allows candidates to change the code of a surface.
const EDIT: &str = "edit";
const EXAMPLE: &str = "ppo=hyperparameter:ppo.yaml:lr=1e-5..1e-2 or reward=reward:src/reward.py:edit";

/// Whether candidates may change the code of a surface by patches. Never implied by a kind or a file name: code that
/// may be edited may do anything that a run may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Kept,
    Edited,
}

/// A surface with the operations that were asked for: `set` and `scale` for its keys, `edit_code` only if it is said.
pub fn new_surface(
    id: &str,
    kind: SurfaceKind,
    paths: Vec<String>,
    keys: &[String],
    code: Code,
) -> Parsed<Surface> {
    paths.iter().try_for_each(|path| pattern(path).map(drop))?;
    let keys = keys.iter().map(|key| surface_key(key)).collect::<Parsed<Vec<_>>>()?;
    let mut operations = Vec::new();
    let is_data = |path: &String| [".yaml", ".yml", ".json", ".toml"].iter().any(|end| path.ends_with(end));
    if !keys.is_empty() || paths.iter().any(is_data) {
        operations.extend([Operation::Set, Operation::Scale]);
    }
    if code == Code::Edited {
        operations.push(Operation::EditCode);
    }
    if operations.is_empty() {
        let files = paths.join(",");
        return Err(format!(
            "{id}={kind}:{files} allows nothing: name keys as KEY=MIN..MAX, or write {id}={kind}:{files}:{EDIT} if \
             candidates may change this code"
        ));
    }
    Ok(Surface { id: name(id)?, kind, paths, keys, operations, evaluation_files: Vec::new() })
}

fn surface_key(text: &str) -> Parsed<SurfaceKey> {
    let Some((key, range)) = text.split_once('=') else {
        return Ok(SurfaceKey { key: text.to_owned(), min: None, max: None, values: Vec::new() });
    };
    let (min, max) =
        range.split_once("..").ok_or_else(|| format!("{range:?} is not MIN..MAX, such as 1e-5..1e-2"))?;
    let (min, max) = (number(min)?, number(max)?);
    if max < min {
        return Err(format!("{range:?}: MIN is larger than MAX"));
    }
    Ok(SurfaceKey { key: key.to_owned(), min: Some(min), max: Some(max), values: Vec::new() })
}

fn pieces(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// `TIME, DISK, MEMORY` of one run.
pub fn per_run(text: &str) -> Parsed<PerRun> {
    let parts = pieces(text);
    let [time, disk, memory] = &parts[..] else {
        return Err(format!("{text:?} is not TIME,DISK,MEMORY, such as 30m,500MiB,4GiB"));
    };
    Ok(limits(amount(time)?, amount(disk)?, amount(memory)?))
}

pub fn limits(wall_clock: Seconds, disk: Bytes, memory: Bytes) -> PerRun {
    PerRun { wall_clock, disk, memory, processes: 256, cpu_time: None }
}

/// A time or a size, whose own errors are good enough.
pub fn amount<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Parsed<T> {
    text.trim().parse().map_err(|error: T::Err| error.to_string())
}

/// `target 0.9`, `no-improvement 5`, `failures 3`.
pub fn stop_rule(text: &str) -> Parsed<StopRule> {
    let shape =
        || format!("{text:?} is none of `target VALUE`, `no-improvement CANDIDATES`, `failures RUNS`");
    let (rule, amount) = text.trim().split_once(' ').ok_or_else(shape)?;
    Ok(match rule {
        "target" => StopRule::TargetReached { value: number(amount)? },
        "no-improvement" => StopRule::NoImprovement { candidates: count(amount)? },
        "failures" => StopRule::FailuresInARow { runs: count(amount)? },
        _ => return Err(shape()),
    })
}

/// Splits a command into words. Quotes group words; shell syntax is refused.
pub fn command(text: &str) -> Parsed<Vec<String>> {
    let mut words = Vec::new();
    let (mut word, mut started, mut quote) = (String::new(), false, None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.push(letter),
            (None, '"' | '\'') => (quote, started) = (Some(letter), true),
            (None, '|' | '&' | ';' | '<' | '>' | '`' | '$') => {
                return Err(format!("{letter} needs a shell, but commands run without a shell"));
            }
            (None, _) if letter.is_whitespace() => {
                if std::mem::take(&mut started) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, _) => {
                started = true;
                word.push(letter);
            }
        }
    }
    if quote.is_some() {
        return Err("unterminated quote".to_owned());
    }
    if started {
        words.push(word);
    }
    if words.is_empty() { Err("the command is empty".to_owned()) } else { Ok(words) }
}

/// The path of a file in the repository.
pub fn file(text: &str) -> Parsed<String> {
    match bad_path(text) {
        None => Ok(text.to_owned()),
        Some(why) => Err(format!("{text:?} is not the path of a file in the repository: {why}")),
    }
}

/// A sentence on one line.
pub fn sentence(text: &str) -> Parsed<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { Err("it is empty".to_owned()) } else { Ok(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_can_be_taken() {
        assert_eq!(name("eval/Mean Return").unwrap().as_str(), "eval-mean-return");
        assert_eq!(name("mean_return").unwrap().as_str(), "mean_return");
        assert_eq!(
            source("a/eval.json#x").unwrap(),
            Extractor::Json { file: "a/eval.json".into(), pointer: "/x".into() }
        );
        assert_eq!(
            source("tb#eval/r").unwrap(),
            Extractor::Tensorboard { file: "tb".into(), tag: "eval/r".into() }
        );
        let surface = surface("lr=hyperparameter:configs/*.yaml:algo.lr=1e-5..1e-2,algo.gamma").unwrap();
        assert_eq!((surface.keys[0].min, surface.keys[1].min), (Some(1e-5), None));
        assert_eq!(surface.operations, [Operation::Set, Operation::Scale]);
        assert_eq!(crate::studies::scripts::parse_overrides(" --{key}  {value}").unwrap(), "--{key} {value}");
        assert_eq!(
            command("uv run 'my train.py' --seed {seed}").unwrap(),
            ["uv", "run", "my train.py", "--seed", "{seed}"]
        );
        assert_eq!(guardrail("falls=eval.json#/falls,lower,0.5").unwrap().allowed_regression, 0.5);
        assert_eq!(stop_rule("target 0.9").unwrap(), StopRule::TargetReached { value: 0.9 });
    }

    #[test]
    fn code_may_be_edited_only_where_that_is_said() {
        let of = |text: &str| surface(text).map(|surface| surface.operations);
        let (values, edit) = ([Operation::Set, Operation::Scale], [Operation::EditCode]);
        // A key of a script is a value that is passed to it, not a permission to rewrite it.
        assert_eq!(of("lr=hyperparameter:ppo.py:lr=1e-5..1e-2").unwrap(), values);
        assert_eq!(of("lr=hyperparameter:ppo.py:lr=1e-5..1e-2:edit").unwrap(), [&values[..], &edit].concat());
        assert_eq!(of("reward=reward:envs/**:edit").unwrap(), edit);
        let nothing = of("reward=reward:envs/**").unwrap_err();
        assert!(nothing.contains("reward=reward:envs/**:edit"), "{nothing}");
        assert!(of("a=reward:b.py:edit:edit:edit").is_err() && of("a=reward:b.py:k:l").is_err());
    }

    #[test]
    fn answers_that_cannot() {
        let wrong: [(&str, bool); 16] = [
            ("overrides", crate::studies::scripts::parse_overrides("--lr {value}").is_err()),
            ("file", file("../data.npz").is_err() || file("/data.npz").is_err()),
            ("source", source("eval.json").is_err()),
            ("source ending", source("a.exe#x").is_err()),
            ("surface", surface("reward").is_err()),
            ("surface kind", surface("a=magic:b.py").is_err()),
            ("surface escape", surface("a=reward:../b.py").is_err()),
            ("surface range", surface("a=reward:b.yaml:k=2..1").is_err()),
            ("surface nothing", surface("a=reward:").is_err()),
            ("shell", command("a | b").is_err()),
            ("quote", command("a 'b").is_err()),
            ("no program", command("  ").is_err()),
            ("guardrail", guardrail("a=b.json#c,lower").is_err()),
            ("allowed", guardrail("a=b.json#c,lower,-1").is_err()),
            ("rule", stop_rule("whenever 3").is_err()),
            ("number", number("inf").is_err() && count("0").is_err() && yes("maybe").is_err()),
        ];
        for (what, refused) in wrong {
            assert!(refused, "{what}");
        }
    }
}
