//! What patterns mean, as Go's package `regexp` was seen to read them.

use super::{LargeLeft, Pattern};

#[track_caller]
fn is_in(pattern: &str, text: &str) -> bool {
    match Pattern::new(pattern, &mut LargeLeft(1)) {
        Ok(pattern) => pattern.is_in(text),
        Err(error) => panic!("{pattern:?}: {error:?}"),
    }
}

#[test]
fn a_pattern_is_looked_for_anywhere() {
    assert!(is_in("sh", "/bin/bash"));
    assert!(!is_in("^sh$", "/bin/bash"));
    assert!(is_in("", ""));
    assert!(is_in("(?i)^/BIN/\\w+$", "/bin/bash"));
    assert!(is_in("^(?P<name>a|b)(?<other>c){2}$", "bcc"));
    assert!(is_in("(?m)^b$", "a\nb"));
    assert!(!is_in("^b$", "a\nb"));
    assert!(is_in("(?s)a.b", "a\nb"));
    assert!(!is_in("a.b", "a\nb"));
    assert!(is_in("(?U)a+", "aa"));
}

#[test]
fn classes_of_perl_are_ascii() {
    for (pattern, inside, outside) in [
        ("^\\d$", "7", "٧"),
        ("^\\w$", "e", "é"),
        ("^\\s$", "\t", "\u{a0}"),
        ("^\\s$", " ", "\x0b"),
        ("^[\\d-]$", "-", "٧"),
        ("^[^\\w]$", "é", "e"),
        ("^\\D$", "٧", "7"),
        ("^[\\W]$", "é", "_"),
        ("^[[:word:]]$", "_", "é"),
        ("^[[:^alpha:]]$", "é", "e"),
        ("a\\b", "aé", "ab"),
        ("é\\B", "é", "éa"),
        ("^\\B$", "", "a"),
    ] {
        assert!(is_in(pattern, inside), "{pattern} {inside:?}");
        assert!(!is_in(pattern, outside), "{pattern} {outside:?}");
    }
    // Not within a character either.
    assert!(!is_in("\\B", "aéb"));
}

#[test]
fn classes_of_unicode_are_what_their_names_say() {
    for (pattern, inside, outside) in [
        ("^\\pL$", "é", "1"),
        ("^\\PL$", "1", "é"),
        ("^\\p{Greek}$", "α", "a"),
        ("^\\p{^Greek}$", "a", "α"),
        ("^\\P{^Greek}$", "α", "a"),
        ("^[\\p{Lu}0-9]$", "É", "é"),
    ] {
        assert!(is_in(pattern, inside), "{pattern} {inside:?}");
        assert!(!is_in(pattern, outside), "{pattern} {outside:?}");
    }
}

#[test]
fn what_is_no_operator_in_go_means_itself() {
    for (pattern, text) in [
        ("^\\Qa.b*\\E+$", "a.b**"),
        ("^\\Qa.b", "a.b"),
        ("^a{$", "a{"),
        ("^a{,5}$", "a{,5}"),
        ("^a{02}$", "a{02}"),
        ("^a{1,x}$", "a{1,x}"),
        ("^]}$", "]}"),
        ("^\\<\\>\\_\\-\\/\\#$", "<>_-/#"),
        ("^[[a]$", "["),
        ("^[[:a]$", ":"),
        ("^[]a]$", "]"),
        ("^[a&&b]$", "&"),
        ("^[a~~b]$", "~"),
        ("^[a-]$", "-"),
        ("^[+--]$", ","),
        ("^\\x41\\x{e9}\\0\\12\\a\\v$", "Aé\0\n\x07\x0b"),
        ("^ # $", " # "),
    ] {
        assert!(is_in(pattern, text), "{pattern}");
    }
    assert!(!is_in("^[a-z--b]$", "c-"));
    assert!(is_in("^[a-z--b]$", "c"));
}

#[test]
fn what_go_refuses_is_refused_and_says_why() {
    for (pattern, why) in [
        ("[a", "bracket is missing"),
        ("[]", "bracket is missing"),
        ("[a-", "bracket is missing"),
        ("[b-a]", "upside down"),
        ("[[:foo:]]", "unknown class"),
        ("(", "parenthesis is missing"),
        ("(a))", "without an opening"),
        ("*", "nothing to repeat"),
        ("a|+", "nothing to repeat"),
        ("(?i)*", "nothing to repeat"),
        ("a**", "cannot be repeated"),
        ("a++", "cannot be repeated"),
        ("a??+", "cannot be repeated"),
        ("a{2}{3}", "cannot be repeated"),
        ("a{1001}", "counts go up to 1000"),
        ("a{3,2}", "counts go up to 1000"),
        ("(a{40}){40}", "counts go up to 1000"),
        ("a{99999999999}", "counts go up to 1000"),
        ("(?=x)", "look-around"),
        ("a(?!x)", "look-around"),
        ("(?<=x)", "look-around"),
        ("(a)\\1", "back-references"),
        ("\\C", "unknown escape"),
        ("\\Z", "unknown escape"),
        ("\\é", "unknown escape"),
        ("\\x{110000}", "unknown escape"),
        ("\\x4", "unknown escape"),
        ("\\p{Nothing}", "cannot be used"),
        ("\\p{", "unknown class"),
        ("(?P<n>a)(?P<n>b)", "used twice"),
        ("(?P<>a)", "unknown group"),
        ("(?P=n)", "unknown group"),
        ("(?#x)", "unknown group"),
        ("(?-)", "unknown group"),
        ("a\\", "ends in a backslash"),
    ] {
        let error = Pattern::new(pattern, &mut LargeLeft(1)).err();
        let error = error.unwrap_or_else(|| panic!("{pattern:?} is accepted"));
        assert!(error.to_string().contains(why), "{pattern:?}: {error}");
    }
}

/// Go has larger limits, or a reading of its own.
#[test]
fn what_only_go_accepts_is_refused_and_says_why() {
    let deep = format!("{}a{}", "(".repeat(201), ")".repeat(201));
    for (pattern, why) in [
        ("a(?i)*", "nothing to repeat"),
        ("\\pL{1000}", "too much memory"),
        (&deep, "more than 200 deep"),
    ] {
        let error = Pattern::new(pattern, &mut LargeLeft(1)).err();
        let error = error.unwrap_or_else(|| panic!("{pattern:?} is accepted"));
        assert!(error.to_string().contains(why), "{pattern:?}: {error}");
    }
}

#[test]
fn nesting_and_counts_up_to_the_limits_are_fine() {
    let deep = format!("{}a{}", "(".repeat(200), ")".repeat(200));
    assert!(is_in(&deep, "a"));
    assert!(is_in("^(?:a{25}){40}$", &"a".repeat(1000)));
    assert!(is_in("^(?:a{1000}){0}$", ""));
    assert!(is_in("^a{2,}$", "aaa"));
}
