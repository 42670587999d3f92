//! Faults of all kinds, one after another in random order.

use std::thread;
use std::time::{Duration, Instant};

use proofmark_testing::postgres::{Cluster, Moment, Proxy};

use crate::cut::COMMIT;
use crate::load::{Load, check};
use crate::refused::{CANCEL, END};

/// How long it takes.
const LASTS: Duration = Duration::from_secs(90);
/// The longest that one fault lasts, in milliseconds.
const MAX_FAULT: u64 = 400;

#[test]
#[ignore = "takes minutes; `cargo test -p proofmark-store --test faults soak -- --ignored`"]
fn promises_hold_through_faults_in_random_order() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    let proxies = [Proxy::to(&url), Proxy::to(&url)];
    let load = Load::start(&[&proxies[0].url(), &proxies[1].url(), &url]);
    let (since, mut random) = (Instant::now(), random());
    while since.elapsed() < LASTS {
        let (proxy, fault) = (&proxies[usize::from(random() % 2 == 0)], random() % 7);
        let moment = Duration::from_millis(random() % MAX_FAULT);
        match fault {
            0 => {
                cluster.kill();
                thread::sleep(moment);
                cluster.restart();
            }
            1..=3 => {
                proxy.cut_at(COMMIT, if fault == 1 { Moment::Before } else { Moment::After });
                let _not_under_load = proxy.wait_for_cut(Duration::from_secs(2));
                thread::sleep(moment);
                if fault < 3 {
                    proxy.refuse();
                    thread::sleep(moment);
                }
            }
            4 => {
                proxy.cut();
                thread::sleep(moment * 8);
            }
            5 => drop(cluster.try_psql(CANCEL)),
            _ => drop(cluster.try_psql(END)),
        }
        proxy.heal();
        load.wait_for(10);
    }
    check(&url, &load.stop());
}

/// Numbers without a pattern (xorshift).
fn random() -> impl FnMut() -> u64 {
    let mut state = u64::from(std::process::id()) | 1 << 40;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    }
}
