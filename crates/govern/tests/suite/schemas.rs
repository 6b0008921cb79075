//! The committed JSON Schemas match the ones the program generates. `UPDATE_SCHEMAS=1 cargo test -p rlxp-govern
//! --test suite schemas` rewrites them.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes the committed files itself")]

use std::path::PathBuf;

#[test]
fn the_committed_schemas_are_current() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schemas");
    let mut names = Vec::new();
    for (name, schema) in rlxp_govern::schema::schemas() {
        let file = folder.join(format!("{name}.schema.json"));
        let current = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&file, &current).unwrap();
        }
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == current,
            "{name}: UPDATE_SCHEMAS=1 cargo test -p rlxp-govern --test suite schemas"
        );
        names.push(file.file_name().unwrap().to_owned());
    }
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(names.contains(&name), "{name:?} is the schema of nothing");
    }
}
