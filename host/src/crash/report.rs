//! What is said of a crash, put together without allocating: it is said in a signal handler.

use super::doing::{Doing, Step};
use crate::component::policy::Subject;

/// Most of a name that is told, in bytes: Kubernetes has none that is longer.
const MAX_NAME: usize = 253;

/// How the process ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cause {
    /// By a signal, for an access to this address where the kernel says so.
    Signal(&'static str, Option<usize>),
    /// By `exit` with this status.
    Exit(i32),
}

/// One crash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report<'a> {
    pub(super) doing: Option<&'a Doing<'a>>,
    pub(super) cause: Cause,
    /// Name of the thread.
    pub(super) thread: &'a str,
    /// The only library that is loaded, if there is but one.
    pub(super) only_library: Option<&'a str>,
    /// Seconds since 1970.
    pub(super) time: u64,
}

impl Report<'_> {
    /// One line for people.
    pub(super) fn line<const N: usize>(&self, text: &mut Text<N>) {
        text.push("nri-host: ");
        match self.doing {
            Some(Doing::Component(identity, step)) => {
                text.push("component ");
                text.push_clean(&identity.plugin);
                text.push(match self.cause {
                    Cause::Signal(..) => " crashed in ",
                    Cause::Exit(_) => " ended the process in ",
                });
                text.push(step.name());
                if let Step::Handle(call) = step {
                    text.push(" for ");
                    push_subject(text, &Subject::of(call));
                }
            }
            Some(Doing::Host) => {
                text.push("the host itself ended on its thread \"");
                text.push_clean(self.thread);
                text.push("\", in no call to a component");
            }
            None => self.push_unknown_thread(text),
        }
        text.push(": ");
        self.cause.push(text);
        text.end_line();
    }

    fn push_unknown_thread<const N: usize>(&self, text: &mut Text<N>) {
        text.push("the process ended on a thread named \"");
        text.push_clean(self.thread);
        text.push("\" that is not the host's; ");
        match self.only_library {
            Some(library) => {
                text.push("the only library that is loaded is ");
                text.push_clean(library);
            }
            None => text.push("which component started it is not known"),
        }
    }

    /// The same as a line of JSON, see [`super::record::Crash`]. Without a component, its name is
    /// empty.
    pub(super) fn record<const N: usize>(&self, text: &mut Text<N>) {
        let nobody = Subject {
            namespace: "",
            pod: "",
            container: "",
        };
        let (component, fingerprint, step, subject) = match self.doing {
            Some(Doing::Component(identity, step)) => {
                let subject = match step {
                    Step::Handle(call) => Subject::of(call),
                    _ => nobody,
                };
                let (name, print) = (&*identity.plugin, &*identity.fingerprint);
                (name, print, step.name(), subject)
            }
            Some(Doing::Host) => ("", "", "the host itself", nobody),
            None => ("", "", "a thread that is not the host's", nobody),
        };
        text.push("{\"time\":");
        text.push_decimal(self.time);
        for (key, value) in [
            ("component", component),
            ("fingerprint", fingerprint),
            ("step", step),
            ("namespace", subject.namespace),
            ("pod", subject.pod),
            ("container", subject.container),
            ("thread", self.thread),
        ] {
            text.push(",\"");
            text.push(key);
            text.push("\":\"");
            text.push_escaped(value);
            text.push("\"");
        }
        text.push(",\"cause\":\"");
        self.cause.push(text);
        text.push("\"}");
        text.end_line();
    }
}

impl Step<'_> {
    /// As people know it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Load => "the constructors of its library",
            Self::Create => "create",
            Self::Interface => "get_interface",
            Self::Handle(call) => call.method.name(),
            Self::UpdateResult => "update_result",
            Self::Destroy => "destroy",
        }
    }
}

impl Cause {
    fn push<const N: usize>(self, text: &mut Text<N>) {
        match self {
            Self::Signal(name, address) => {
                text.push(name);
                if let Some(address) = address {
                    text.push(" at address 0x");
                    text.push_hexadecimal(address);
                }
            }
            Self::Exit(status) => {
                text.push("exit(");
                if status < 0 {
                    text.push("-");
                }
                text.push_decimal(u64::from(status.unsigned_abs()));
                text.push(")");
            }
        }
    }
}

fn push_subject<const N: usize>(text: &mut Text<N>, subject: &Subject<'_>) {
    if subject.pod.is_empty() && subject.container.is_empty() {
        text.push("the node");
        return;
    }
    if !subject.container.is_empty() {
        text.push("container ");
        text.push_clean(subject.container);
        text.push(" of ");
    }
    text.push("pod ");
    text.push_clean(subject.namespace);
    text.push("/");
    text.push_clean(subject.pod);
}

/// A text of at most `N` bytes; what does not fit is left out.
#[derive(Debug)]
pub(super) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.push_byte(byte));
    }

    /// The last byte is kept free for the end of the line.
    fn push_byte(&mut self, byte: u8) {
        if self.len + 1 < N
            && let Some(place) = self.bytes.get_mut(self.len)
        {
            *place = byte;
            self.len += 1;
        }
    }

    fn end_line(&mut self) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = b'\n';
            self.len += 1;
        }
    }

    /// A name from outside: it can neither end the line nor steer a terminal.
    fn push_clean(&mut self, name: &str) {
        clean(name).for_each(|byte| self.push_byte(byte));
    }

    /// A name from outside, inside a JSON string.
    fn push_escaped(&mut self, name: &str) {
        for byte in clean(name) {
            if matches!(byte, b'"' | b'\\') {
                self.push_byte(b'\\');
            }
            self.push_byte(byte);
        }
    }

    fn push_decimal(&mut self, number: u64) {
        self.push_digits(number, 10);
    }

    fn push_hexadecimal(&mut self, number: usize) {
        self.push_digits(number as u64, 16);
    }

    fn push_digits(&mut self, number: u64, base: u64) {
        let mut unit = 1;
        while number / unit >= base {
            unit *= base;
        }
        while unit > 0 {
            let digits = b"0123456789abcdef";
            let digit = usize::try_from(number / unit % base).unwrap_or_default();
            self.push_byte(digits.get(digit).copied().unwrap_or(b'?'));
            unit /= base;
        }
    }
}

fn clean(name: &str) -> impl Iterator<Item = u8> {
    let end = name.floor_char_boundary(MAX_NAME);
    let bytes = name.as_bytes().get(..end).unwrap_or_default();
    bytes.iter().map(|byte| match byte {
        0..=0x1f | 0x7f => b'?',
        byte => *byte,
    })
}

#[cfg(test)]
mod tests;
