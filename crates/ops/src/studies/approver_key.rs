//! The person's own key for approvals: created by their `ssh-keygen`, listed among the approvers, found again for the
//! next signature. Only public keys are read.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, environment};
use rlxp_govern::signature::{Approvers, NAMESPACE};
use rlxp_launch::ssh_keygen;
use rlxp_types::text::shell_word;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// The file of the key that rlx has created, in `~/.ssh`.
const NAME: &str = "rlx_approver";
/// Longest public key, and longest list of approvers, that is read.
const LONGEST: u64 = 1 << 20;

/// A key that is listed among the approvers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    /// The private key, which only `ssh-keygen` reads.
    pub key: PathBuf,
    /// Where its public half is listed.
    pub list: PathBuf,
}

/// Whether the user's configuration lists an approver.
pub fn has_approvers(context: &Context) -> Outcome<bool> {
    let Some(list) = list(context) else { return Ok(false) };
    Ok(context.fs.metadata_if_any(&list)?.is_some()
        && !text_of(context.fs.as_ref(), &list)?.trim().is_empty())
}

/// Creates a key with the person's `ssh-keygen`, on their terminal, and lists it. A key that was created before is
/// listed again.
pub fn create(context: &Context) -> Outcome<ListedKey> {
    let (Some(home), Some(list)) = (&context.user.home, list(context)) else {
        return Err(Failure::usage("no_home", "there is no home folder for a key").hint("set HOME"));
    };
    let fs = context.fs.as_ref();
    let key = home.join(".ssh").join(NAME);
    let public = public_half(&key);
    let user = environment::variable("USER").unwrap_or_else(|| "me".to_owned());
    if fs.metadata_if_any(&public)?.is_none() {
        fs.create_dir_all(&home.join(".ssh"))?;
        let made = ssh_keygen::create_key(&key, &format!("{user} rlx approvals"));
        let made = made.map_err(|error| not_made(&key, &format!("ssh-keygen can't be started: {error}")))?;
        if !made {
            return Err(not_made(&key, "ssh-keygen created none"));
        }
    }
    let line = format!("{} {}\n", name(&user), text_of(fs, &public)?.trim());
    if let Err(problems) = Approvers::parse(&line) {
        let why: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(not_made(&key, &why.join("; ")));
    }
    let before = if fs.metadata_if_any(&list)?.is_some() { text_of(fs, &list)? } else { String::new() };
    if !before.contains(line.trim_end()) {
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        fs.create_dir_all(list.parent().expect("the list is in a folder"))?;
        fs.write_atomic(&list, format!("{before}{gap}{line}").as_bytes())?;
    }
    Ok(ListedKey { key, list })
}

/// The private key in `~/.ssh` whose public half is listed among these approvers.
pub fn signing_key(context: &Context, approvers: &Approvers) -> Option<PathBuf> {
    let folder = context.user.home.as_ref()?.join(".ssh");
    let fs = context.fs.as_ref();
    let listed = approvers.fingerprints();
    let mut names: Vec<String> = fs.list(&folder).ok()?.into_iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    let is_listed = |key: &PathBuf| {
        let text = text_of(fs, &public_half(key)).unwrap_or_default();
        let parsed = Approvers::parse(&format!("x {}\n", text.trim()));
        parsed.is_ok_and(|parsed| parsed.fingerprints().iter().any(|one| listed.contains(one)))
    };
    names.iter().filter_map(|name| name.strip_suffix(".pub")).map(|name| folder.join(name)).find(is_listed)
}

/// A signature by this key, made by the person's `ssh-keygen` on their terminal.
pub fn sign(key: &Path, statement: &[u8]) -> Outcome<String> {
    let refused = |why: String| {
        Failure::refused("not_signed", format!("not signed with {}: {why}", key.display()))
            .hint("rlx approve --all --print > statement")
            .hint(sign_command(Some(key)))
            .hint("rlx approve --all --signature statement.sig")
    };
    match ssh_keygen::sign(key, NAMESPACE, statement) {
        Ok(Some(armored)) => Ok(armored),
        Ok(None) => Err(refused("ssh-keygen made no signature".to_owned())),
        Err(error) => Err(refused(format!("ssh-keygen can't be started: {error}"))),
    }
}

/// The command that signs a file called `statement`.
pub fn sign_command(key: Option<&Path>) -> String {
    let key = key.map(|key| shell_word(&key.display().to_string()).into_owned());
    let key = key.unwrap_or_else(|| "~/.ssh/id_ed25519".to_owned());
    format!("ssh-keygen -Y sign -f {key} -n {NAMESPACE} statement")
}

fn list(context: &Context) -> Option<PathBuf> {
    context.user.config.as_ref().map(|config| config.join("approvers"))
}

fn public_half(key: &Path) -> PathBuf {
    let mut name = key.file_name().unwrap_or_default().to_os_string();
    name.push(".pub");
    key.with_file_name(name)
}

fn text_of(fs: &dyn Fs, path: &Path) -> Outcome<String> {
    Ok(fs.read_text(path, LONGEST)?)
}

/// A user name as the list of approvers takes it.
fn name(user: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name: String = user.chars().filter(|letter| is_plain(*letter)).collect();
    if name.is_empty() { "me".to_owned() } else { name }
}

fn not_made(key: &Path, why: &str) -> Failure {
    Failure::refused("no_key", format!("no key for approvals in {}: {why}", key.display()))
        .hint("rlx study init --assurance terminal    # approve by typing at the terminal instead")
}
