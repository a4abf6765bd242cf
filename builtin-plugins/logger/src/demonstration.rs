//! An annotation and a variable in each new container, to show that a component can do that.

use nri_plugin_api::request::ContainerView;
use nri_plugin_api::{Adjustment, AdjustmentError, ConfigMistakes};

use crate::settings::RawSettings;

/// What each selected container gets.
#[derive(Clone, Debug)]
pub(crate) struct Demonstration {
    adjustment: Adjustment,
    /// The annotation that is to take the place of another one.
    replaced_annotation: Option<String>,
}

impl Demonstration {
    /// Reads the settings. What is wrong goes to `mistakes`. `None` if nothing is asked for.
    pub(crate) fn read(settings: &RawSettings, mistakes: &mut ConfigMistakes) -> Option<Self> {
        let value = || format!("logger-pid-{}", std::process::id());
        let mut adjustment = Adjustment::new();
        let mut add = |key: &str, name: &Option<String>, add: Add| {
            let added = name.as_ref().map(|name| add(&mut adjustment, name));
            if let Some(Err(error)) = added {
                mistakes.add(key, error.to_string());
            }
        };
        let annotate: Add = &|adjustment, key| adjustment.set_annotation(key, value()).map(drop);
        add("add_annotation", &settings.add_annotation, annotate);
        add("set_annotation", &settings.set_annotation, annotate);
        add("add_env", &settings.add_env, &|adjustment, name| {
            adjustment.set_env(name, value()).map(drop)
        });
        add("set_env", &settings.set_env, &|adjustment, name| {
            adjustment
                .remove_env(name)?
                .set_env(name, value())
                .map(drop)
        });
        (!adjustment.is_empty()).then(|| Self {
            adjustment,
            replaced_annotation: settings.set_annotation.clone(),
        })
    }

    /// What a container gets.
    ///
    /// A runtime applies the removal of an annotation and its new value in any order. So the removal
    /// is left out where there is nothing to remove.
    pub(crate) fn adjustment(
        &self,
        container: &ContainerView<'_>,
    ) -> Result<Adjustment, AdjustmentError> {
        let mut adjustment = self.adjustment.clone();
        let replaced = self.replaced_annotation.as_deref();
        if let Some(key) = replaced.filter(|key| container.annotation(key).is_some()) {
            adjustment.remove_annotation(key)?;
        }
        Ok(adjustment)
    }
}

type Add<'a> = &'a dyn Fn(&mut Adjustment, &str) -> Result<(), AdjustmentError>;
