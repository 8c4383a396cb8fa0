//! Choices that have names: on command lines, in files, in errors.

/// An enum that is written and read by its names.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident, $option:literal: $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $(Self::$variant => $text),+ })
            }
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

pub(super) use named;
