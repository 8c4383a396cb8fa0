//! A run: what it measures on, what it has measured, who watches it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::thread::available_parallelism;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpplay::{Backend, Device, Error};
use warpplay_gpu::simt::watch::asking;

use super::Sheet;
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
    /// The file that is replayed is of another run.
    #[error("was measured with {difference}")]
    OtherRun {
        /// The first thing in which they differ, with both values.
        difference: String,
    },
    /// A replay needs a measurement that the file does not hold.
    #[error("{key}: not in the file that is replayed")]
    NotRecorded {
        /// The measurement.
        key: String,
    },
    /// A replay left out what the file holds of its items, as one on another device may.
    #[error(
        "{key}: in the file that is replayed, and not measured by this replay ({n} such measurements); does it run on the same kind of device?"
    )]
    NotReached {
        /// The first such measurement.
        key: String,
        /// How many there are.
        n: usize,
    },
    /// A measurement that was kept cannot be read as what it is now.
    #[error("{key}: cannot be read: {reason}")]
    NotRead {
        /// The measurement.
        key: String,
        /// Why.
        reason: String,
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

/// What a replay came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// Measurements that were repeated and found the same.
    pub repeated: u64,
    /// Measurements of times alone, which were taken from the file.
    pub taken: u64,
    /// Items whose tables, figures and notes were held to the file's: none where the file is a journal, or of another build or machine.
    #[serde(default)]
    pub items: u64,
}

/// What a run repeats, and how far it is.
struct Replay {
    recorded: Journal,
    /// Keys that were asked for.
    reached: BTreeSet<String>,
    replayed: Replayed,
    /// Whether tables too must be the same: they tell build and machine.
    same_origin: bool,
}

/// Measures; the watcher is asked in the middle of launches too where these run thread by thread on the CPU, since one may take minutes there.
///
/// # Errors
/// [`Stop::Interrupted`] if the watcher wanted an end in the middle of a launch, whatever the measurement made of that; else its own.
fn heard<R>(
    device: &Device,
    step: Step<'_>,
    watch: Watch<'_>,
    measure: impl FnOnce(Watch<'_>) -> Result<R, Stop>,
) -> Result<R, Stop> {
    if device.backend() != Backend::Simt {
        return measure(watch);
    }
    // Asked by the measurement, and by its launches.
    let watch = Mutex::new(watch);
    let ask = |step: &Step<'_>| match watch.lock() {
        Ok(mut watch) => watch(step),
        Err(_) => ControlFlow::Break(()),
    };
    let mut stopped = false;
    let mut goes_on = || {
        stopped = ask(&step).is_break();
        !stopped
    };
    let measured = asking(&mut goes_on, || measure(&mut |step| ask(step)));
    if stopped { Err(Stop::Interrupted) } else { measured }
}

