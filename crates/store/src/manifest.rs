//! `manifest.json` of a checkpoint: its files with their digests. It is written last, so a checkpoint with a valid
//! manifest is complete.

use std::path::Path;

use rlxp_fs::{Fs, FsExt};
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::StoreError;
use crate::metadata::{Format, pretty};
use crate::metrics::MetricsPosition;

/// The format that this version writes.
pub const MANIFEST_SCHEMA: &str = "rlx.checkpoint/1";
const FORMAT: Format = Format { kind: "rlx.checkpoint", newest: 1 };
/// Name of the manifest in a checkpoint's folder.
pub const MANIFEST_FILE: &str = "manifest.json";
/// Name of the model in a checkpoint's folder.
pub const MODEL_FILE: &str = "model.safetensors";
/// Name of the training state in a checkpoint's folder.
pub const STATE_FILE: &str = "state.safetensors";

const CAP: u64 = 16 << 20;
const OWN_DIGEST: &str = "\"manifest_digest\": \"";

/// Why a checkpoint was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveReason {
    /// It was scheduled.
    Scheduled,
    /// It is the best so far.
    Best,
    /// The user stopped the run. An uninterrupted run would not have this checkpoint, so the next save of another
    /// kind removes it.
    Interrupt,
    /// Training is done.
    Final,
}

/// The best evaluation so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The step of the checkpoint that was evaluated.
    pub step: u64,
    /// Its mean return.
    pub score: f64,
}

/// What is known at the time of a save, besides the model and the state.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointFacts {
    /// Why it is saved.
    pub reason: SaveReason,
    /// The metrics at that moment, as `MetricsWriter::sync` returned them.
    pub metrics: MetricsPosition,
    /// The best evaluation so far, including this step's.
    pub best: Option<Best>,
    /// Anything else: environment, shapes, counters.
    pub facts: Map<String, Value>,
}

/// Size and digest of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Its size in bytes.
    pub size: u64,
    /// Its digest.
    pub digest: Digest,
}

impl FileFacts {
    /// The size and digest of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self { size: bytes.len() as u64, digest: Digest::hash(bytes) }
    }
}

/// The content of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format, [`MANIFEST_SCHEMA`].
    pub schema: String,
    /// Training steps done.
    pub step: u64,
    /// Why it was saved.
    pub reason: SaveReason,
    /// `model.safetensors`.
    pub model: FileFacts,
    /// `state.safetensors`.
    pub state: FileFacts,
    /// The metrics at that moment.
    pub metrics: MetricsPosition,
    /// The best evaluation so far.
    pub best: Option<Best>,
    /// Anything else.
    #[serde(default)]
    pub facts: Map<String, Value>,
    /// Digest of this file with zeros in place of this digest.
    manifest_digest: String,
}

impl Manifest {
    pub(crate) fn new(step: u64, model: &[u8], state: &[u8], facts: &CheckpointFacts) -> Self {
        Self {
            schema: MANIFEST_SCHEMA.to_owned(),
            step,
            reason: facts.reason,
            model: FileFacts::from_bytes(model),
            state: FileFacts::from_bytes(state),
            metrics: facts.metrics,
            best: facts.best,
            facts: facts.facts.clone(),
            manifest_digest: String::new(),
        }
    }

    /// The file's text, with its own digest.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let blank = "0".repeat(64);
        let mut bytes = pretty(&Self { manifest_digest: blank, ..self.clone() });
        let digest = Digest::hash(&bytes).to_string();
        let place = own_digest_place(&bytes).expect("the field was just written");
        bytes[place..place + 64].copy_from_slice(digest.as_bytes());
        bytes
    }

    /// Reads and verifies the manifest of the checkpoint of `step`.
    pub(crate) fn read(fs: &dyn Fs, path: &Path, step: u64) -> Result<Self, StoreError> {
        let damaged = |why: &str| StoreError::damaged(path, why);
        let mut bytes = fs.read(path, CAP)?;
        FORMAT.check_in(path, &bytes)?;
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|e| damaged(&e.to_string()))?;
        let place = own_digest_place(&bytes).ok_or_else(|| damaged("it has no digest"))?;
        let written = bytes[place..place + 64].to_vec();
        bytes[place..place + 64].fill(b'0');
        if Digest::hash(&bytes).to_string().as_bytes() != written {
            return Err(damaged("its content does not match its digest"));
        }
        if manifest.step != step {
            return Err(damaged(&format!("it belongs to step {}", manifest.step)));
        }
        Ok(manifest)
    }
}

/// The position of the 64 digits of the manifest's own digest: the last field.
fn own_digest_place(bytes: &[u8]) -> Option<usize> {
    let pattern = OWN_DIGEST.as_bytes();
    let place = bytes.windows(pattern.len()).rposition(|window| window == pattern)? + pattern.len();
    (place + 64 <= bytes.len()).then_some(place)
}
