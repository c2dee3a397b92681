//! The application: what its developer registered.

use crate::protocol::User;

/// Hooks and state, ready to be served. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct App {}

impl App {
    /// Whether people sign in with a name and a password.
    #[must_use]
    pub fn has_password_login(&self) -> bool {
        false
    }

    /// Whether people are signed in by the headers of their request.
    #[must_use]
    pub fn has_header_login(&self) -> bool {
        false
    }

    /// Whether stored threads can be opened again.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        false
    }

    /// Asks the password hook. `None` means no: also when there is no such hook, or it failed (which is logged).
    pub async fn password_login(&self, _username: &str, _password: &str) -> Option<User> {
        None
    }

    /// Asks the header hook, with the header names in lower case. `None` as above.
    pub async fn header_login(&self, _headers: &[(String, String)]) -> Option<User> {
        None
    }
}
