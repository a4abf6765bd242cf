//! The arguments of the attribute.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Error, LitStr};

use crate::id;

/// The arguments, checked.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) id: String,
    pub(crate) one_instance: bool,
    pub(crate) export: bool,
}

/// The arguments as they are found.
#[derive(Default)]
struct Found {
    id: Option<LitStr>,
    one_instance: bool,
    no_export: bool,
}

impl Found {
    fn argument(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let twice = if meta.path.is_ident("id") {
            self.id.replace(meta.value()?.parse()?).is_some()
        } else if meta.path.is_ident("one_instance") {
            std::mem::replace(&mut self.one_instance, true)
        } else if meta.path.is_ident("no_export") {
            std::mem::replace(&mut self.no_export, true)
        } else {
            return Err(meta.error("expected `id = \"…\"`, `one_instance` or `no_export`"));
        };
        if twice {
            Err(meta.error("this argument was given before"))
        } else {
            Ok(())
        }
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut found = Found::default();
        let tokens = input.parse::<proc_macro2::TokenStream>()?;
        syn::meta::parser(|meta| found.argument(&meta)).parse2(tokens)?;
        let Some(id) = found.id else {
            let message = "a component needs an id: #[component(id = \"com.acme.gpu\")]";
            return Err(Error::new(Span::call_site(), message));
        };
        id::check(&id.value()).map_err(|message| Error::new(id.span(), message))?;
        Ok(Self {
            id: id.value(),
            one_instance: found.one_instance,
            export: !found.no_export,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    fn parse(text: &str) -> Result<Arguments, String> {
        syn::parse_str::<Arguments>(text).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_are_off_unless_they_are_named() {
        let arguments = parse(r#"id = "com.acme.gpu""#).unwrap();
        assert_eq!(arguments.id, "com.acme.gpu");
        assert!(arguments.export && !arguments.one_instance);
        let arguments = parse(r#"one_instance, id = "com.acme.gpu", no_export"#).unwrap();
        assert!(!arguments.export && arguments.one_instance);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, reason) in [
            ("", "needs an id"),
            ("one_instance", "needs an id"),
            (r#"id = "gpu""#, "one part"),
            (r#"id = "a.b", id = "a.c""#, "given before"),
            (r#"id = "a.b", name = "c""#, "expected `id"),
            ("id = 5", "expected string literal"),
        ] {
            let message = parse(text).expect_err(text);
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
