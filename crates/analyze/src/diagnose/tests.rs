//! Every rule on hand-made evidence, firing and silent.
