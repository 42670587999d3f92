//! Whether a receipt, an approval, a recorded call or a fact counts as evidence, decided in one place.
//!
//! Contracts and action policies ask the same questions about the same evidence, and get the same answers from here. The
//! crate knows no policy, workflow, clock or file: the caller has verified the documents, and the time is an argument.
//!
//! - [`ReceiptFact`] is what is known about a receipt, [`ReceiptDemand`] what a rule asks for, and
//!   [`ReceiptDemand::meets`] says whether it does, or why not ([`Refusal`]).
//! - [`VotesDemand`] says whose reviews of a quorum count, and [`JudgmentDemand`] in which role a person has to have judged.
//! - [`LogProof`] shows that a receipt is in a transparency log, [`LogPolicy`] says whose log counts, and [`Logged`] is what was found.
//! - [`ReceiptKind`] is what a receipt is about; a rule accepts one kind.
//! - [`Share`] is the part of something that a rule may ask for.
//! - [`suite_digest`] names what a receipt proved: the specification and the tests together.
//! - [`Signers`] are the keys that are trusted, each for one or more kinds of documents ([`Capability`]).
//! - [`assign()`] gives each rule that uses up a receipt one of its own.
//! - [`approval`] reads and judges the attestations of humans.
//! - [`trace`] reads the calls an orchestrator recorded.
//! - [`difference`] says where two documents differ.
//! - [`Condition`], [`Path`], [`span`] and [`facts`] are what rules are written in.
//!
//! Begin with `receipt`, `demand` and `refusal`, which hold the question that every rule asks. `approval`,
//! `approval_fact`, `scope`, `reviewer`, `listed` and `roles` are about what people sign, `signers` says whose signature counts, `assign`, `suite`, `logged`, `logged_demand`, `votes`, `judgment_fact` and `judgment_demand` about receipts alone, and
//! `status` says how far either can be relied on. `doubt` finds conditions that are probably not meant, and `accepted` those that
//! are. `condition`, `path`, `span` and `facts` do not know receipts. In
//! `trace`, `records` splits what was recorded, `detect` finds its form, one file for each form reads it, and `collect`
//! pairs calls with their results.

mod accepted;
pub mod approval;
mod approval_fact;
mod assign;
mod call;
mod condition;
mod demand;
pub mod difference;
mod doubt;
pub mod facts;
mod judgment_demand;
mod judgment_fact;
mod listed;
mod logged;
mod logged_demand;
mod path;
mod provenance;
mod receipt;
mod refusal;
mod reviewer;
mod roles;
mod scope;
mod share;
mod signers;
mod sought;
pub mod span;
mod status;
mod suite;
pub mod trace;
mod votes;

pub use accepted::AcceptedWarnings;
pub use approval::{Approval, ApprovalDemand, ApprovalError, Binds};
pub use approval_fact::{ApprovalFact, AskedBy, HUMAN_TIER, Subject, shown, shown_of};
pub use assign::assign;
pub use call::{Call, Given};
pub use condition::{Condition, ConditionError, NoText, Statement, TextExpression};
pub use demand::{Accepts, EnvironmentDemand, ReceiptDemand, SignerDemand, TestsFromDemand, Wanted};
pub use doubt::{DOUBTS, Doubt, Use, doubts};
pub use judgment_demand::JudgmentDemand;
pub use judgment_fact::JudgmentFact;
pub use listed::{filled, read_person};
pub use logged::{LogPolicy, LogProof, LogProofError, Logged, MAX_PROOFS, MAX_WITNESSES, Standing};
pub use logged_demand::LoggedDemand;
pub use path::Path;
pub use provenance::{FromThere, ProvenanceDemand};
pub use receipt::{Comparison, Evidence, MAX_AHEAD_MILLIS, ReceiptFact, ReceiptKind, Spend};
pub use refusal::{Refusal, nearest};
pub use reviewer::{Person, PersonError, Reviewer};
pub use roles::{ListedReviewer, Roles};
pub use scope::{Bound, Free, Occasion, Reach, Scope, ScopeError, Scopes, WantedScope};
pub use share::{ParseShareError, Share};
pub use signers::{Capabilities, Capability, DatedKey, ParseCapabilitiesError, Signers, TrustedKey};
pub use sought::{Sought, SoughtReceipt};
pub use status::EvidenceStatus;
pub use suite::{FileOf, resolve_files, suite_digest};
pub use votes::{VotesDemand, read_votes, votes_to_object};
