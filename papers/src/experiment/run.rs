//! A run: what it measures on, what it has measured, who watches it.

use std::ops::ControlFlow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use warpplay::{Device, Error};

use super::journal::{Header, Journal, Record};

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The caller ended it.
    #[error("ended on request")]
    Interrupted,
    /// Something failed.
    #[error(transparent)]
    Failed(#[from] Error),
    /// A replay found something else than what was recorded.
    #[error("{key}: {now} now, {recorded} recorded")]
    Differs {
        /// The measurement.
        key: String,
        /// What is recorded.
        recorded: String,
        /// What it is now.
        now: String,
    },
    /// A replay needs a measurement that the file does not hold.
    #[error("{key}: not in the file that is replayed")]
    NotRecorded {
        /// The measurement.
        key: String,
    },
    /// A value does not survive being written and read, as NaN does not.
    #[error("{key}: cannot be kept: {reason}")]
    NotKept {
        /// The measurement.
        key: String,
        /// Why.
        reason: String,
    },
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The measurement that begins.
    pub key: &'a str,
    /// Measurements that are done.
    pub done: u64,
    /// Measurements in all, as far as they are known.
    pub expected: u64,
}

type Watch<'a> = &'a mut (dyn FnMut(&Step<'_>) -> ControlFlow<()> + Send);

/// What a measurement is given.
pub struct Measurement<'a, E> {
    /// The device of the run.
    pub device: &'a Device,
    /// Whether sizes are small.
    pub quick: bool,
    /// In a replay, what was recorded: a search that was limited by time then takes as many steps.
    pub before: Option<&'a E>,
    step: Step<'a>,
    watch: Watch<'a>,
}

impl<E> Measurement<'_, E> {
    /// Asks whether to go on, as the watcher of long work: `trainer.run(|_| now.go_on())`.
    pub fn go_on(&mut self) -> ControlFlow<()> {
        (self.watch)(&self.step)
    }

    /// Ends the measurement if the caller wants an end.
    ///
    /// # Errors
    /// [`Stop::Interrupted`].
    pub fn check(&mut self) -> Result<(), Stop> {
        if self.go_on().is_break() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

/// A run of a publication's items.
pub struct Run<'a> {
    device: Device,
    quick: bool,
    journal: Journal,
    replayed: Option<Journal>,
    watch: Watch<'a>,
    done: u64,
    expected: u64,
}

impl<'a> Run<'a> {
    /// A run that keeps its measurements in `journal` and begins with those that are there. `watch` is asked before every measurement, and by long ones while they last.
    pub fn new(
        device: Device,
        quick: bool,
        journal: Journal,
        watch: &'a mut (dyn FnMut(&Step<'_>) -> ControlFlow<()> + Send),
    ) -> Self {
        Self { device, quick, journal, replayed: None, watch, done: 0, expected: 0 }
    }

    /// Makes it a replay: everything but times is measured again and held against `recorded`; what is a time alone is taken from there.
    ///
    /// # Errors
    /// [`Error::Option`] if `recorded` is of another publication, version, size or set of options: both values are named.
    pub fn replay(mut self, recorded: Journal, header: &Header) -> Result<Self, Stop> {
        if let Some(difference) = recorded.header().and_then(|found| header.difference(found, false)) {
            return Err(Error::option(
                "replay",
                difference,
                "a file of the same publication, version, size and options",
            )
            .into());
        }
        self.replayed = Some(recorded);
        Ok(self)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether sizes are small: a run that shows that everything works.
    pub fn quick(&self) -> bool {
        self.quick
    }

    /// The measurements so far.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// So many more measurements are to come.
    pub fn expect(&mut self, n: u64) {
        self.expected += n;
    }

    /// Asks whether to go on.
    pub fn interrupted(&mut self) -> bool {
        let step = Step { key: "", done: self.done, expected: self.expected.max(self.done) };
        (self.watch)(&step).is_break()
    }

    /// A measurement whose result is the same whenever it is made.
    ///
    /// # Errors
    /// As [`both`](Self::both).
    pub fn exact<E: Serialize + DeserializeOwned>(
        &mut self,
        key: &str,
        measure: impl FnOnce(&mut Measurement<'_, E>) -> Result<E, Stop>,
    ) -> Result<E, Stop> {
        Ok(self.both(key, |now| Ok((measure(now)?, ())))?.0)
    }

    /// A measurement of times, which differ whenever they are measured. A replay takes them as they were.
    ///
    /// # Errors
    /// As [`both`](Self::both).
    pub fn timed<T: Serialize + DeserializeOwned>(
        &mut self,
        key: &str,
        measure: impl FnOnce(&mut Measurement<'_, ()>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if let Some(recorded) = &self.replayed {
            let record = recorded.get(key).ok_or_else(|| Stop::NotRecorded { key: key.into() })?.clone();
            if self.journal.get(key).is_none() {
                self.journal.insert(key, record)?;
            }
        }
        Ok(self.both(key, |now| Ok(((), measure(now)?)))?.1)
    }

    /// One measurement with results that are the same whenever it is made, and times. It is taken from the journal if it is there; else it is made and kept.
    ///
    /// # Errors
    /// [`Stop::Interrupted`] if the watcher wants an end; what `measure` says; [`Stop::Differs`] in a replay; [`Error::File`] if the journal cannot be written.
    pub fn both<E, T>(
        &mut self,
        key: &str,
        measure: impl FnOnce(&mut Measurement<'_, E>) -> Result<(E, T), Stop>,
    ) -> Result<(E, T), Stop>
    where
        E: Serialize + DeserializeOwned,
        T: Serialize + DeserializeOwned,
    {
        let expected = self.expected.max(self.done + 1);
        let step = Step { key, done: self.done, expected };
        let wants_end = (self.watch)(&step).is_break();
        self.done += 1;
        self.expected = expected;
        if let Some(record) = self.journal.get(key) {
            return Ok((decoded(key, &record.exact)?, decoded(key, &record.timed)?));
        }
        if wants_end {
            return Err(Stop::Interrupted);
        }
        let recorded = match &self.replayed {
            Some(recorded) => Some(recorded.get(key).ok_or_else(|| Stop::NotRecorded { key: key.into() })?),
            None => None,
        };
        let before: Option<E> = recorded.map(|record| decoded(key, &record.exact)).transpose()?;
        let mut now = Measurement {
            device: &self.device,
            quick: self.quick,
            before: before.as_ref(),
            step,
            watch: &mut *self.watch,
        };
        let (exact, timed) = measure(&mut now)?;
        let record = Record { exact: encoded(key, &exact)?, timed: encoded(key, &timed)? };
        if let Some(recorded) = recorded
            && recorded.exact != record.exact
        {
            let (recorded, now) = difference(&recorded.exact, &record.exact);
            return Err(Stop::Differs { key: key.into(), recorded, now });
        }
        // What cannot be read again would spoil the journal; a run that goes on must see the same values.
        if encoded(key, &decoded::<E>(key, &record.exact)?)? != record.exact {
            return Err(Stop::NotKept { key: key.into(), reason: "it is another value when it is read".into() });
        }
        decoded::<T>(key, &record.timed)?;
        self.journal.insert(key, record)?;
        Ok((exact, timed))
    }

    /// The measurements, when all is done.
    pub(super) fn into_journal(self) -> Journal {
        self.journal
    }
}

fn encoded(key: &str, value: &impl Serialize) -> Result<Value, Stop> {
    serde_json::to_value(value).map_err(|error| Stop::NotKept { key: key.into(), reason: error.to_string() })
}

fn decoded<T: DeserializeOwned>(key: &str, value: &Value) -> Result<T, Stop> {
    T::deserialize(value).map_err(|error| Stop::NotKept { key: key.into(), reason: error.to_string() })
}

/// The first parts in which two values differ, with the way to them.
fn difference(recorded: &Value, now: &Value) -> (String, String) {
    let within = |name: String, recorded: Option<&Value>, now: Option<&Value>| match (recorded, now) {
        (Some(recorded), Some(now)) => {
            let (recorded, now) = difference(recorded, now);
            (format!("{name} {recorded}"), format!("{name} {now}"))
        }
        (recorded, now) => {
            let shown = |value: Option<&Value>| value.map_or("nothing".to_string(), Value::to_string);
            (format!("{name} {}", shown(recorded)), format!("{name} {}", shown(now)))
        }
    };
    match (recorded, now) {
        (Value::Object(old), Value::Object(new)) => {
            let mut names = old.keys().chain(new.keys());
            match names.find(|&name| old.get(name) != new.get(name)) {
                Some(name) => within(name.clone(), old.get(name), new.get(name)),
                None => (recorded.to_string(), now.to_string()),
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            match (0..old.len().max(new.len())).find(|&at| old.get(at) != new.get(at)) {
                Some(at) => within(at.to_string(), old.get(at), new.get(at)),
                None => (recorded.to_string(), now.to_string()),
            }
        }
        _ => (recorded.to_string(), now.to_string()),
    }
}
