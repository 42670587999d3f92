//! Receipts of tiers 2 and 3 (VRF 1.0, "Verification Tiers"): several reviewers who agree, and a person's judgment. Both add only
//! `metadata`, so every reader of VRF 1.0 accepts them.
//!
//! Documents in, documents and answers out. The crate has no clock, files or network, and signs nothing: [`Composition::draft`] and
//! [`Judgment::draft`] give drafts that the caller signs. Who counts as a reviewer, and whose key holds a role, is an argument.
//!
//! Read `quorum` first, the form of `metadata.quorum`; `rule` counts its votes, `compose` writes it, `members` checks those that are given, `recount` counts them
//! again, and `votes` says whether it is enough for the reader's [`Reviewers`]. `judgment` is the form of `metadata.judgment`, `person` checks one. `reference` and
//! `supersedes` are what one receipt says of another, `bundle` is the file in which a quorum travels, and `error` has the codes.

mod bundle;
mod challenge;
mod compose;
mod error;
mod form;
mod judgment;
mod members;
mod outcomes;
mod person;
mod quorum;
mod recount;
mod reference;
mod reviewers;
mod rule;
mod status;
pub mod supersedes;
mod votes;
mod work;

pub use bundle::{Bundle, BundleError};
pub use challenge::{Challenge, ParseChallengeError};
pub use compose::{ComposeError, Composition, Member};
pub use error::TierError;
pub use judgment::{Criterion, Judged, Judgment, JudgmentError, MAX_ON, MAX_STATEMENT_BYTES};
pub use outcomes::outcomes;
pub use person::{Given, JudgmentCheck, RoleKeys, check_judgment};
pub use quorum::{AgreeOn, ChainRecord, MAX_REVIEWS, MIN_REVIEWS, Quorum, Review};
pub use recount::{Recount, recount};
pub use reference::Reference;
pub use reviewers::{MAX_REVIEWERS, MAX_REVIEWERS_BYTES, Reviewers, ReviewersError, ReviewersErrorKind};
pub use rule::{Ruling, Tally};
pub use status::QuorumStatus;
pub use votes::{QuorumDemand, Vote, Votes};
