//! The receipt room.
