//! Options: keyword arguments, laid over the library's defaults field by field; and what is wrong with one of them, in Python's words.

use std::marker::PhantomData;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serde_path_to_error::Segment;

/// Most dictionaries and lists inside each other. No option has as many; a dictionary that contains itself has more.
const DEEPEST: usize = 8;

/// How serde's error of a field that is not known begins.
const UNKNOWN_FIELD: &str = "unknown field ";

/// Options of the library: `given` by name over the defaults. A dictionary changes the fields that it names, at every depth; a choice with fields of its own, such as an
/// optimiser, may be its name alone.
///
/// # Errors
/// `TypeError` for a name that is no option, with those that are; `ValueError` for a value that an option cannot have.
pub fn options<O: Serialize + DeserializeOwned>(defaults: &O, given: Option<&Bound<'_, PyDict>>) -> PyResult<O> {
    let mut laid = Laid::of(defaults)?;
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let value = to_json(&name, &value, 0)?;
        laid.set(&[&name], value)?;
    }
    laid.read("options")
}

/// The value of an argument that is not among the options, such as a seed; `name` is the argument's.
///
/// # Errors
/// `ValueError` for a value that it cannot have, `TypeError` for what is no number, text, list or dictionary; both name the field of a dictionary, as `spot.ranges[1]`.
pub fn argument<T: DeserializeOwned>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let value = to_json(name, value, 0)?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut path = name.to_string();
        // The path ends with a field that is not known, which `wrong` adds itself.
        let is_unknown = error.inner().to_string().starts_with(UNKNOWN_FIELD);
        let segments = error.path().iter();
        let n = segments.len().saturating_sub(usize::from(is_unknown));
        for segment in segments.take(n) {
            match segment {
                Segment::Seq { index } => path += &format!("[{index}]"),
                Segment::Map { key } => path += &format!(".{key}"),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        wrong(&path, error.inner())
    })
}

/// Options as JSON, with what was given so far.
struct Laid<O> {
    whole: Value,
    kind: PhantomData<O>,
}

impl<O: Serialize + DeserializeOwned> Laid<O> {
    fn of(options: &O) -> PyResult<Self> {
        let whole = serde_json::to_value(options).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { whole, kind: PhantomData })
    }

    fn read(&self, name: &str) -> PyResult<O> {
        serde_json::from_value(self.whole.clone()).map_err(|error| wrong(name, &error))
    }

    /// The value of a field, from the outermost name to its own.
    fn at(&mut self, path: &[&str]) -> Option<&mut Value> {
        path.iter().try_fold(&mut self.whole, |value, field| value.get_mut(field))
    }

    /// Lays `given` over the option at `path`.
    fn set(&mut self, path: &[&str], given: Value) -> PyResult<()> {
        let Some(before) = self.at(path) else { return Err(self.unknown(path)) };
        let kind = before.get("name").cloned();
        let is_object = before.is_object();
        let given = match given {
            Value::String(name) if kind.is_some() => json!({ "name": name }),
            given => given,
        };
        let fields = match given {
            Value::Object(fields) if is_object => fields,
            Value::Array(_) if kind.is_some() => return Err(is_a_list(path, "a name, or a dictionary with a name")),
            given => return self.replace(path, given),
        };
        // Another optimiser has other fields: those of its defaults.
        if let Some(name) = fields.get("name").filter(|&name| kind.as_ref().is_some_and(|kind| kind != name)) {
            self.replace(path, json!({ "name": name }))?;
        }
        for (field, value) in fields.into_iter().filter(|(field, _)| kind.is_none() || field != "name") {
            self.set(&[path, &[field.as_str()]].concat(), value)?;
        }
        Ok(())
    }

    /// Replaces the option at `path`, reads all options so, and takes what they have then: fields that are not given have their defaults.
    fn replace(&mut self, path: &[&str], given: Value) -> PyResult<()> {
        if let Some(value) = self.at(path) {
            *value = given.clone();
        }
        let name = path.join(".");
        *self = Self::of(&self.read(&name)?)?;
        self.expect_fields(path, &given)
    }

    /// Checks that all fields of `given` are fields of the option, and that no list stands for a dictionary: some are passed over when they are read.
    fn expect_fields(&mut self, path: &[&str], given: &Value) -> PyResult<()> {
        if given.is_array() && self.at(path).is_some_and(|value| value.is_object()) {
            return Err(is_a_list(path, "a dictionary"));
        }
        for (field, value) in given.as_object().into_iter().flatten() {
            let path = [path, &[field.as_str()]].concat();
            if self.at(&path).is_none() {
                return Err(self.unknown(&path));
            }
            self.expect_fields(&path, value)?;
        }
        Ok(())
    }

    /// The error for a path that is no option, with those beside it.
    fn unknown(&mut self, path: &[&str]) -> PyErr {
        let beside = path.split_last().and_then(|(_, beside)| self.at(beside));
        let fields = beside.and_then(|value| value.as_object()).into_iter().flat_map(Map::keys);
        not_an_option(&path.join("."), &fields.map(String::as_str).collect::<Vec<_>>())
    }
}

