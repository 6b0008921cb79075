//! The JSON Schema of every file, made from the types. `docs/reference/schemas/` holds them for editors and other
//! tools; a test keeps both the same.

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use crate::documents::{
    Adapter, Candidate, Contract, MetricSpec, ProbeSummary, Registry, RewardReflection, Runbook, SurfaceMap,
};

/// Every schema by the name of its file.
pub fn schemas() -> Vec<(&'static str, Value)> {
    fn schema<T: JsonSchema>() -> Value {
        schema_for!(T).to_value()
    }
    vec![
        ("registry", schema::<Registry>()),
        ("adapter", schema::<Adapter>()),
        ("contract", schema::<Contract>()),
        ("metric_spec", schema::<MetricSpec>()),
        ("surface_map", schema::<SurfaceMap>()),
        ("runbook", schema::<Runbook>()),
        ("candidate", schema::<Candidate>()),
        ("reward_reflection", schema::<RewardReflection>()),
        ("probe_summary", schema::<ProbeSummary>()),
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