/// A run of a publication's items.
pub struct Run<'a> {
    device: Device,
    quick: bool,
    journal: Journal,
    replay: Option<Replay>,
    /// Name of the item that is measured.
    item: String,
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
        Self { device, quick, journal, replay: None, item: String::new(), watch, done: 0, expected: 0 }
    }

    /// Makes it a replay: everything but times is measured again and held against `recorded`. All times are those of `recorded`, so that what is decided by them is decided as before.
    ///
    /// # Errors
    /// [`Stop::OtherRun`] if `recorded` is of another publication, version, size or set of options: both values are named. Another build or device may repeat a run.
    pub fn replay(mut self, recorded: Journal, header: &Header) -> Result<Self, Stop> {
        if let Some(difference) = recorded.header().and_then(|found| header.difference(found, false)) {
            return Err(Stop::OtherRun { difference });
        }
        let same_origin = recorded.header().is_some_and(|found| header.difference(found, true).is_none());
        self.replay = Some(Replay { recorded, reached: BTreeSet::new(), replayed: Replayed::default(), same_origin });
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

    /// Threads of the processor; in a replay those of the recorded run, so that the same is measured.
    pub fn cpu_threads(&self) -> usize {
        let recorded = self.replay.as_ref().and_then(|replay| replay.recorded.header());
        recorded.map_or_else(|| available_parallelism().map_or(1, usize::from), |header| header.cpu_threads)
    }

    /// So many more measurements are to come.
    pub fn expect(&mut self, n: u64) {
        self.expected += n;
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

    /// A measurement whose result differs a little from run to run, as sums by atomic additions do. A replay measures it again, and `same`, given what is recorded and what is found
    /// now, decides. What is recorded is returned.
    ///
    /// # Errors
    /// As [`both`](Self::both).
    pub fn near<T: Serialize + DeserializeOwned>(
        &mut self,
        key: &str,
        measure: impl FnOnce(&mut Measurement<'_, T>) -> Result<T, Stop>,
        same: impl FnOnce(&T, &T) -> bool,
    ) -> Result<T, Stop> {
        let record = self.kept::<T>(
            key,
            |record| &record.near,
            |now| Ok(Record { near: encoded(key, &measure(now)?)?, ..Record::default() }),
            |recorded, now| {
                let is_same = same(&decoded(key, &recorded.near)?, &decoded(key, &now.near)?);
                if is_same { Ok(()) } else { Err(differs(key, &recorded.near, &now.near)) }
            },
        )?;
        decoded(key, &record.near)
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
        if self.journal.get(key).is_none()
            && let Some(record) = self.recorded(key)?
        {
            self.keep(key, record)?;
            if let Some(replay) = &mut self.replay {
                replay.replayed.taken += 1;
            }
        }
        let record = self.kept::<()>(
            key,
            |record| &record.exact,
            |now| Ok(Record { timed: encoded(key, &measure(now)?)?, ..Record::default() }),
            |_, _| Ok(()),
        )?;
        decoded(key, &record.timed)
    }

    /// One measurement with results that are the same whenever it is made, and times. It is taken from the journal if it is there; else it is made and kept. A replay measures it again and
    /// returns what is recorded, the times too.
    ///
    /// # Errors
    /// [`Stop::Interrupted`] if the watcher wants an end; what `measure` says; [`Stop::Differs`] and [`Stop::NotRecorded`] in a replay; [`Stop::NotKept`] for a value that is not finite;
    /// [`Stop::NotRead`] if the file holds something else under this key; [`Error::File`] if the journal cannot be written.
    pub fn both<E, T>(
        &mut self,
        key: &str,
        measure: impl FnOnce(&mut Measurement<'_, E>) -> Result<(E, T), Stop>,
    ) -> Result<(E, T), Stop>
    where
        E: Serialize + DeserializeOwned,
        T: Serialize + DeserializeOwned,
    {
        let record = self.kept::<E>(
            key,
            |record| &record.exact,
            |now| {
                let (exact, timed) = measure(now)?;
                Ok(Record { exact: encoded(key, &exact)?, timed: encoded(key, &timed)?, ..Record::default() })
            },
            |recorded, now| {
                if recorded.exact == now.exact { Ok(()) } else { Err(differs(key, &recorded.exact, &now.exact)) }
            },
        )?;
        Ok((decoded(key, &record.exact)?, decoded(key, &record.timed)?))
    }

    /// A measurement's record: from the journal if it is there; else it is measured, in a replay compared by `same` with what is recorded, and kept. `before` is the part of what is recorded
    /// that `measure` is given.
    fn kept<B: DeserializeOwned>(
        &mut self,
        key: &str,
        before: fn(&Record) -> &Value,
        measure: impl FnOnce(&mut Measurement<'_, B>) -> Result<Record, Stop>,
        same: impl FnOnce(&Record, &Record) -> Result<(), Stop>,
    ) -> Result<Record, Stop> {
        let expected = self.expected.max(self.done + 1);
        let step = Step { key, done: self.done, expected };
        let wants_end = (self.watch)(&step).is_break();
        self.done += 1;
        self.expected = expected;
        if let Some(replay) = &mut self.replay {
            replay.reached.insert(key.to_string());
        }
        if let Some(record) = self.journal.get(key) {
            return Ok(record.clone());
        }
        if wants_end {
            return Err(Stop::Interrupted);
        }
        let recorded = self.recorded(key)?;
        let earlier: Option<B> = recorded.as_ref().map(|record| decoded(key, before(record))).transpose()?;
        let measured = heard(&self.device, step, &mut *self.watch, |watch| {
            measure(&mut Measurement { device: &self.device, quick: self.quick, before: earlier.as_ref(), step, watch })
        })?;
        let Some(recorded) = recorded else { return self.keep(key, measured) };
        same(&recorded, &measured)?;
        if let Some(replay) = &mut self.replay {
            replay.replayed.repeated += 1;
        }
        self.keep(key, recorded)
    }

    /// In a replay, what the file holds of a measurement.
    fn recorded(&self, key: &str) -> Result<Option<Record>, Stop> {
        let Some(replay) = &self.replay else { return Ok(None) };
        let record = replay.recorded.get(key).ok_or_else(|| Stop::NotRecorded { key: key.into() })?;
        Ok(Some(record.clone()))
    }

    /// Puts a record into the journal; it is of the item that is measured unless it says another.
    fn keep(&mut self, key: &str, mut record: Record) -> Result<Record, Stop> {
        if record.item.is_empty() {
            record.item.clone_from(&self.item);
        }
        self.journal.insert(key, record.clone())?;
        Ok(record)
    }

    /// What is measured from now on is of this item.
    pub(super) fn begin(&mut self, item: &str) {
        self.item = item.to_string();
    }

    /// What a replay has repeated so far; nothing of another run.
    pub fn replayed(&self) -> Option<Replayed> {
        self.replay.as_ref().map(|replay| replay.replayed)
    }

    /// In a replay, holds that every recorded measurement was asked for whose item is among those asked for.
    ///
    /// # Errors
    /// [`Stop::NotReached`] names the first that was not.
    pub(super) fn expect_reached(&self, is_asked_for: impl Fn(&str) -> bool) -> Result<(), Stop> {
        let Some(replay) = &self.replay else { return Ok(()) };
        let records = replay.recorded.records().iter();
        let mut left = records.filter(|(key, record)| is_asked_for(&record.item) && !replay.reached.contains(*key));
        match left.next() {
            Some((key, _)) => Err(Stop::NotReached { key: key.clone(), n: 1 + left.count() }),
            None => Ok(()),
        }
    }

    /// In a replay of a file with tables, holds an item's tables, figures and notes to the recorded ones.
    ///
    /// # Errors
    /// [`Stop::Differs`] names the first part that differs.
    pub(super) fn expect_same(&mut self, sheet: &Sheet) -> Result<(), Stop> {
        let Some(replay) = self.replay.as_mut().filter(|replay| replay.same_origin) else { return Ok(()) };
        let Some(recorded) = replay.recorded.sheet(&sheet.item) else { return Ok(()) };
        // Numbers as they are read again: the file's were read once.
        let now = serde_json::to_string(sheet).and_then(|text| serde_json::from_str::<Value>(&text));
        let now = now.map_err(|error| Stop::NotKept { key: sheet.item.clone(), reason: error.to_string() })?;
        if now != *recorded {
            return Err(differs(&format!("item {}", sheet.item), recorded, &now));
        }
        replay.replayed.items += 1;
        Ok(())
    }

    /// The measurements, when all is done.
    pub(super) fn into_journal(self) -> Journal {
        self.journal
    }
}

/// A value as it is kept. What cannot be read again would spoil the journal, and a run that goes on must see the same values.
fn encoded<T: Serialize + DeserializeOwned>(key: &str, value: &T) -> Result<Value, Stop> {
    let not_kept = |reason: String| Stop::NotKept { key: key.into(), reason };
    let written = |value: &T| serde_json::to_value(value).map_err(|error| not_kept(error.to_string()));
    let kept = written(value)?;
    let read = T::deserialize(&kept).map_err(|error| {
        let text = error.to_string();
        // JSON has neither NaN nor infinities: serde_json writes null for them, and null is then read as no number.
        not_kept(match text.starts_with("invalid type: null") {
            true => "it holds a value that is not finite (NaN or infinite)".into(),
            false => text,
        })
    })?;
    if written(&read)? != kept {
        return Err(not_kept("it is another value when it is read".into()));
    }
    Ok(kept)
}

fn decoded<T: DeserializeOwned>(key: &str, value: &Value) -> Result<T, Stop> {
    T::deserialize(value).map_err(|error| Stop::NotRead { key: key.into(), reason: error.to_string() })
}

fn differs(key: &str, recorded: &Value, now: &Value) -> Stop {
    let (recorded, now) = difference(recorded, now);
    Stop::Differs { key: key.into(), recorded, now }
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
