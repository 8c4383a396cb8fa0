//! Setters of builders.

/// Setters of a builder that has `options`, one for each option: `name: Type` stores the argument, `name: Type = value` stores the expression `value`. With `noted in
/// field;` first, each setter also adds its name to that field, the list of options that the caller set. A setter without documentation of its own gets one that names the
/// option.
#[allow(unused_macros, reason = "builders belong to families")]
macro_rules! setters {
    (noted in $noted:ident; $($(#[$doc:meta])+ $name:ident: $type:ty $(= $value:expr)?),+ $(,)?) => {
        $(
            $(#[$doc])+
            #[must_use]
            pub fn $name(mut self, $name: $type) -> Self {
                self.options.$name = $crate::runtime::setters::setters!(@value $name $(= $value)?);
                self.$noted.push(stringify!($name));
                self
            }
        )+
    };
    (noted in $noted:ident; $($name:ident: $type:ty $(= $value:expr)?),+ $(,)?) => {
        $crate::runtime::setters::setters! {
            noted in $noted;
            $(#[doc = concat!("Sets [`Options::", stringify!($name), "`].")] $name: $type $(= $value)?),+
        }
    };
    (@value $name:ident) => { $name };
    (@value $name:ident = $value:expr) => { $value };
    ($($(#[$doc:meta])+ $name:ident: $type:ty $(= $value:expr)?),+ $(,)?) => {
        $(
            $(#[$doc])+
            #[must_use]
            pub fn $name(mut self, $name: $type) -> Self {
                self.options.$name = $crate::runtime::setters::setters!(@value $name $(= $value)?);
                self
            }
        )+
    };
    ($($name:ident: $type:ty $(= $value:expr)?),+ $(,)?) => {
        $crate::runtime::setters::setters! {
            $(#[doc = concat!("Sets [`Options::", stringify!($name), "`].")] $name: $type $(= $value)?),+
        }
    };
}

/// `checkpoint` and `resume` of a builder that has `journal`, the file that keeps each finished piece.
#[allow(unused_macros, reason = "builders belong to families")]
macro_rules! journal_setters {
    ($(#[$checkpoint:meta])+ checkpoint, $(#[$resume:meta])+ resume) => {
        $(#[$checkpoint])+
        #[must_use]
        pub fn checkpoint(mut self, path: impl Into<std::path::PathBuf>) -> Self {
            self.journal = Some($crate::runtime::journal::Target::New(path.into()));
            self
        }

        $(#[$resume])+
        #[must_use]
        pub fn resume(mut self, path: impl Into<std::path::PathBuf>) -> Self {
            self.journal = Some($crate::runtime::journal::Target::GoOn(path.into()));
            self
        }
    };
}

/// `resume`, `checkpoint` and `checkpoint_every` of a builder with the fields `resume`, the `Checkpoint` of its family to continue from, and `keep`, which writes states.
#[allow(unused_macros, reason = "builders belong to families")]
macro_rules! checkpoint_setters {
    ($(#[$resume:meta])+ resume, $(#[$checkpoint:meta])+ checkpoint, $(#[$every:meta])+ checkpoint_every) => {
        $(#[$resume])+
        #[must_use]
        pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
            self.resume = Some(checkpoint);
            self
        }

        $(#[$checkpoint])+
        #[must_use]
        pub fn checkpoint(mut self, path: impl Into<std::path::PathBuf>) -> Self {
            self.keep.path = Some(path.into());
            self
        }

        $(#[$every])+
        #[must_use]
        pub fn checkpoint_every(mut self, time: std::time::Duration) -> Self {
            self.keep.every = Some(time);
            self
        }
    };
}

#[allow(unused_imports, reason = "without a family there is no builder")]
pub(crate) use {checkpoint_setters, journal_setters, setters};
