//! Choices that have names: on command lines, in files, in errors.

/// An enum that is written and read by its snake-case names. A name after `|` is one that older versions wrote: it is read, and never written.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident, $option:literal:
     $($(#[$variant_doc:meta])* $variant:ident = $text:literal $(| $old:literal)*),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text $(, alias = $old)*)] $variant),+
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
                match text {
                    $($text $(| $old)* => Ok(Self::$variant),)+
                    _ => {
                        let names: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
                        Err(crate::Error::option($option, text, names.join(", ")))
                    }
                }
            }
        }
    };
}

pub(crate) use named;
