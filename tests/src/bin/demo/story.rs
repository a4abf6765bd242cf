//! How the demo is told: chapters, lines and quotations, in colour on a terminal.

use std::io::{self, IsTerminal, Write};

const BOLD: &str = "\x1b[1m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const GREY: &str = "\x1b[90m";
const PLAIN: &str = "\x1b[0m";

/// The story so far.
#[derive(Debug)]
pub(crate) struct Story {
    chapters: u32,
    colour: bool,
}

impl Story {
    /// Nothing is told yet.
    pub(crate) fn new() -> Self {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            chapters: 0,
            colour,
        }
    }

    /// Something begins.
    pub(crate) fn chapter(&mut self, title: &str) {
        self.chapters += 1;
        let text = format!("{}. {title}", self.chapters);
        tell(&format!("\n{}", self.paint(BOLD, &text)));
    }

    /// Something happened.
    pub(crate) fn line(&self, text: &str) {
        tell(&format!("   {text}"));
    }

    /// One of several things.
    pub(crate) fn item(&self, text: &str) {
        tell(&format!("     {} {text}", self.paint(GREEN, "*")));
    }

    /// What a program printed.
    pub(crate) fn quote(&self, text: &str) {
        for line in text.trim_end().lines() {
            tell(&format!("   {}", self.paint(GREY, &format!("| {line}"))));
        }
    }

    /// The good end.
    pub(crate) fn end(&self) {
        tell(&format!(
            "\n{}",
            self.paint(GREEN, "That was the demo: everything went as told.")
        ));
    }

    /// The other one.
    pub(crate) fn failed(&self, error: &anyhow::Error) {
        tell(&format!(
            "\n{}",
            self.paint(RED, &format!("The demo failed: {error:#}"))
        ));
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        match self.colour {
            true => format!("{colour}{text}{PLAIN}"),
            false => text.to_owned(),
        }
    }
}

fn tell(text: &str) {
    // Nobody listens any more: then there is nobody to be told.
    let _ = writeln!(io::stdout(), "{text}");
}
