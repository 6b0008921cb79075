//! Whether training left files that run code when they are loaded. Code of a candidate wrote them, and the evaluator
//! loads them: what they run there could report anything. They are read, never loaded.

use rlxp_fs::Fs;
use rlxp_govern::documents::StepName;
use rlxp_launch::supervise::Taken;
use rlxp_store::executable::{Budget, why_executable};
use rlxp_types::text::one_line;

use crate::studies::files::launch_paths::RunPaths;

/// The longest text about a file.
const LONGEST: usize = 300;

/// The first file that training left and that can run code, with the reason; `None` if there is none. Files that couldn't
/// be listed or read count as such.
pub(super) fn executable_output(fs: &dyn Fs, place: &RunPaths, taken: &Taken) -> Option<String> {
    let inside = format!("{}/", StepName::Train);
    let mut budget = Budget::default();
    let files = taken.files.keys().filter(|name| name.starts_with(&inside));
    let found = files.filter_map(|name| match why_executable(fs, &place.path().join(name), &mut budget) {
        Ok(why) => why.map(|why| format!("{name} {why}")),
        Err(_) => Some(format!("{name} can't be read")),
    });
    // A link leads to a file that is listed itself, and a pipe holds nothing.
    let is_unknown = |text: &&String| text.starts_with(&inside) && !text.ends_with("not a regular file");
    let unlisted = taken.left_out.iter().filter(is_unknown).cloned();
    let first = found.chain(unlisted).next()?;
    let end = first.floor_char_boundary(LONGEST);
    Some(one_line(&first[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are looked at")]

    use rlxp_fs::RealFs;
    use rlxp_launch::supervise::TakenFile;
    use rlxp_types::Digest;

    use super::*;

    #[test]
    fn files_of_training_are_searched_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let place = RunPaths { folder: folder.path().to_owned() };
        let mut taken = Taken::default();
        let put = |taken: &mut Taken, name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
            let file = TakenFile { length: bytes.len() as u64, digest: Digest::hash(bytes) };
            taken.files.insert(name.to_owned(), file);
        };
        let pickle = b"cos\nsystem\n(S'true'\ntR.";
        put(&mut taken, "train/weights.json", b"{\"w\": [1.0]}");
        put(&mut taken, "eval/result.pkl", pickle);
        put(&mut taken, "train.log", pickle);
        taken.left_out.push("train/link: not a regular file".to_owned());
        let found = |taken: &Taken| executable_output(&RealFs, &place, taken);
        assert_eq!(found(&taken), None);
        let mut with_pickle = taken.clone();
        put(&mut with_pickle, "train/deep/model", pickle);
        let said = "train/deep/model contains a pickle that uses os.system";
        assert_eq!(found(&with_pickle).as_deref(), Some(said));
        // What isn't known can't be trusted.
        let mut unlisted = taken.clone();
        unlisted.left_out.push("train/large: not read: too long".to_owned());
        assert_eq!(found(&unlisted).as_deref(), Some("train/large: not read: too long"));
        taken.files.insert(r"train/odd\xff".to_owned(), TakenFile { length: 1, digest: Digest::ZERO });
        assert_eq!(found(&taken).as_deref(), Some(r"train/odd\xff can't be read"));
    }
}
