//! Learning algorithms, one file each; emits events and knows nothing of files
