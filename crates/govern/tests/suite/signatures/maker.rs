//! Makes keys and signatures: with `ssh-keygen` in a temporary folder, and byte by byte with keys in memory.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "people sign with ssh-keygen, so the tests start it and hand it files"
)]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rlxp_govern::signature::{Approvers, SignatureProblem, Signed, Statement, verify};
use rlxp_types::Digest;

pub(crate) fn statement() -> Statement {
    Statement {
        study: "walker-7f3a".to_owned(),
        section: "metrics".to_owned(),
        digest: Digest::hash(b"the section and what it depends on"),
        head: Digest::hash(b"the last record"),
    }
}

pub(crate) fn check(armored: &str, approvers: &Approvers) -> Result<Signed, SignatureProblem> {
    verify(&statement(), armored, approvers)
}

/// A folder with keys that ssh-keygen made.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs ssh-keygen with these arguments in the folder and returns its output.
    fn keygen(&self, words: &[&str], input: &[u8]) -> Result<String, String> {
        std::fs::write(self.path("input"), input).unwrap();
        let input = std::fs::File::open(self.path("input")).unwrap();
        let output = Command::new("ssh-keygen")
            .args(words)
            .current_dir(self.0.path())
            .env_remove("SSH_AUTH_SOCK")
            .stdin(Stdio::from(input))
            .output()
            .expect("ssh-keygen is there (`cargo xtask setup`)");
        let said = String::from_utf8(output.stdout).unwrap();
        if output.status.success() { Ok(said) } else { Err(String::from_utf8(output.stderr).unwrap()) }
    }

    /// Makes the key `name`; the line of its `.pub` file.
    pub(crate) fn make_key(&self, name: &str, kind: &[&str]) -> String {
        let words = [&["-q", "-N", "", "-C", "made for a test", "-f", name, "-t"], kind].concat();
        self.keygen(&words, b"").unwrap();
        std::fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap().trim().to_owned()
    }

    /// The fingerprint of the key `name` as ssh-keygen prints it.
    pub(crate) fn fingerprint(&self, name: &str) -> String {
        let said = self.keygen(&["-l", "-f", &format!("{name}.pub")], b"").unwrap();
        said.split(' ').nth(1).unwrap().to_owned()
    }

    /// What the person behind the key `name` gets when they sign `message`.
    pub(crate) fn sign(&self, name: &str, more: &[&str], message: &[u8]) -> String {
        let words = [&["-Y", "sign", "-q", "-f", name], more].concat();
        self.keygen(&words, message).unwrap()
    }

    /// Whether ssh-keygen itself accepts `armored` as the signature of `name` under the file `allowed`.
    pub(crate) fn ssh_agrees(&self, allowed: &str, name: &str, armored: &str) -> bool {
        std::fs::write(self.path("allowed"), allowed).unwrap();
        std::fs::write(self.path("signature"), armored).unwrap();
        let words = ["-Y", "verify", "-f", "allowed", "-I", name, "-n", "rlx-approval", "-s", "signature"];
        self.keygen(&words, &statement().bytes()).is_ok()
    }
}

/// A field as SSH writes it: its length, then its content.
pub(crate) fn field(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    [&length.to_be_bytes(), content].concat()
}

/// A positive number as SSH writes it.
pub(crate) fn number(big_endian: &[u8]) -> Vec<u8> {
    let start = big_endian.iter().position(|&byte| byte != 0).unwrap_or(big_endian.len());
    let digits = &big_endian[start..];
    let sign = if digits.first().is_some_and(|&byte| byte >= 0x80) { &[0][..] } else { &[] };
    field(&[sign, digits].concat())
}

/// The parts of a signature, each of which a test may modify.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) version: u32,
    pub(crate) key: Vec<u8>,
    pub(crate) namespace: Vec<u8>,
    pub(crate) reserved: Vec<u8>,
    pub(crate) hash: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    pub(crate) after: Vec<u8>,
}

impl Parts {
    pub(crate) fn new(key: Vec<u8>, signature: Vec<u8>) -> Self {
        let (namespace, hash) = (b"rlx-approval".to_vec(), b"sha512".to_vec());
        Self { version: 1, key, namespace, reserved: Vec::new(), hash, signature, after: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let fields = [&self.key, &self.namespace, &self.reserved, &self.hash, &self.signature];
        let fields = fields.map(|content| field(content)).concat();
        [&b"SSHSIG"[..], &self.version.to_be_bytes(), &fields, &self.after].concat()
    }

    pub(crate) fn armored(&self) -> String {
        armored(&self.bytes(), 70)
    }
}

/// `bytes` between the armor lines, wrapped at `width`.
pub(crate) fn armored(bytes: &[u8], width: usize) -> String {
    let code = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        code.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", lines.join("\n"))
}

/// What the armor of a signature holds.
pub(crate) fn unarmored(text: &str) -> Vec<u8> {
    STANDARD.decode(text.lines().filter(|line| !line.starts_with('-')).collect::<String>()).unwrap()
}

/// What a key signs for `message`: it is hashed and put into SSH's frame.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    use ssh_key::sha2::Digest as _;
    let hash = ssh_key::sha2::Sha512::digest(message);
    let fields = [&b"rlx-approval"[..], b"", b"sha512", &hash].map(field).concat();
    [b"SSHSIG", fields.as_slice()].concat()
}

/// A line of an approvers file for a key in binary form.
pub(crate) fn line(name: &str, kind: &str, key: &[u8]) -> String {
    format!("{name} {kind} {}\n", STANDARD.encode(key))
}
