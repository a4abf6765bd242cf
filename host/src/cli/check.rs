//! `nri-host check`

use std::fmt::Write as _;
use std::io::Write;

use clap::Args;

use super::CommonArgs;
use super::output::{print, tell};
use crate::chain;
use crate::component::inspect::inspect;
use crate::component::trials::Trials;
use crate::config::{ComponentConfig, Config, Loaded};
use crate::exit::ExitReason;

/// The help of `check`.
pub(super) const ABOUT: &str = "\
Check configuration and libraries; connect to nothing

Tells every mistake of all files with file, line and key; any of them makes the exit status 78.
Libraries are loaded in a process apart.";

/// Arguments of `check`.
#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    /// Print the configuration that comes out of all files, the environment and flags, as TOML, with
    /// the origin of each value; secrets in it are shown
    #[arg(long)]
    effective: bool,
}

/// Checks the configuration and all libraries that it names. Each is also loaded, in a throw-away
/// process, as its constructors could break it; no other code of a component runs, and nothing is
/// connected. Any mistake makes the result [`ExitReason::BadConfig`].
pub(super) fn check(common: &CommonArgs, args: &CheckArgs, out: &mut dyn Write) -> ExitReason {
    let (loaded, effective) = common.load_effective();
    let mut report = Report::on(&loaded, &effective.config);
    let printed = if args.effective {
        // Standard output is TOML.
        tell(&report.trouble);
        print(&effective.to_string(), out)
    } else {
        report.summarize();
        print(&(report.trouble + &report.fine), out)
    };
    match printed {
        ExitReason::Done if report.mistakes > 0 => ExitReason::BadConfig,
        reason => reason,
    }
}

/// What there is to tell, in lines, and how much of it is bad.
#[derive(Default)]
struct Report {
    /// Mistakes and warnings.
    trouble: String,
    /// What is as it should be.
    fine: String,
    sound: usize,
    mistakes: usize,
    warnings: usize,
}

impl Report {
    /// `config` is what there is of the configuration whatever is wrong with it: components are
    /// checked all the same.
    fn on(loaded: &Loaded, config: &Config) -> Self {
        let mut report = Self::default();
        for mistake in &loaded.mistakes {
            report.mistake(mistake);
        }
        for warning in &loaded.warnings {
            report.warning(warning);
        }
        let mut trials = Trials::new(&config.host.state_dir);
        for component in &config.components {
            report.component(component, &mut trials);
        }
        report
    }

    fn summarize(&mut self) {
        let summary = format!(
            "{} OK, {}, {}",
            count(self.sound, "component"),
            count(self.mistakes, "mistake"),
            count(self.warnings, "warning"),
        );
        line(&mut self.fine, summary);
    }

    fn component(&mut self, component: &ComponentConfig, trials: &mut Trials) {
        let plugin = component.plugin_name();
        if !component.enabled {
            line(&mut self.fine, format_args!("disabled: {plugin}"));
            return;
        }
        if component.library.is_relative() {
            // There is a mistake in component_dirs, so nobody knows where to look.
            line(&mut self.fine, format_args!("not checked: {plugin}"));
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
        let ok = format!(
            "OK: {plugin}: {} {} ({})",
            inspected.note.id,
            inspected.note.version,
            inspected.path.display()
        );
        line(&mut self.fine, ok);
    }

    fn mistake(&mut self, what: impl std::fmt::Display) {
        self.mistakes += 1;
        line(&mut self.trouble, what);
    }

    fn warning(&mut self, what: impl std::fmt::Display) {
        self.warnings += 1;
        line(&mut self.trouble, format_args!("warning: {what}"));
    }
}

fn line(text: &mut String, what: impl std::fmt::Display) {
    writeln!(text, "{what}").expect("a String takes any text");
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
