//! The store, through its public functions and through what it leaves on disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "stories and helpers of tests fail by panicking"
)]

/// Tests that tell each of these stories in a store of each kind: `sqlite::…` and `postgres::…`.
macro_rules! engines {
    ($($story:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[test]
                fn $story() {
                    super::$story(&crate::samples::Home::file());
                }
            )*
        }

        mod postgres {
            $(
                #[test]
                fn $story() {
                    if let Some(home) = crate::samples::Home::database() {
                        super::$story(&home);
                    }
                }
            )*
        }
    };
}

mod backup;
mod broken;
mod chains;
mod check;
mod columns;
mod copy;
mod crash;
mod decisions;
mod ends;
mod full;
mod hints;
mod jobs;
mod lists;
mod log;
mod reviews;
mod same;
mod samples;
mod stored;
mod tenants;
mod together;
