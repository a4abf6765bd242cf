//! Cache and memory bandwidth.

use super::Adjustment;
use super::error::{AdjustmentError, Item, check_fits, check_has, check_unset};
use super::values::{boolean, some, string};
use crate::api;

/// Allocation of cache and memory bandwidth by Intel RDT and its like. What is not set stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rdt(api::LinuxRdt);

impl Rdt {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the class of service, which is the name of a folder of resctrl, or `/` for the class
    /// of whatever has none.
    #[must_use]
    pub fn clos_id(mut self, id: impl Into<String>) -> Self {
        self.0.clos_id = string(id);
        self
    }

    /// Sets the lines for the `schemata` file of resctrl, such as `L3:0=ff`.
    #[must_use]
    pub fn schemata(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.schemata = some(api::OptionalRepeatedString {
            value: lines.into_iter().map(Into::into).collect(),
            ..Default::default()
        });
        self
    }

    /// Sets whether the container gets a monitoring group of its own.
    #[must_use]
    pub fn monitoring(mut self, enable: bool) -> Self {
        self.0.enable_monitoring = boolean(enable);
        self
    }

    fn check(&self) -> Result<(), AdjustmentError> {
        let Self(rdt) = self;
        let fields = [
            rdt.clos_id.is_some(),
            rdt.schemata.is_some(),
            rdt.enable_monitoring.is_some(),
        ];
        check_has(
            Item::Rdt,
            "",
            "a class, schemata or monitoring",
            fields.contains(&true),
        )?;
        let Some(id) = rdt.clos_id.as_ref().map(|id| id.value.as_str()) else {
            return Ok(());
        };
        check_has(Item::Rdt, "", "a name for its class", !id.is_empty())?;
        let is_name = !id.contains(['/', '\n', '\0']) && !matches!(id, "." | "..");
        let is_default = id == "/";
        check_fits(
            Item::Rdt,
            id,
            "a class whose name is none for a folder",
            is_name || is_default,
        )
    }
}

impl Adjustment {
    /// Sets the RDT allocation, on top of the class of [`Resources::rdt_class`]. Known since NRI 0.11.
    ///
    /// [`Resources::rdt_class`]: super::Resources::rdt_class
    ///
    /// # Errors
    ///
    /// It is set already, is empty, or the class has a name that is none for a folder.
    pub fn set_rdt(&mut self, rdt: Rdt) -> Result<&mut Self, AdjustmentError> {
        rdt.check()?;
        let Rdt(rdt) = rdt;
        let old = self.linux().rdt.mut_or_insert_default();
        let is_set =
            old.clos_id.is_some() || old.schemata.is_some() || old.enable_monitoring.is_some();
        check_unset(Item::Rdt, is_set)?;
        *old = api::LinuxRdt {
            remove: old.remove,
            ..rdt
        };
        Ok(self)
    }

    /// Removes the RDT allocation that the container came with or that a plugin before this one
    /// set. Together with [`Self::set_rdt`] it replaces them. Known since NRI 0.11.
    pub fn remove_rdt(&mut self) -> &mut Self {
        self.linux().rdt.mut_or_insert_default().remove = true;
        self
    }
}
