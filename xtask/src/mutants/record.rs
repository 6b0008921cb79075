//! Which mutants were noticed, and of which code and test: `xtask/mutants.txt`,
//! committed, so that only what has changed since is tried again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::copy::{read as bytes_of, write as write_bytes};
use super::table::{MUTANTS, Mutant};
use crate::run::{Done, root};

const HEAD: &str = "\
# The mutants that tests have noticed, each with a digest of the code it breaks
# and of the file its test is in. `cargo xtask mutants` writes this file.
";

fn path() -> PathBuf {
    root().join("xtask/mutants.txt")
}

/// The digest of each mutant when it was last noticed, by name.
pub(super) fn read() -> Result<BTreeMap<String, String>, String> {
    if !path().exists() {
        return Ok(BTreeMap::new());
    }
    let text = String::from_utf8_lossy(&bytes_of(&path())?).into_owned();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines
        .filter_map(|line| line.split_once("  "))
        .map(|(digest, name)| (name.into(), digest.into()))
        .collect())
}

/// Writes them in the order of the table; those that are gone from it go.
pub(super) fn write(known: BTreeMap<String, String>) -> Done {
    let mut text = HEAD.to_owned();
    for mutant in MUTANTS {
        if let Some(digest) = known.get(mutant.name) {
            text.push_str(&format!("{digest}  {}\n", mutant.name));
        }
    }
    write_bytes(&path(), text.as_bytes())
}

/// Of everything that decides whether the mutant is noticed, as far as it is
/// near: the change, the file it is made in, and the file of the test.
pub(super) fn digest(mutant: &Mutant) -> Result<String, String> {
    let mut digest = Fnv::new();
    for text in [mutant.find, mutant.replace, mutant.package] {
        digest.add(text.as_bytes());
    }
    mutant.tests.iter().for_each(|text| digest.add(text.as_bytes()));
    digest.add(&bytes_of(&root().join(mutant.file))?);
    let function = mutant.tests.last().and_then(|path| path.rsplit("::").next()).unwrap_or_default();
    let folder = root().join("crates").join(mutant.package.strip_prefix("rlxp-").unwrap_or("cli"));
    let mut files = Vec::new();
    defining(&folder, &format!("fn {function}("), &mut files)?;
    for file in files {
        digest.add(&bytes_of(&file)?);
    }
    Ok(digest.text())
}

/// The files below `folder` that contain `text`, in order.
fn defining(folder: &Path, text: &str, found: &mut Vec<PathBuf>) -> Done {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            defining(&path, text, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && String::from_utf8_lossy(&bytes_of(&path)?).contains(text)
        {
            found.push(path);
        }
    }
    Ok(())
}

/// FNV-1a over parts: enough to see a change, and the same on every machine.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_of_code_or_test_changes_the_digest() {
        let one = &MUTANTS[0];
        let other = Mutant { replace: "something else", ..*one };
        assert_eq!(digest(one).unwrap(), digest(one).unwrap());
        assert_ne!(digest(one).unwrap(), digest(&other).unwrap());
        let (mut ab, mut a_b) = (Fnv::new(), Fnv::new());
        ab.add(b"ab");
        a_b.add(b"a");
        a_b.add(b"b");
        assert_ne!(ab.text(), a_b.text());
    }
}
