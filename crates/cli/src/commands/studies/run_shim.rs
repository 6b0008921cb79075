//! `rlx __run`: the parent of a governed run.

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::{Context, Outcome};
use rlxp_types::{Digest, Exit};

/// Supervises one run; started by launch
#[derive(Args)]
pub(crate) struct RunShim {
    /// What to do
    #[arg(long, value_name = "FILE")]
    order: PathBuf,
    /// The digest of that file
    #[arg(long, value_name = "DIGEST")]
    digest: Digest,
}

impl RunShim {
    pub(crate) fn run(&self, context: &Context) -> Outcome<Exit> {
        rlxp_ops::studies::launch::shim::run(context, &self.order, self.digest)
    }
}
