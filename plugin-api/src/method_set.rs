//! Sets of methods.

use std::fmt;

use crate::abi::Method;

/// A set of methods.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MethodSet(u64);

impl MethodSet {
    /// No method.
    pub const EMPTY: Self = Self(0);

    /// All methods that this crate knows.
    pub const ALL: Self = Self::of(Method::ALL);

    /// The set of these methods.
    pub const fn of(methods: &[Method]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < methods.len() {
            bits |= methods[i].bit();
            i += 1;
        }
        Self(bits)
    }

    /// Adds a method.
    #[must_use]
    pub const fn with(self, method: Method) -> Self {
        Self(self.0 | method.bit())
    }

    /// Takes a method away.
    #[must_use]
    pub const fn without(self, method: Method) -> Self {
        Self(self.0 & !method.bit())
    }

    /// Whether the method is in the set.
    pub const fn contains(self, method: Method) -> bool {
        self.0 & method.bit() != 0
    }

    /// The methods of the set, by number.
    pub fn iter(self) -> impl Iterator<Item = Method> {
        Method::ALL
            .iter()
            .copied()
            .filter(move |method| self.contains(*method))
    }

    /// The set as [`Descriptor::methods`](crate::abi::Descriptor::methods) has it.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl FromIterator<Method> for MethodSet {
    fn from_iter<I: IntoIterator<Item = Method>>(methods: I) -> Self {
        methods.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for MethodSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
