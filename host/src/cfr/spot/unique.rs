//! JSON objects that name each field once. `serde_json`'s own maps keep the last of two.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The entries of an object, no name twice; `within` adds the name of an entry to an error in its value.
pub(super) fn entries<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    mut map: A,
    within: impl Fn(&str, A::Error) -> A::Error,
) -> Result<BTreeMap<String, T>, A::Error> {
    let mut all = BTreeMap::new();
    while let Some(name) = map.next_key::<String>()? {
        if all.contains_key(&name) {
            return Err(twice(&name));
        }
        let value = map.next_value().map_err(|error| within(&name, error))?;
        all.insert(name, value);
    }
    Ok(all)
}

/// What the error of a name says that occurs twice.
pub(super) const TWICE: &str = "occurs twice";

/// The error of a name that occurs twice.
pub(super) fn twice<E: Error>(name: &str) -> E {
    E::custom(format!("the name {name} {TWICE}"))
}

/// A value in which every object names each field once.
pub(super) struct Unique(pub Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value of JSON")
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(Unique(value)) = list.next_element()? {
                    values.push(value);
                }
                Ok(Value::Array(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
                let fields = entries(map, |_, error| error)?;
                Ok(Value::Object(fields.into_iter().map(|(name, Unique(value))| (name, value)).collect()))
            }
        }
        from.deserialize_any(Any).map(Self)
    }
}
