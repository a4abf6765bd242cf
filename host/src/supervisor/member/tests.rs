use std::fs;

use super::*;
use crate::component::load::{Libraries, Probe};
use crate::config::{Overrides, load};

/// A component whose library is none, so that no code of one is needed.
fn member(keys: &str) -> Member {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("libnone.so"), "").unwrap();
    let text = format!(
        "[[component]]\nname = \"none\"\nindex = 10\nlibrary = {:?}\n{keys}\n",
        path("libnone.so")
    );
    fs::write(path("nri-host.toml"), text).unwrap();
    let config = load(&path("nri-host.toml"), &Overrides::default())
        .config
        .unwrap();
    let component = config.components[0].clone();
    let source = Source {
        path: component.library.clone(),
        libraries: Arc::new(Libraries::new(path("state"), Probe::new(path("none")))),
    };
    let watchdog = Watchdog::start().unwrap();
    let notice = Arc::new(Notify::new());
    Member::start(component, source, &config, &watchdog, &notice, None).unwrap()
}

#[test]
fn a_quarantine_is_over_when_its_time_is() {
    let mut member = member("quarantine.failures = 1");
    let mut now = Instant::now();
    let term = member.seat.quarantine.failed(now).unwrap();
    // As the supervisor does: it sleeps until there is something due.
    while now < term.until {
        assert!(member.seat.quarantine.is_active());
        now = member.observe(now).unwrap();
    }
    member.observe(now);
    assert!(!member.seat.quarantine.is_active());
    assert_eq!(now, term.until);
}
