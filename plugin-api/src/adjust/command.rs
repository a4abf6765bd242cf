//! What the first process is started with.

use super::error::{AdjustmentError, Item, check_name, check_new, check_unset};
use super::{Adjustment, removal};
use crate::api;

impl Adjustment {
    /// Replaces the command line as a whole. Known since NRI 0.10.
    ///
    /// # Errors
    ///
    /// It is set already, or has no program as its first argument.
    pub fn set_args(
        &mut self,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<&mut Self, AdjustmentError> {
        let args: Vec<String> = args.into_iter().map(Into::into).collect();
        // An empty first argument is how a removal is written.
        if args.first().is_none_or(String::is_empty) {
            return Err(AdjustmentError::Missing {
                item: Item::Args,
                name: String::new(),
                field: "a program as its first argument",
            });
        }
        let old = &mut self.adjust.args;
        check_unset(Item::Args, old.iter().any(|arg| !arg.is_empty()))?;
        old.extend(args);
        Ok(self)
    }

    /// Removes the command line that a plugin before this one set; that of the container itself
    /// stays. Together with [`Self::set_args`] it overrides it. Known since NRI 0.10.
    pub fn remove_args(&mut self) -> &mut Self {
        let args = &mut self.adjust.args;
        if args.first().is_none_or(|first| !first.is_empty()) {
            args.insert(0, String::new());
        }
        self
    }

    /// Sets an environment variable.
    ///
    /// # Errors
    ///
    /// The name is empty, starts with `-`, holds `=` or NUL, or is set already.
    pub fn set_env(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let name = name.into();
        check_env_name(&name)?;
        let names = self.adjust.env.iter().map(|env| env.key.as_str());
        check_new(Item::Env, &name, names)?;
        self.adjust.env.push(api::KeyValue {
            key: name,
            value: value.into(),
            ..Default::default()
        });
        Ok(self)
    }

    /// Removes an environment variable that a plugin before this one set. Those of the container
    /// itself stay, runtimes do not hear of it.
    ///
    /// # Errors
    ///
    /// The name is empty, starts with `-`, or holds `=` or NUL.
    pub fn remove_env(&mut self, name: &str) -> Result<&mut Self, AdjustmentError> {
        check_env_name(name)?;
        let key = removal(name);
        if !self.adjust.env.iter().any(|env| env.key == key) {
            self.adjust.env.push(api::KeyValue {
                key,
                ..Default::default()
            });
        }
        Ok(self)
    }
}

fn check_env_name(name: &str) -> Result<(), AdjustmentError> {
    check_name(Item::Env, name)?;
    if name.contains(['=', '\0']) {
        return Err(AdjustmentError::EnvName {
            name: name.to_owned(),
        });
    }
    Ok(())
}
