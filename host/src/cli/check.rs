//! `nri-host check`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use nri_plugin_api::abi::flags;

use super::CommonArgs;
use super::output::print;
use crate::chain;
use crate::component::inspect::{Digest, Inspected, inspect};
use crate::config::{ComponentConfig, Loaded};
use crate::exit::ExitReason;

/// Checks the configuration and all libraries that it names. No code of a component runs, and
/// nothing is connected. Any mistake makes the result [`ExitReason::BadConfig`].
pub(super) fn check(common: &CommonArgs, out: &mut dyn Write) -> ExitReason {
    let report = Report::on(&common.load());
    match print(&report.text, out) {
        ExitReason::Done if report.mistakes > 0 => ExitReason::BadConfig,
        reason => reason,
    }
}

/// What there is to tell, in lines, and how much of it is bad.
#[derive(Default)]
struct Report {
    text: String,
    sound: usize,
    mistakes: usize,
    warnings: usize,
}

impl Report {
    fn on(loaded: &Loaded) -> Self {
        let mut report = Self::default();
        for mistake in &loaded.mistakes {
            report.mistake(mistake);
        }
        for warning in &loaded.warnings {
            report.warning(warning);
        }
        let components = loaded.config.iter().flat_map(|config| &config.components);
        let mut peers = Peers::default();
        for component in components {
            report.component(component, &mut peers);
        }
        report.line(format_args!(
            "{} OK, {}, {}",
            count(report.sound, "component"),
            count(report.mistakes, "mistake"),
            count(report.warnings, "warning"),
        ));
        report
    }

    fn component(&mut self, component: &ComponentConfig, peers: &mut Peers) {
        let plugin = component.plugin_name();
        if !component.enabled {
            self.line(format_args!("disabled: {plugin}"));
            return;
        }
        let place = format!(
            "{}: component {:?}: library",
            component.origin.find("library"),
            component.name
        );
        let inspected = match inspect(&component.library) {
            Ok(inspected) => inspected,
            Err(error) => {
                let library = component.library.display();
                self.mistake(format_args!("{place}: {library}: {}", chain(&error)));
                return;
            }
        };
        for warning in &inspected.warnings {
            self.warning(format_args!(
                "{place}: {}: {warning}",
                inspected.path.display()
            ));
        }
        if let Err(conflict) = peers.admit(&plugin, &inspected) {
            self.mistake(format_args!(
                "{place}: {}: {conflict}",
                inspected.path.display()
            ));
            return;
        }
        self.sound += 1;
        self.line(format_args!(
            "OK: {plugin}: {} {} ({})",
            inspected.note.id,
            inspected.note.version,
            inspected.path.display()
        ));
    }

    fn mistake(&mut self, what: impl std::fmt::Display) {
        self.mistakes += 1;
        self.line(what);
    }

    fn warning(&mut self, what: impl std::fmt::Display) {
        self.warnings += 1;
        self.line(format_args!("warning: {what}"));
    }

    fn line(&mut self, what: impl std::fmt::Display) {
        writeln!(self.text, "{what}").expect("a String takes any text");
    }
}

/// The libraries so far, by content, with the plugin that came first: some do not get along.
#[derive(Default)]
struct Peers {
    one_instance: BTreeMap<Digest, String>,
    go: Option<(Digest, String)>,
}

impl Peers {
    fn admit(&mut self, plugin: &str, inspected: &Inspected) -> Result<(), String> {
        let digest = inspected.digest;
        if inspected.note.flags & flags::ONE_INSTANCE != 0 {
            if let Some(first) = self.one_instance.get(&digest) {
                return Err(format!(
                    "says that it can serve one component only, and it serves {first} already"
                ));
            }
            self.one_instance.insert(digest, plugin.to_owned());
        }
        if inspected.go_runtime {
            match &self.go {
                Some((other, first)) if *other != digest => {
                    return Err(format!(
                        "carries a Go runtime, as does the library of {first}: there can be one \
                         in a process only, and this version has no processes for components"
                    ));
                }
                Some(_) => {}
                None => self.go = Some((digest, plugin.to_owned())),
            }
        }
        Ok(())
    }
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
