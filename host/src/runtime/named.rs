//! Choices that have names: on command lines, in files, in errors.

/// An enum that is written and read by its snake-case names.
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

            /// The name that is written and read.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::Error;

            fn from_str(text: &str) -> crate::Result<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == text)
                    .ok_or_else(|| crate::Error::option($option, text, [$($text),+].join(", ")))
            }
        }
    };
}

pub(crate) use named;
