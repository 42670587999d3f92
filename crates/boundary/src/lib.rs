//! Boundary policies: whether a protected action may execute now, and how to go on if not.
