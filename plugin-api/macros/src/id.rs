//! The rules for ids of components.

/// The longest id that fits a note, in bytes.
const MAX_LEN: usize = 63;

/// Checks an id. The error says what is wrong with it.
pub(crate) fn check(id: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err(
            "the id is empty: a component needs a name such as \"com.acme.gpu\"".to_owned(),
        );
    }
    if id.len() > MAX_LEN {
        return Err(format!(
            "the id has {} bytes, at most {MAX_LEN} are possible",
            id.len()
        ));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if let Some(other) = id.chars().find(|c| !allowed(*c)) {
        return Err(format!(
            "the id holds {other:?}: only a-z, 0-9, '-', '_' and '.' are possible"
        ));
    }
    if !id.contains('.') {
        return Err(format!(
            "the id has one part: name a domain before it, as in \"com.acme.{id}\""
        ));
    }
    if id.split('.').any(str::is_empty) {
        return Err("the id has an empty part between its dots".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn reverse_dns_names_are_ids() {
        for id in ["com.acme.gpu", "dev.nri-host.device-injector", "io.x_1"] {
            assert_eq!(check(id), Ok(()), "{id}");
        }
        let longest = format!("a.{}", "b".repeat(61));
        assert_eq!(check(&longest), Ok(()));
    }

    #[test]
    fn other_names_are_refused_with_the_reason() {
        let too_long = format!("a.{}", "b".repeat(62));
        let cases = [
            ("", "empty"),
            (too_long.as_str(), "64 bytes"),
            ("Com.acme", "'C'"),
            ("com acme", "' '"),
            ("com.acmé", "'é'"),
            ("gpu", "com.acme.gpu"),
            ("com..gpu", "empty part"),
            (".com", "empty part"),
        ];
        for (id, reason) in cases {
            let message = check(id).expect_err(id);
            assert!(message.contains(reason), "{id}: {message}");
        }
    }
}
