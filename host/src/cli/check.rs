//! `nri-host check`

use std::fmt::{self, Write as _};
use std::io::Write;

use clap::Args;

use super::CommonArgs;
use super::output::{print, tell};
use crate::chain;
use crate::component::inspect::{Inspected, inspect};
use crate::component::trials::{Objection, Trials};
use crate::config::{ComponentConfig, Config, Loaded};
use crate::exit::ExitReason;

/// The help of `check`.
pub(super) const ABOUT: &str = "\
Check configuration and libraries; connect to nothing

Tells every mistake of all files with file, line and key; any of them makes the exit status 78.
Components say what is wrong with their own configuration: an instance of each is made and ended, in a
process apart.";

/// Arguments of `check`.
#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    /// Print the configuration that comes out of all files, the environment and flags, as TOML, with
    /// the origin of each value; secrets in it are shown
    #[arg(long)]
    effective: bool,
}

/// Checks the configuration and all libraries that it names. Each is also loaded, and an instance of
/// each component made and ended, in throw-away processes; nothing is connected. Any mistake makes the
/// result [`ExitReason::BadConfig`].
pub(super) fn check(common: &CommonArgs, args: &CheckArgs, out: &mut dyn Write) -> ExitReason {
    let (loaded, effective) = common.load_effective();
    // Standard output is TOML then, and standard error tells what is wrong.
    let trouble_only = args.effective;
    let report = Report::on(&loaded, &effective.config, trouble_only);
    let printed = if args.effective {
        tell(&report.text);
        print(&effective.to_string(), out)
    } else {
        print(&report.text, out)
    };
    match printed {
        ExitReason::Done if report.mistakes > 0 => ExitReason::BadConfig,
        reason => reason,
    }
}

/// What there is to tell, in lines, and how much of it is bad.
#[derive(Default)]
struct Report {
    text: String,
    /// Nothing is said of what is as it should be.
    trouble_only: bool,
    sound: usize,
    mistakes: usize,
    warnings: usize,
}

impl Report {
    /// `config` is what there is of the configuration whatever is wrong with it: components are
    /// checked all the same.
    fn on(loaded: &Loaded, config: &Config, trouble_only: bool) -> Self {
        let mut report = Self {
            trouble_only,
            ..Self::default()
        };
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
        let summary = format!(
            "{} OK, {}, {}",
            count(report.sound, "component"),
            count(report.mistakes, "mistake"),
            count(report.warnings, "warning"),
        );
        report.fine(summary);
        report
    }

    fn component(&mut self, component: &ComponentConfig, trials: &mut Trials) {
        let plugin = component.plugin_name();
        if !component.enabled {
            self.fine(format_args!("disabled: {plugin}"));
            return;
        }
        if component.library.is_relative() {
            // There is a mistake in component_dirs, so nobody knows where to look.
            self.fine(format_args!("not checked: {plugin}"));
            return;
        }
        let library = Place(component);
        let inspected = match inspect(&component.library) {
            Ok(inspected) => inspected,
            Err(error) => {
                let path = component.library.display();
                self.mistake(format_args!("{library}{path}: {}", chain(&error)));
                return;
            }
        };
        let path = inspected.path.display();
        for warning in &inspected.warnings {
            self.warning(format_args!("{library}{path}: {warning}"));
        }
        if let Err(reason) = trials.pass(&plugin, &inspected) {
            self.mistake(format_args!("{library}{path}: {reason}"));
            return;
        }
        if !self.instance(component, &inspected, trials) {
            return;
        }
        self.sound += 1;
        self.fine(format_args!(
            "OK: {plugin}: {} {} ({path})",
            inspected.note.id, inspected.note.version,
        ));
    }

    /// Whether nothing is wrong with the component's own configuration, as far as it can be told.
    fn instance(
        &mut self,
        component: &ComponentConfig,
        inspected: &Inspected,
        trials: &Trials,
    ) -> bool {
        let (library, path) = (Place(component), inspected.path.display());
        match trials.create(component) {
            Ok(()) => true,
            Err(Objection::Config(mistakes)) => {
                for mistake in mistakes {
                    let at = component.locate(&mistake.key);
                    let name = &component.name;
                    self.mistake(format_args!("{at}: component {name:?}: {mistake}"));
                }
                false
            }
            Err(Objection::Broken(reason)) => {
                self.mistake(format_args!("{library}{path}: {reason}"));
                false
            }
            // What it needs may be in use by the daemon.
            Err(Objection::NotNow(reason)) => {
                self.warning(format_args!(
                    "{library}{path}: no instance could be made to check its configuration: {reason}"
                ));
                true
            }
        }
    }

    fn mistake(&mut self, what: impl fmt::Display) {
        self.mistakes += 1;
        self.line(what);
    }

    fn warning(&mut self, what: impl fmt::Display) {
        self.warnings += 1;
        self.line(format_args!("warning: {what}"));
    }

    fn fine(&mut self, what: impl fmt::Display) {
        if !self.trouble_only {
            self.line(what);
        }
    }

    fn line(&mut self, what: impl fmt::Display) {
        writeln!(self.text, "{what}").expect("a String takes any text");
    }
}

/// Where the library of a component is named, as the beginning of a line about it.
struct Place<'a>(&'a ComponentConfig);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(component) = self;
        let at = component.origin.find("library");
        write!(f, "{at}: component {:?}: library: ", component.name)
    }
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
