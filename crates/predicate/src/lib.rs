//! One small, total, typed, three-valued expression language over JSON facts.
