//! What the application shares between its hooks.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A piece of the application's state, registered with `with_state`.
///
/// ```
/// use rejoinder::{App, Chat, State};
///
/// #[derive(Clone)]
/// struct Guide(&'static str);
///
/// async fn greet(chat: Chat, State(guide): State<Guide>) -> rejoinder::Result {
///     chat.say(guide.0).await?;
///     Ok(())
/// }
///
/// assert!(App::new().with_state(Guide("welcome")).on_chat_start(greet).build().is_ok());
/// assert!(App::new().on_chat_start(greet).build().is_err(), "names the missing state");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct State<T>(pub T);

/// Every registered state, by type.
#[derive(Clone, Default)]
pub struct States(Arc<HashMap<TypeId, Box<dyn Any + Send + Sync>>>);

impl States {
    pub(crate) fn new(map: HashMap<TypeId, Box<dyn Any + Send + Sync>>) -> Self {
        Self(Arc::new(map))
    }

    /// The state of this type.
    #[must_use]
    pub fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref::<T>().cloned()
    }

    pub(crate) fn has(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} states", self.0.len())
    }
}
