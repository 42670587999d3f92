//! `proofmark work` and `proofmark serve --no-verify` as processes that share a store: what ends, what is lost, who signs.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "stories of tests, which may fail by panicking"
)]

#[expect(dead_code, reason = "several packages of tests use it, each in part")]
#[path = "../../../server/tests/support/client.rs"]
mod client;
mod clocks;
mod faults;
mod fleet;
mod follow;
mod granted;
mod lost;
mod network;
#[expect(dead_code, reason = "two packages of tests use it, each in part")]
#[path = "../serve/server.rs"]
mod server;
mod signers;
mod turns;

/// Runs stories on a store in a file, and on one in PostgreSQL; without PostgreSQL those are listed as skipped.
macro_rules! on_both {
    ($($module:ident: $($story:ident),+;)+) => {
        mod in_file {
            $($(
                #[test]
                fn $story() {
                    crate::$module::$story(&crate::fleet::Fleet::in_file());
                }
            )+)+
        }

        mod in_postgres {
            $($(
                #[test]
                fn $story() {
                    if let Some(fleet) = crate::fleet::Fleet::in_postgres() {
                        crate::$module::$story(&fleet);
                    }
                }
            )+)+
        }
    };
}

on_both! {
    turns: two_workers_end_every_job_once, a_client_that_waits_gets_its_receipt_and_a_long_one_becomes_a_job,
        servers_share_idempotency_keys_and_cancel_for_each_other, tenants_take_turns_on_all_servers;
    faults: another_worker_runs_what_a_killed_one_had, the_end_of_a_worker_that_was_stopped_past_its_lease_is_refused,
        a_worker_that_is_told_to_stop_ends_what_runs, a_job_that_ends_its_workers_fails,
        a_server_that_verifies_runs_what_other_servers_leave;
    follow: events_come_from_any_server_while_a_worker_runs_the_job,
        an_idle_worker_is_woken_by_a_job_and_the_server_by_its_end,
        cancelling_waits_for_the_lease_of_a_worker_that_does_not_answer;
    lost: nothing_is_signed_on_a_store_that_lost_something;
    signers: a_worker_with_a_key_of_its_own_works_once_the_server_names_it,
        a_server_says_that_no_worker_lives_and_a_worker_shows_its_figures;
}
