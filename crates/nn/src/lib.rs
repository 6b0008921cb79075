//! Networks with explicit backward passes, distributions, optimiser, tensors on disk
