//! Distinct differences counted; data sets built, kept and searched.

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::material::{Differences, Histogram};
use warpplay::shogi::quiescence::{MaterialValues, Options, rebuild};
use warpplay::{Backend, Device, Error, Result};

use crate::measure::{Bench, n_children};
use crate::output::{Table, number, percent};
use crate::published::COPY;

/// Times that the job's children are repeated, so that no cache holds them.
const REPEATED: u64 = 10;

pub fn histogram(bench: &mut Bench) -> anyhow::Result<()> {
    const HEADERS: [&str; 8] =
        ["what", "device", "children", "distinct", "upload ms", "count us", "children/s", "of 4.27 TB/s"];
    let mut table = Table::new("HISTOGRAM of resident differences", 2, &HEADERS);
    let job = bench.n_job_children();
    let mut rows = vec![(Device::cpu(), "all cores", job)];
    if let Some(device) = bench.kernels() {
        rows.extend([(device.clone(), "the job's", job), (device, "beyond caches", job * REPEATED)]);
    }
    for (device, what, children) in rows {
        bench.output.progress(&format!("histogram on {device}"));
        let measured = count(bench, &device, children).map(|counted| {
            let (children, distinct, upload, seconds) = counted;
            let rate = children as f64 / seconds;
            let on_cuda = device.backend() == Backend::Cuda;
            let cells = vec![
                number(children as f64),
                distinct.to_string(),
                number(upload * 1e3),
                number(seconds * 1e6),
                number(rate),
                if on_cuda { percent(rate * 8.0 / COPY) } else { "-".into() },
            ];
            let line = json!({
                "children": children, "distinct": distinct, "upload_s": upload, "count_s": seconds,
                "children_per_s": rate, "bytes_per_s": rate * 8.0, "of_copy": rate * 8.0 / COPY,
            });
            (cells, line)
        });
        let device = device.to_string();
        bench.row(&mut table, "histogram", &[("what", what), ("device", &device)], measured)?;
    }
    table.note(
        "the device's counting by events, the kernel alone; the table of distinct differences is then read and sorted"
            .into(),
    );
    table.print(&mut bench.output)
}

/// Children, distinct differences, seconds of the upload and of the counting.
fn count(bench: &Bench, device: &Device, children: u64) -> Result<(u64, usize, f64, f64)> {
    let shards = bench.shards_of(children);
    let children = n_children(&shards);
    let expected = Histogram::from_shards(&shards);
    if device.backend() == Backend::Cpu {
        let seconds = bench.clock(false, || {
            std::hint::black_box(Histogram::from_shards(&shards));
            Ok(())
        })?;
        return Ok((children, expected.rows().len(), 0.0, seconds));
    }
    let start = Instant::now();
    let mut differences = Differences::upload(device, &shards)?;
    let upload = start.elapsed().as_secs_f64();
    let mut counted = differences.histogram()?;
    let mut times = Vec::new();
    bench.clock(true, || {
        counted = differences.histogram()?;
        times.push(differences.counting().as_secs_f64());
        Ok(())
    })?;
    if counted != expected {
        return Err(Error::shape("distinct differences on the device", expected.rows().len(), counted.rows().len()));
    }
    times.sort_by(f64::total_cmp);
    Ok((children, expected.rows().len(), upload, times.get(times.len() / 2).copied().unwrap_or(f64::NAN)))
}

/// What is done with the data set.
#[derive(Clone, Copy)]
enum Work {
    Build,
    Save,
    Open,
    Quiet,
}

pub fn dataset(bench: &mut Bench) -> anyhow::Result<()> {
    const HEADERS: [&str; 7] = ["what", "threads", "children", "ms", "parents/s", "children/s", "children/s a thread"];
    let mut table = Table::new("DATA SET", 1, &HEADERS);
    let all = rayon::current_num_threads();
    let folder = tempfile::tempdir()?;
    let mut rows = vec![("built from records", Work::Build, 1), ("built from records", Work::Build, all)];
    rows.extend([("saved", Work::Save, 1), ("opened and checked", Work::Open, 1)]);
    rows.extend([("quiet leaves, 6 half-moves", Work::Quiet, 1), ("quiet leaves, 6 half-moves", Work::Quiet, all)]);
    for (what, work, threads) in rows {
        bench.output.progress(what);
        let measured = make(bench, work, threads, folder.path()).map(|(parents, children, seconds)| {
            let (parents, children) = (parents as f64, children as f64);
            let each = children / seconds / threads as f64;
            let cells = vec![
                number(children),
                number(seconds * 1e3),
                number(parents / seconds),
                number(children / seconds),
                number(each),
            ];
            let line = json!({
                "seconds": seconds, "parents": parents, "children": children, "parents_per_s": parents / seconds,
                "children_per_s": children / seconds, "children_per_s_per_thread": each,
            });
            (cells, line)
        });
        bench.row(&mut table, "dataset", &[("what", what), ("threads", &threads.to_string())], measured)?;
    }
    table.print(&mut bench.output)
}

/// Parents, children, seconds.
fn make(bench: &Bench, work: Work, threads: usize, folder: &Path) -> Result<(u64, u64, f64)> {
    let whole = &bench.whole;
    let counts = (whole.n_parents(), whole.n_children());
    let seconds = match work {
        Work::Build => bench.clock(true, || {
            std::hint::black_box(Dataset::builder().threads(threads).build(&bench.records)?);
            Ok(())
        })?,
        Work::Save => bench.clock(false, || {
            // Shards that are there already would be compared, not written.
            std::fs::remove_dir_all(folder).map_err(|error| {
                let reason = format!("cannot be removed: {error}");
                Error::File { path: folder.to_path_buf(), line: None, reason }
            })?;
            whole.save(folder)
        })?,
        Work::Open => bench.clock(true, || {
            std::hint::black_box(Dataset::open(folder)?);
            Ok(())
        })?,
        Work::Quiet => {
            // Some thousand parents are enough to tell the rate.
            let shards = bench.shards_of(300_000.min(bench.n_job_children()));
            let values = MaterialValues::new(&[1.0, 3.0, 3.5, 5.0, 5.5, 8.0, 10.0, 4.0, 4.5, 5.0, 5.5, 11.0, 12.0])?;
            let options = Options { depth: 6, threads: Some(threads), ..Options::default() };
            let seconds = bench.clock(false, || {
                for shard in &shards {
                    std::hint::black_box(rebuild(shard, &values, &options)?);
                }
                Ok(())
            })?;
            let parents = shards.iter().map(|shard| shard.n_parents() as u64).sum();
            return Ok((parents, n_children(&shards), seconds));
        }
    };
    Ok((counts.0, counts.1, seconds))
}
