//! `nri-host log`

use std::io::Write;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use humantime::format_rfc3339_millis;

use super::CommonArgs;
use super::complain;
use super::daemon::{Daemon, exit_reason, give_up};
use super::output::{print_part, tell};
use super::terminal::{BAD, DOUBTFUL, GOOD, Screen, UNIMPORTANT, plain};
use crate::admin::client::{AskError, ask_log};
use crate::admin::log::{Line, Log};
use crate::exit::ExitReason;

/// The help of `log`.
pub(super) const ABOUT: &str = "\
Show the last lines of the log about a component

They are the component's own, and what the host has to say of it, since the daemon was started. It \
keeps the last 200 of each component, at most 64 KiB; its standard error, which goes to the journal under \
systemd, has them all.";

/// How long a follower waits before it asks for new lines.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);

/// Arguments of `log`.
#[derive(Clone, Debug, Args)]
pub(super) struct LogArgs {
    /// Its name in the configuration; where two share one, with the index of one: 10-device-injector
    name: String,
    /// Go on with new lines as they come, also after a restart of the daemon
    #[arg(short, long)]
    follow: bool,
    /// Begin with this many of the last lines, instead of all that are kept
    #[arg(short = 'n', long)]
    lines: Option<usize>,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Shows what is logged of a component.
pub(super) fn log(common: &CommonArgs, args: &LogArgs, out: &mut dyn Write) -> ExitReason {
    match Reader::new(common, args, out).and_then(Reader::read) {
        Ok(()) => ExitReason::Done,
        Err(reason) => reason,
    }
}

/// Reads what the daemon keeps, and on, for somebody who looks at `out`.
struct Reader<'a> {
    daemon: Daemon,
    args: &'a LogArgs,
    screen: Screen,
    out: &'a mut dyn Write,
    /// Of what was read so far; 0: nothing.
    newest_us: u64,
    daemon_is_away: bool,
}

impl<'a> Reader<'a> {
    fn new(
        common: &CommonArgs,
        args: &'a LogArgs,
        out: &'a mut dyn Write,
    ) -> Result<Self, ExitReason> {
        Ok(Self {
            daemon: Daemon::of(common)?,
            args,
            screen: Screen::of_stdout(),
            out,
            newest_us: 0,
            daemon_is_away: false,
        })
    }

    fn read(mut self) -> Result<(), ExitReason> {
        let log = self.ask().map_err(|error| give_up(&error))?;
        let wanted = self.args.lines.unwrap_or(usize::MAX);
        self.show(&log.lines[log.lines.len().saturating_sub(wanted)..])?;
        if log.lines.is_empty() && !self.args.follow {
            tell("nri-host: nothing is logged of this component\n");
        }
        if log.disabled {
            tell("nri-host: it is switched off in the configuration\n");
        }
        while self.args.follow {
            thread::sleep(FOLLOW_EVERY);
            self.go_on()?;
        }
        Ok(())
    }

    /// What is new. While the daemon is away, that is nothing.
    fn go_on(&mut self) -> Result<(), ExitReason> {
        let had_lines = self.newest_us > 0;
        match self.ask() {
            Ok(log) => {
                self.daemon_is_away = false;
                if log.left_out && had_lines {
                    tell("nri-host: lines are missing here, more came than the daemon keeps\n");
                }
                self.show(&log.lines)
            }
            Err(error) if exit_reason(&error) == ExitReason::Unavailable => {
                if !self.daemon_is_away {
                    self.daemon_is_away = true;
                    complain(&error);
                }
                Ok(())
            }
            Err(error) => Err(give_up(&error)),
        }
    }

    fn ask(&mut self) -> Result<Log, AskError> {
        let (component, after_us) = (self.args.name.as_str(), self.newest_us);
        let log = self
            .daemon
            .ask(async |host| ask_log(host, component, after_us).await)?;
        // Of a daemon that was started on a clock set back, this may be less than before.
        self.newest_us = log.lines.last().map_or(after_us, |line| line.time_us);
        Ok(log)
    }

    fn show(&mut self, lines: &[Line]) -> Result<(), ExitReason> {
        let shown = |line: &Line| match self.args.json {
            true => serde_json::to_string(line).expect("its keys are strings"),
            false => line_for_people(line, &self.screen),
        };
        let text: String = lines.iter().map(|line| shown(line) + "\n").collect();
        print_part(&text, self.out)
    }
}

/// Time, level, component and text. Further lines of a text are set in, so that no text looks like a
/// line of its own.
fn line_for_people(line: &Line, screen: &Screen) -> String {
    let time = UNIX_EPOCH + Duration::from_micros(line.time_us);
    let time = format_rfc3339_millis(time).to_string();
    let (level, style) = match &*line.level {
        "error" => ("ERROR", BAD),
        "warn" => (" WARN", DOUBTFUL),
        "info" => (" INFO", GOOD),
        "debug" => ("DEBUG", UNIMPORTANT),
        _ => ("TRACE", UNIMPORTANT),
    };
    let texts: Vec<_> = line.text.lines().map(plain).collect();
    format!(
        "{} {} {}: {}",
        screen.paint(&time, UNIMPORTANT),
        screen.paint(level, style),
        plain(&line.component),
        texts.join("\n    ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_pretend_to_be_two_or_command_the_terminal() {
        let line = Line {
            time_us: 1_796_005_364_123_456,
            component: "10-gpu".into(),
            level: "warn".into(),
            text: "no\n2026-11-30T00:00:00.000Z ERROR 20-nic: \x1b[2Jyes".into(),
        };
        let mut screen = Screen {
            width: Some(40),
            height: None,
            colours: false,
        };
        let shown = line_for_people(&line, &screen);
        assert_eq!(
            shown,
            "2026-11-30T02:22:44.123Z  WARN 10-gpu: no\n    \
             2026-11-30T00:00:00.000Z ERROR 20-nic: \\u{1b}[2Jyes"
        );
        screen.colours = true;
        let coloured = line_for_people(&line, &screen);
        assert!(coloured.contains("\x1b[33m WARN\x1b[0m"), "{coloured:?}");
    }
}
