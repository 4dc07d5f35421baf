//! A value that is owned, or shared with copies until one side writes.

use std::sync::Arc;

/// A value of which copies can be made without copying it.
pub(super) enum SharedPart<T> {
    /// Nobody else has it.
    Own(T),
    /// Copies of it may be there.
    Shared(Arc<T>),
}

impl<T> SharedPart<T> {
    /// The value.
    #[inline]
    pub fn get(&self) -> &T {
        match self {
            Self::Own(value) => value,
            Self::Shared(value) => value,
        }
    }
}

impl<T: Clone + Default> SharedPart<T> {
    /// The value, to be changed: copied first where somebody else has it too.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        match self {
            Self::Own(value) => value,
            Self::Shared(_) => self.own(),
        }
    }

    /// A copy that shares the value.
    pub fn share(&mut self) -> Self {
        if let Self::Own(value) = self {
            *self = Self::Shared(Arc::new(std::mem::take(value)));
        }
        match self {
            Self::Own(value) => Self::Own(value.clone()),
            Self::Shared(value) => Self::Shared(Arc::clone(value)),
        }
    }

    /// Kept out of the way of everybody who writes: it happens once for each part after a copy was made.
    #[cold]
    #[inline(never)]
    fn own(&mut self) -> &mut T {
        let old = std::mem::take(self);
        *self = Self::Own(match old {
            Self::Own(value) => value,
            Self::Shared(value) => Arc::unwrap_or_clone(value),
        });
        match self {
            Self::Own(value) => value,
            Self::Shared(value) => Arc::make_mut(value),
        }
    }
}

impl<T: Default> Default for SharedPart<T> {
    fn default() -> Self {
        Self::Own(T::default())
    }
}
