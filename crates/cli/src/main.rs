//! rlx: placeholder entry until the commands land.
fn main() {}
