//! Setters of builders.

/// Setters of a builder that has `options`, one an option: `name: Type` puts what it is given there, `name: Type = value` what is made of it. After `noted in field;`
/// each adds its name to that field, as one that was asked for. Where they have no documentation of their own, it names the option.
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

#[allow(unused_imports, reason = "without a family there is no builder")]
pub(crate) use setters;
