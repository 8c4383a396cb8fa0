//! Choices that have names: on command lines, in files, in tables, in errors.

/// An enum that is written by its names; with the option that it is a value of, read by them too.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident: $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name that is written.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
    ($(#[$doc:meta])* $name:ident, $option:literal: $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)?) => {
        $crate::named::named! {
            $(#[$doc])* $name: $($(#[$variant_doc])* $variant = $text),+
        }

        impl std::str::FromStr for $name {
            type Err = warpplay::Error;

            fn from_str(text: &str) -> warpplay::Result<Self> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(warpplay::Error::option($option, text, [$($text),+].join(", "))),
                }
            }
        }
    };
}

#[allow(unused_imports, reason = "not every publication has choices")]
pub(crate) use named;
