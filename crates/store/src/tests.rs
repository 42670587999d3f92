//! Tests of what no caller sees.

mod plans;
mod postgres;
mod reading;
