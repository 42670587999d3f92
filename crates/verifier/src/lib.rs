//! The verifier room.
