//! Prints the JSON Schema of a config:
//! `cargo run -p rlxp-spec --example print_schema > docs/reference/config.schema.json`

use std::io::Write;

fn main() -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(&rlxp_spec::schema())?;
    writeln!(std::io::stdout().lock(), "{text}")
}
