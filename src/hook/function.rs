//! Async functions as hooks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use super::{FromHook, HookError, Input, Need};

/// A registered hook, its arguments and their types forgotten.
pub type Handler<E, T = ()> = Arc<dyn Fn(Input<E>) -> HandlerFuture<T> + Send + Sync>;

/// A hook at work.
pub type HandlerFuture<T> = Pin<Box<dyn Future<Output = Result<T, HookError>> + Send>>;

/// What a hook may return: the value, or a result of it.
pub trait HookOutput<T> {
    /// As a result.
    ///
    /// # Errors
    /// What the hook failed with.
    fn into_result(self) -> Result<T, HookError>;
}

impl<T> HookOutput<T> for T {
    fn into_result(self) -> Result<T, HookError> {
        Ok(self)
    }
}

impl<T, E: Into<HookError>> HookOutput<T> for Result<T, E> {
    fn into_result(self) -> Result<T, HookError> {
        self.map_err(Into::into)
    }
}

/// A hook that may answer with JSON answers null when it returns nothing.
impl HookOutput<Value> for () {
    fn into_result(self) -> Result<Value, HookError> {
        Ok(Value::Null)
    }
}

impl<E: Into<HookError>> HookOutput<Value> for Result<(), E> {
    fn into_result(self) -> Result<Value, HookError> {
        self.map(|()| Value::Null).map_err(Into::into)
    }
}

/// An async function that can be registered for `E`; `A` is the tuple of its arguments.
pub trait Hook<E, T, A>: Send + Sync + 'static {
    /// Forgets the types.
    fn handler(self) -> Handler<E, T>;

    /// The states it needs.
    fn needs() -> Vec<Need>;
}

macro_rules! hook {
    ($($name:ident: $argument:ident),*) => {
        impl<E, T, F, Fut, $($argument,)*> Hook<E, T, ($($argument,)*)> for F
        where
            E: Send + 'static,
            T: 'static,
            F: Fn($($argument,)*) -> Fut + Send + Sync + 'static,
            Fut: Future + Send + 'static,
            Fut::Output: HookOutput<T>,
            $($argument: FromHook<E> + 'static,)*
        {
            fn handler(self) -> Handler<E, T> {
                Arc::new(move |_input: Input<E>| {
                    $(let $name = match $argument::from_hook(&_input) {
                        Ok(argument) => argument,
                        Err(error) => return Box::pin(async move { Err(error) }),
                    };)*
                    let work = self($($name,)*);
                    Box::pin(async move { HookOutput::<T>::into_result(work.await) })
                })
            }

            fn needs() -> Vec<Need> {
                let needs: Vec<Option<Need>> = vec![$($argument::need(),)*];
                needs.into_iter().flatten().collect()
            }
        }
    };
}

hook!();
hook!(a: A);
hook!(a: A, b: B);
hook!(a: A, b: B, c: C);
hook!(a: A, b: B, c: C, d: D);
hook!(a: A, b: B, c: C, d: D, e: G);
hook!(a: A, b: B, c: C, d: D, e: G, f: H);
