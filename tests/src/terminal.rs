//! A terminal of 80 by 24 on which a command runs, and what somebody in front of it sees.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::ExitStatus;
use std::thread;

use anyhow::{Context, Result};
use nix::pty::{Winsize, openpty};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::patience::patiently;

const COLUMNS: NonZero<u16> = NonZero::new(80).expect("not zero");
const LINES: NonZero<u16> = NonZero::new(24).expect("not zero");

/// A command and its terminal. Dropping it kills the command.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: File,
    display: watch::Receiver<Display>,
}

/// What came to the display.
#[derive(Debug, Clone, Default)]
pub struct Display {
    /// What is on the screen, without colours.
    pub screen: String,
    /// All that was sent, as it was sent.
    pub sent: String,
}

impl Terminal {
    /// Runs a command, which must take the terminal for its own, as with `setsid --ctty`.
    ///
    /// # Errors
    ///
    /// When there is no terminal, or the command cannot be run.
    pub fn run(mut command: Command) -> Result<Self> {
        let size = Winsize {
            ws_row: LINES.get(),
            ws_col: COLUMNS.get(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).context("cannot open a terminal")?;
        let end = || pty.slave.try_clone();
        command.stdin(end()?).stdout(end()?).stderr(end()?);
        let child = command.spawn().context("cannot run the command")?;
        let output = File::from(pty.master);
        let keyboard = output.try_clone()?;
        let (show, display) = watch::channel(Display::default());
        thread::spawn(move || receive(output, &show));
        Ok(Self {
            child,
            keyboard,
            display,
        })
    }

    /// Waits until what is seen is as wanted, and returns it.
    ///
    /// # Errors
    ///
    /// When it is not for far too long, or the command ends before.
    pub async fn shows(
        &mut self,
        what: &str,
        condition: impl Fn(&Display) -> bool,
    ) -> Result<Display> {
        let waiting = self.display.clone();
        let shown = patiently(what, self.display.wait_for(|display| condition(display))).await;
        let seen = || format!("on the screen:\n{}", waiting.borrow().screen);
        let shown = shown.with_context(seen)?;
        let shown = shown.with_context(|| format!("{what}: the command ended; {}", seen()))?;
        Ok(shown.clone())
    }

    /// Presses keys.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn press(&mut self, keys: &[u8]) -> Result<()> {
        self.keyboard.write_all(keys).context("cannot press a key")
    }

    /// Waits for the end of the command; what was seen until then.
    ///
    /// # Errors
    ///
    /// When it does not end for far too long.
    pub async fn ended(mut self) -> Result<(ExitStatus, Display)> {
        let status = patiently("the end of the command", self.child.wait()).await??;
        // Its end of the terminal is closed, so the display comes to an end.
        let gone = async { while self.display.changed().await.is_ok() {} };
        patiently("the end of what is shown", gone).await?;
        let display = self.display.borrow().clone();
        Ok((status, display))
    }
}

/// Shows what comes, until nobody has the other end any more.
fn receive(mut output: File, show: &watch::Sender<Display>) {
    let mut parser = vt100::Parser::new(LINES, COLUMNS, 0);
    let mut sent = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = output.read(&mut buffer) {
        parser.process(&buffer[..count]);
        sent.extend_from_slice(&buffer[..count]);
        show.send_replace(Display {
            screen: parser.screen().contents(),
            sent: String::from_utf8_lossy(&sent).into_owned(),
        });
    }
}