/// The error for a list that is given for an option which is none.
fn is_a_list(path: &[&str], allowed: &str) -> PyErr {
    PyValueError::new_err(format!("option {}: a list is not allowed ({allowed})", path.join(".")))
}

fn not_an_option(name: &str, allowed: &[&str]) -> PyErr {
    PyTypeError::new_err(format!("{name} is not an option; allowed are {}", allowed.join(", ")))
}

/// What is wrong with an option, from what serde says of it.
fn wrong(name: &str, error: &serde_json::Error) -> PyErr {
    let text = error.to_string();
    let not_allowed = |found: &str, allowed: &str| {
        PyValueError::new_err(format!("option {name}: {found} is not allowed ({allowed})"))
    };
    if let Some((found, expected)) = text.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", ")) {
        return not_allowed(found.trim_matches('`'), &names_in(expected).join(", "));
    }
    if let Some((field, expected)) = text.strip_prefix(UNKNOWN_FIELD).and_then(|rest| rest.split_once(", ")) {
        return not_an_option(&format!("{name}.{}", field.trim_matches('`')), &names_in(expected));
    }
    if let Some(field) = text.strip_prefix("missing field ") {
        return PyValueError::new_err(format!("option {name}: the field {} is missing", field.trim_matches('`')));
    }
    let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = kinds.iter().find_map(|kind| text.strip_prefix(kind));
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => not_allowed(&found_in_words(found), &expected_in_words(expected)),
        // The library's own words, which may name the option.
        None if text.starts_with("option ") => PyValueError::new_err(text),
        None => PyValueError::new_err(format!("option {name}: {text}")),
    }
}

/// What stands between backticks.
fn names_in(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// A value as serde describes it, as Python writes it.
fn found_in_words(found: &str) -> String {
    let inner = || found.split_once(' ').map_or(found, |(_, value)| value).trim_matches('`');
    match found.split(' ').next().unwrap_or_default() {
        "string" | "integer" => inner().to_string(),
        "floating" => inner().trim_start_matches("point ").trim_matches('`').to_string(),
        "boolean" if inner() == "true" => "True".to_string(),
        "boolean" => "False".to_string(),
        "null" => "None".to_string(),
        "map" => "a dictionary".to_string(),
        "sequence" => "a list".to_string(),
        n if n.parse::<u64>().is_ok() => format!("a list of {n}"),
        _ => found.to_string(),
    }
}

/// What serde expected, in words.
fn expected_in_words(expected: &str) -> String {
    let whole = |most: u64| format!("a whole number, 0 to {most}");
    match expected {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => "a whole number, 0 to 2**64 - 1".to_string(),
        "f32" | "f64" => "a number".to_string(),
        "a boolean" => "True or False".to_string(),
        "a string" | "a borrowed string" | "string or map" | "variant identifier" => "a name".to_string(),
        "a sequence" => "a list".to_string(),
        other => match other.strip_prefix("an array of length ").or_else(|| other.strip_prefix("a tuple of size ")) {
            Some(n) => format!("a list of {n} values"),
            None if other.contains(" enum ") => "a name, or a dictionary with a name".to_string(),
            None if other.starts_with("struct ") || other == "a map" => "a dictionary".to_string(),
            None => other.to_string(),
        },
    }
}

/// A value of Python as JSON; numbers of numpy too.
///
/// # Errors
/// `ValueError` for a number that is not finite or has more than 64 bits, and for what is nested too deep; `TypeError` for what is no number, text, list or dictionary; `name` is the
/// option's.
pub fn to_json(name: &str, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("option {name}: lists and dictionaries more than {DEEPEST} deep")));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    // numpy's own type of truth too.
    if let Ok(truth) = value.extract::<bool>() {
        return Ok(Value::Bool(truth));
    }
    if let Ok(text) = value.extract::<String>() {
        return Ok(Value::String(text));
    }
    if let Ok(fields) = value.cast::<PyDict>() {
        let mut object = Map::new();
        for (field, value) in fields {
            let Ok(field) = field.extract::<String>() else {
                return Err(PyTypeError::new_err(format!("option {name}: {field} is not the name of a field")));
            };
            let value = to_json(&format!("{name}.{field}"), &value, depth + 1)?;
            object.insert(field, value);
        }
        return Ok(Value::Object(object));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        let values = value.try_iter()?.enumerate();
        let values = values.map(|(at, value)| to_json(&format!("{name}[{at}]"), &value?, depth + 1));
        return values.collect::<PyResult<Vec<_>>>().map(Value::Array);
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(number.into());
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(number.into());
    }
    if value.cast::<PyInt>().is_ok() {
        let text = format!("option {name}: {value} is not allowed (a whole number, -2**63 to 2**64 - 1)");
        return Err(PyValueError::new_err(text));
    }
    match value.extract::<f64>() {
        Ok(number) => match serde_json::Number::from_f64(number) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(PyValueError::new_err(format!("option {name}: {number} is not allowed (a finite number)"))),
        },
        Err(_) => {
            let kind = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("option {name}: a {kind} is not a value of an option")))
        }
    }
}
