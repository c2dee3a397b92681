//! What a hook can want.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;

use super::{
    HeaderLogin, HeaderLoginEvent, HookError, InChat, Input, MessageEvent, PasswordLogin, PasswordLoginEvent,
    ResumeEvent, ResumedThread, State, UserMessage,
};
use crate::chat::{Chat, SessionValue, Values};
use crate::protocol::User;

/// A state that a hook needs; `build()` names it when it was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
}

/// Something that a hook can have as an argument when `E` happens.
#[diagnostic::on_unimplemented(
    message = "a hook for `{E}` cannot have an argument of type `{Self}`",
    note = "see the implementors of `FromHook` for what each hook can have"
)]
pub trait FromHook<E>: Sized + Send {
    /// Takes it from what the hook is called with.
    ///
    /// # Errors
    /// When it cannot be had; the hook is then not called, and the error is handled as the hook's own.
    fn from_hook(input: &Input<E>) -> Result<Self, HookError>;

    /// The state it needs.
    #[must_use]
    fn need() -> Option<Need> {
        None
    }
}

impl<E: InChat> FromHook<E> for Chat {
    fn from_hook(input: &Input<E>) -> Result<Self, HookError> {
        Ok(input.event.chat().clone())
    }
}

impl<E: InChat> FromHook<E> for Option<User> {
    fn from_hook(input: &Input<E>) -> Result<Self, HookError> {
        Ok(input.event.chat().user().cloned())
    }
}

impl FromHook<MessageEvent> for UserMessage {
    fn from_hook(input: &Input<MessageEvent>) -> Result<Self, HookError> {
        Ok(input.event.message.clone())
    }
}

impl FromHook<ResumeEvent> for ResumedThread {
    fn from_hook(input: &Input<ResumeEvent>) -> Result<Self, HookError> {
        Ok(input.event.thread.clone())
    }
}

impl FromHook<PasswordLoginEvent> for PasswordLogin {
    fn from_hook(input: &Input<PasswordLoginEvent>) -> Result<Self, HookError> {
        Ok(input.event.login.clone())
    }
}

impl FromHook<HeaderLoginEvent> for HeaderLogin {
    fn from_hook(input: &Input<HeaderLoginEvent>) -> Result<Self, HookError> {
        Ok(input.event.login.clone())
    }
}

impl<E, T: Clone + Send + Sync + 'static> FromHook<E> for State<T> {
    fn from_hook(input: &Input<E>) -> Result<Self, HookError> {
        input.states.get().map(State).ok_or_else(|| HookError::tell("a state was not registered"))
    }

    fn need() -> Option<Need> {
        Some(Need { id: TypeId::of::<T>(), name: std::any::type_name::<T>() })
    }
}

/// The values of the user session: string keys, JSON values. They live in memory, survive reconnects, are stored with
/// the thread at the end of each run, and come back when it is resumed.
#[derive(Clone, Debug)]
pub struct UserSession(Arc<Values>);

impl UserSession {
    /// The value under `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value> {
        self.0.get(key)
    }

    /// Sets a value; null removes it.
    pub fn set(&self, key: &str, value: impl Into<Value>) {
        self.0.set(key, value.into());
    }
}

impl<E: InChat> FromHook<E> for UserSession {
    fn from_hook(input: &Input<E>) -> Result<Self, HookError> {
        Ok(Self(input.event.chat().values().clone()))
    }
}

/// One typed value of the user session, under its type's own key.
#[derive(Clone, Debug)]
pub struct UserState<T>(Arc<Values>, PhantomData<fn() -> T>);

impl<T: SessionValue> UserState<T> {
    /// The value; its default when there is none, or when what is stored has another shape.
    #[must_use]
    pub fn get(&self) -> T {
        self.0.get(T::KEY).and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// Sets it.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn set(&self, value: &T) -> Result<(), HookError> {
        self.0.set(T::KEY, serde_json::to_value(value)?);
        Ok(())
    }

    /// Changes it in place.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn update(&self, change: impl FnOnce(&mut T)) -> Result<(), HookError> {
        let mut value = self.get();
        change(&mut value);
        self.set(&value)
    }
}

impl<E: InChat, T: SessionValue> FromHook<E> for UserState<T> {
    fn from_hook(input: &Input<E>) -> Result<Self, HookError> {
        Ok(Self(input.event.chat().values().clone(), PhantomData))
    }
}
