//! `nri-host check`

use std::fmt::Write as _;
use std::io::Write;

use super::CommonArgs;
use super::output::print;
use crate::chain;
use crate::component::inspect::inspect;
use crate::component::trials::Trials;
use crate::config::{ComponentConfig, Loaded};
use crate::exit::ExitReason;

/// Checks the configuration and all libraries that it names. Each is also loaded, in a throw-away
/// process, as its constructors could break it; no other code of a component runs, and nothing is
/// connected. Any mistake makes the result [`ExitReason::BadConfig`].
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
        if let Some(config) = &loaded.config {
            let mut trials = Trials::new(&config.host.state_dir);
            for component in &config.components {
                report.component(component, &mut trials);
            }
        }
        report.line(format_args!(
            "{} OK, {}, {}",
            count(report.sound, "component"),
            count(report.mistakes, "mistake"),
            count(report.warnings, "warning"),
        ));
        report
    }

    fn component(&mut self, component: &ComponentConfig, trials: &mut Trials) {
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
        if let Err(reason) = trials.pass(&plugin, &inspected) {
            self.mistake(format_args!(
                "{place}: {}: {reason}",
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

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
