//! The table of hosts as a whole.

use std::collections::BTreeSet;

use proofmark_hosts::{EVERY_HOST, Form, Gap, Host, Moment, OnFailure, Servers, Shell};

const PAGE: &str = include_str!("../../../docs/hooks.md");

#[test]
fn hosts_have_names_of_their_own() {
    let names: BTreeSet<&str> = Host::all().map(|host| host.name).collect();
    assert_eq!(names.len(), Host::all().count());
    for host in Host::all() {
        assert_eq!(Host::named(host.name), Some(host));
        assert!(Host::named(host.installation.runs_as).is_some(), "{host}");
    }
    assert!(Host::named("Claude").is_none() && Host::named("").is_none());
    for servers in Servers::all() {
        assert_eq!(Servers::named(servers.name).map(|servers| servers.member), Some(servers.member));
    }
}

#[test]
fn each_host_is_asked_before_a_tool() {
    for host in Host::all() {
        let before = host.events.installed.iter().filter(|(_, moment)| *moment == Moment::Before).count();
        assert_eq!(before, 1, "{host}");
        // A plugin starts its command itself.
        let is_plugin = matches!(host.installation.form, Form::Plugin { .. });
        assert_eq!(is_plugin, host.installation.shell == Shell::None, "{host}");
        if let OnFailure::BlocksIf { member, is_asked_for } = host.installation.on_failure {
            assert!(!member.is_empty() && !is_asked_for(&proofmark_receipt::Object::new()), "{host}");
        }
    }
}

#[test]
fn the_page_shows_the_gaps_of_every_host() {
    let row = |gap: &Gap| format!("| {} | {} |", gap.what, gap.remedy);
    let sections = Host::all().map(|host| (format!("### Gaps of {}\n", host.title), host.gaps));
    for (heading, gaps) in sections.chain([("### Gaps of every host\n".to_owned(), &EVERY_HOST[..])]) {
        let section = PAGE.split(&heading).nth(1).unwrap_or_else(|| panic!("no section `{heading}`"));
        let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
        assert_eq!(rows, gaps.iter().map(row).collect::<Vec<_>>(), "{heading}");
    }
}
