//! Run folders, metrics, checkpoints and the derived index
