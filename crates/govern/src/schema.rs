//! The JSON Schema of every file, made from the types. `docs/reference/schemas/` holds them for editors and other
//! tools; a test keeps both the same.

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use crate::documents::{Adapter, Candidate, Contract, MetricSpec, Registry, Runbook, SurfaceMap};

/// Every schema by the name of its file.
pub fn schemas() -> Vec<(&'static str, Value)> {
    fn of<T: JsonSchema>() -> Value {
        schema_for!(T).to_value()
    }
    vec![
        ("registry", of::<Registry>()),
        ("adapter", of::<Adapter>()),
        ("contract", of::<Contract>()),
        ("metric_spec", of::<MetricSpec>()),
        ("surface_map", of::<SurfaceMap>()),
        ("runbook", of::<Runbook>()),
        ("candidate", of::<Candidate>()),
        ("ledger_record", crate::ledger::record::schema()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_enforced_to_its_last_word() {
        for (name, schema) in schemas() {
            assert_eq!(rlxp_spec::document::unsupported(&schema), Vec::<String>::new(), "{name}");
        }
    }
}
