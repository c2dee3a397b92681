//! What somebody searches for, as a pattern that ignores case in every alphabet. SQLite's `lower` knows ASCII only and
//! PostgreSQL's depends on the locale of the database, so each letter becomes a class of its cases.

/// Longer texts are cut: SQLite refuses patterns above 50,000 bytes.
const LONGEST: usize = 500;

/// For SQLite's `glob`.
pub(super) fn glob(text: &str) -> String {
    let mut pattern = String::from("*");
    for letter in text.chars().take(LONGEST) {
        match cases(letter) {
            Some(both) => pattern.extend(["[", both.as_str(), "]"]),
            None if matches!(letter, '*' | '?' | '[') => pattern.extend(["[", &letter.to_string(), "]"]),
            None => pattern.push(letter),
        }
    }
    pattern.push('*');
    pattern
}

/// For PostgreSQL's `~`.
pub(super) fn regex(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars().take(LONGEST).filter(|letter| *letter != '\0') {
        match cases(letter) {
            Some(both) => pattern.extend(["[", both.as_str(), "]"]),
            None if letter.is_ascii_punctuation() => pattern.extend(["\\", &letter.to_string()]),
            None => pattern.push(letter),
        }
    }
    pattern
}

/// A letter in its cases; nothing when it has one only.
fn cases(letter: char) -> Option<String> {
    let mut both = String::new();
    for case in letter.to_lowercase().chain(letter.to_uppercase()).chain([letter]) {
        // A case that is several letters ("SS" for "ß") cannot be in a class: its letters would match alone.
        let single = letter.to_lowercase().count() == 1 && letter.to_uppercase().count() == 1;
        if (single || case == letter) && !both.contains(case) {
            both.push(case);
        }
    }
    (both.chars().count() > 1).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_become_classes_and_signs_stay_signs() {
        assert_eq!(glob("Ä1*"), "*[äÄ]1[*]*");
        assert_eq!(regex("a.b 🦀"), "[aA]\\.[bB] 🦀");
        assert_eq!(glob("ß]"), "*ß]*");
    }
}
