//! The names of gates and refusals. They appear in reports, in the documentation and in the exceptions of contracts,
//! so their spelling never changes.

use std::fmt;

use serde::{Serialize, Serializer};

/// Defines an enum whose values are written as one word each.
macro_rules! words {
    ($(#[$meta:meta])* $type:ident { $($name:ident $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type { $($name),* }

        impl $type {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// As it is written.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// Parses a word; `None` if this version of rlx doesn't know it.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)* _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// A gate, in the order in which they are answered.
    GateName {
        FilesAgree "files_agree",
        Identity "identity",
        ContractComplete "contract_complete",
        Approvals "approvals",
        PlanAllowed "plan_allowed",
        ExecuteAllowed "execute_allowed",
        LoopEntry "loop_entry",
        AdapterFresh "adapter_fresh",
        Scope "scope",
        Protected "protected",
        Ranges "ranges",
        CandidateComplete "candidate_complete",
        OneChange "one_change",
        Base "base",
        ChangeApplies "change_applies",
        Inputs "inputs",
        Programs "programs",
        Phases "phases",
        NotTried "not_tried",
        Budget "budget",
        Hardware "hardware",
        Baseline "baseline",
        Protocol "protocol",
        Seeds "seeds",
        Reflection "reflection",
        Probe "probe",
        EnvironmentGeneration "environment_generation",
        NoDetaching "no_detaching",
        PlanDigest "plan_digest",
        NoLiveRun "no_live_run",
        Confinement "confinement",
    }
}

impl GateName {
    /// Whether it checks only the files of the study.
    pub fn is_about_files(self) -> bool {
        matches!(self, Self::FilesAgree | Self::Identity | Self::ContractComplete)
    }
}

words! {
    /// What is wrong, in alphabetical order.
    RefusalCode {
        AdapterMissing "adapter_missing",
        AdapterNotAudited "adapter_not_audited",
        AlreadyThere "already_there",
        AnalysisOutdated "analysis_outdated",
        AnalysisUnknown "analysis_unknown",
        ApprovalMissing "approval_missing",
        ApprovalNotProvableHere "approval_not_provable_here",
        ApprovalNotProven "approval_not_proven",
        ApprovalTooWeak "approval_too_weak",
        ApprovalUnreadable "approval_unreadable",
        ApprovalVoid "approval_void",
        AutonomyNeedsSignature "autonomy_needs_signature",
        BadPath "bad_path",
        BaseChanged "base_changed",
        BaseUnknown "base_unknown",
        BaselineCommitMissing "baseline_commit_missing",
        CandidateIncomplete "candidate_incomplete",
        CandidateMissing "candidate_missing",
        CaseTwin "case_twin",
        ChangeDoesNotApply "change_does_not_apply",
        ChangesNothing "changes_nothing",
        ClaimStale "claim_stale",
        ConfinementTooWeak "confinement_too_weak",
        ContractIncomplete "contract_incomplete",
        Detaches "detaches",
        DiskFull "disk_full",
        EvidenceMissing "evidence_missing",
        EvidenceUnknown "evidence_unknown",
        ExposesEvaluator "exposes_evaluator",
        FileBroken "file_broken",
        FileMissing "file_missing",
        FilesDisagree "files_disagree",
        GpuMissing "gpu_missing",
        InputChanged "input_changed",
        InputMissing "input_missing",
        KeyNotAllowed "key_not_allowed",
        LedgerBroken "ledger_broken",
        LedgerEmpty "ledger_empty",
        LiveRun "live_run",
        LookAlike "look_alike",
        MachineUnknown "machine_unknown",
        NetworkOpen "network_open",
        NoBaseline "no_baseline",
        NoChange "no_change",
        NoGpuAgreed "no_gpu_agreed",
        NoParameter "no_parameter",
        NoPatch "no_patch",
        NoPhase "no_phase",
        NoPlan "no_plan",
        NoProbeSlot "no_probe_slot",
        NoSeedSlot "no_seed_slot",
        NoSuchFile "no_such_file",
        NoTrainedRun "no_trained_run",
        NoValue "no_value",
        NotANumber "not_a_number",
        NotProbed "not_probed",
        NotValidated "not_validated",
        NothingNamed "nothing_named",
        OperationNotAllowed "operation_not_allowed",
        OtherLimit "other_limit",
        OtherName "other_name",
        OtherPhases "other_phases",
        OtherPlan "other_plan",
        OtherPrograms "other_programs",
        OtherProtocol "other_protocol",
        OtherSeeds "other_seeds",
        OtherStudy "other_study",
        OutOfRange "out_of_range",
        OutsideEnvelope "outside_envelope",
        OverBudget "over_budget",
        PatchDoesOther "patch_does_other",
        PatchElsewhere "patch_elsewhere",
        PatchNotPlain "patch_not_plain",
        PathNotAllowed "path_not_allowed",
        PathUnknown "path_unknown",
        PhaseOrder "phase_order",
        PlanUnknown "plan_unknown",
        PoolsOverlap "pools_overlap",
        ProgramMissing "program_missing",
        Protected "protected",
        ProtectedChanged "protected_changed",
        ProtectedLink "protected_link",
        ProtectedTooLarge "protected_too_large",
        ProtectedUnknown "protected_unknown",
        ProtectsNothing "protects_nothing",
        ProtocolUnknown "protocol_unknown",
        RangeUnknown "range_unknown",
        RequirementMissing "requirement_missing",
        RunTooLong "run_too_long",
        SecondBaseline "second_baseline",
        SeveralChanges "several_changes",
        ShellString "shell_string",
        StalePlan "stale_plan",
        StopRule "stop_rule",
        StudyClosed "study_closed",
        SurfaceNotAllowed "surface_not_allowed",
        Symlink "symlink",
        TooFewSeeds "too_few_seeds",
        TriedBefore "tried_before",
        TwoWays "two_ways",
        UnexpectedArguments "unexpected_arguments",
        UnexpectedChange "unexpected_change",
    }
}
