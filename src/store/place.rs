//! Where a page of the list of threads ends. The list has the newest activity first, and threads move in it while
//! somebody reads on. So a place says not only after which thread it is, but also as of when: further pages show the list
//! as it was for the first, and each thread once.

/// A place in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The last thread that was shown.
    pub thread: Option<String>,
    /// Its newest activity then. Without it the place is where the thread stands now.
    pub active: Option<String>,
    /// The newest activity of the whole list then: what came later does not count.
    pub since: Option<String>,
}

impl Place {
    /// Reads what a page gives back. A thread's id alone is one, too.
    pub fn parse(cursor: Option<&str>) -> Self {
        let Some(cursor) = cursor else { return Self::default() };
        let parts: Vec<&str> = cursor.rsplitn(3, '~').collect();
        match parts[..] {
            [since, active, thread] => {
                Self { thread: Some(thread.to_owned()), active: Some(active.to_owned()), since: Some(since.to_owned()) }
            }
            _ => Self { thread: Some(cursor.to_owned()), ..Self::default() },
        }
    }

    /// What a page gets.
    pub fn write(thread: &str, active: &str, since: &str) -> String {
        format!("{thread}~{active}~{since}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let place = Place::parse(Some(&Place::write("a~b", "2026-01-01T00:00:00", "")));
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(place, Place { thread: of("a~b"), active: of("2026-01-01T00:00:00"), since: of("") });
        assert_eq!(Place::parse(Some("a")), Place { thread: of("a"), ..Place::default() });
        assert_eq!(Place::parse(None), Place::default());
    }
}
