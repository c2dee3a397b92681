//! What a hook fails with: one text for the person, one for the log.

use std::error::Error;
use std::fmt;

/// The result of a hook.
pub type Result<T = (), E = HookError> = std::result::Result<T, E>;

/// Why a hook failed. Every error turns into one by `?`; it is logged, and shown as it reads or as one plain
/// sentence (setting `show_errors`). What [`HookError::tell`] says is always shown.
///
/// ```
/// use rejoinder::HookError;
///
/// fn price(text: &str) -> rejoinder::Result<u32> {
///     if text.is_empty() {
///         return Err(HookError::tell("say a number, please"));
///     }
///     Ok(text.parse()?)
/// }
/// assert!(price("7").is_ok() && price("x").is_err());
/// ```
pub struct HookError {
    told: Option<String>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl HookError {
    /// An error with a text for the person.
    #[must_use]
    pub fn tell(text: impl Into<String>) -> Self {
        Self { told: Some(text.into()), cause: None }
    }

    /// The text for the person, when there is one.
    #[must_use]
    pub fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }

    /// The error for the log: the cause, and never a text that was written for a person and may say what they said.
    #[must_use]
    pub fn for_log(&self) -> String {
        match (&self.cause, &self.told) {
            (Some(cause), _) => cause.to_string(),
            (None, Some(_)) => "the person was told why".to_owned(),
            (None, None) => "hook failed".to_owned(),
        }
    }

    /// The error as it reads: the text for the person, else the cause's own.
    #[must_use]
    pub fn as_it_reads(&self) -> String {
        match (&self.told, &self.cause) {
            (Some(text), _) => text.clone(),
            (None, Some(cause)) => cause.to_string(),
            (None, None) => "hook failed".to_owned(),
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HookError {
    fn from(error: E) -> Self {
        Self { told: None, cause: Some(Box::new(error)) }
    }
}

impl fmt::Debug for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_it_reads())
    }
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_it_reads())
    }
}
