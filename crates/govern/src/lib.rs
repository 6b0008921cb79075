//! Governed studies: contracts, approvals, gates, the two state machines, budget, seeds, queue, verdicts and the ledger
//! chain.
//!
//! Pure: no files, no clock, no randomness, no threads. The caller reads everything from disk, hands it in, and gets
//! answers that depend on nothing else, so a verdict can be replayed from its inputs at any time.
//!
//! | module | what it knows |
//! |---|---|
//! | [`documents`] | the files of a study as types; schemas come from them |
//! | [`canonical`] | one text for one value: the input of digests |
//! | [`section`] | what is approved, what each approval covers and depends on |
//! | [`signature`] | SSH signatures of approvals |
//! | [`ledger`] | records, their chain, and the state they add up to |
//! | [`machine`] | the moves of runs and candidates |
//! | [`budget`], [`seeds`] | what may still be spent, which seeds are still fresh |
//! | [`scope`], [`patch`] | paths, patterns and diffs, as text |
//! | [`change`] | the result of changes: files and arguments |
//! | [`evaluation_files`] | what evaluation takes from a candidate |
//! | [`approval`] | the present status of approvals |
//! | [`view`] | a study and a candidate as the caller read them |
//! | [`completeness`] | what a contract still lacks |
//! | [`plan`] | everything a launch would use, in named parts |
//! | [`gate`] | every reason to refuse |
//! | [`queue`] | which phase of which candidate can run |
//! | [`looks`] | the planned looks at a candidate |
//! | [`judge`] | evidence to look to verdict to decision |
//! | [`next_run`] | the next run of a candidate: its seed, its key, its words |
//! | [`ledger::attempts`] | the attempts at one seed: whether it runs again |
//! | [`score`] | the scores of runs and of sets of seeds |
//! | [`probe`] | the runs of a probe: which value, on which trained policy |
//! | [`propose`] | candidates that follow from what was found |
//! | [`baseline`] | what everything is compared with, and whether it is complete |
//! | [`run_approval`] | runs that count only once a person approves them |
//! | [`next`] | the one next step |
//! | [`schema`] | the JSON Schema of every file |

pub mod approval;
pub mod baseline;
pub mod budget;
pub mod canonical;
pub mod change;
pub mod completeness;
pub mod documents;
pub mod evaluation_files;
pub mod first_run;
pub mod gate;
mod gate_words;
pub mod judge;
pub mod ledger;
pub mod looks;
pub mod machine;
pub mod next;
pub mod next_run;
pub mod patch;
pub mod plan;
pub mod probe;
pub mod propose;
pub mod queue;
pub mod run_approval;
pub mod run_section;
pub mod schema;
pub mod scope;
pub mod score;
pub mod section;
pub mod seeds;
pub mod shortfall;
pub mod signature;
pub mod slots;
mod stop_rules;
pub mod view;
