//! The checks room.
