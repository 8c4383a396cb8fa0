//! Folders of data sets that several programs use, or that one damages while another reads.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use warpplay::Device;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::material::Material;
use warpplay::shogi::{FeatureSet, Loss, Sparse};
use warpplay_tests::folder::Folder;
use warpplay_tests::learning::{dataset, first_games};

/// The names of a folder's shards.
fn shards(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> =
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".wps")).collect();
    names.sort();
    names
}

#[test]
fn only_what_the_old_set_named_is_removed() {
    let folder = Folder::new();
    dataset(0..2, 40..80, 1, 20).save(folder.folder()).unwrap();
    let old = shards(folder.folder());
    assert!(old.len() > 1, "{old:?}");
    folder.write("shard-0123456789abcdef.wps", b"of somebody else");
    dataset(2..4, 40..80, 1, 20).save(folder.folder()).unwrap();
    let now = shards(folder.folder());
    assert!(now.contains(&"shard-0123456789abcdef.wps".to_string()), "{now:?}");
    assert!(old.iter().all(|name| !now.contains(name)), "{old:?} and then {now:?}");
    Dataset::open(folder.folder()).unwrap();
}

/// A name in `dataset.json` that leads elsewhere is neither read nor removed.
#[test]
fn names_that_lead_elsewhere_are_left_alone() {
    let folder = Folder::new();
    let set = folder.path("set");
    dataset(0..2, 40..80, 1, 1000).save(&set).unwrap();
    let name = shards(&set).remove(0);
    let elsewhere = folder.write("shard-elsewhere.wps", b"of somebody else");
    let manifest = set.join("dataset.json");
    let text = fs::read_to_string(&manifest).unwrap().replace(&name, "../shard-elsewhere.wps");
    fs::write(&manifest, text).unwrap();
    let error = Dataset::open(&set).unwrap_err().to_string();
    assert!(error.contains("is no name of a shard"), "{error}");
    dataset(2..4, 40..80, 1, 1000).save(&set).unwrap();
    assert!(elsewhere.exists());
}

#[test]
fn a_second_writer_is_refused_and_the_first_set_is_whole() {
    let folder = Folder::new();
    let records = first_games(20);
    let sets = [dataset(0..10, 40..80, 1, 20), dataset(10..20, 40..80, 1, 20)];
    for _ in 0..10 {
        let path = folder.folder();
        let ends = std::thread::scope(|scope| {
            let writers = [&sets[0], &sets[1]].map(|set| scope.spawn(|| set.save(path)));
            writers.map(|writer| writer.join().expect("no panic"))
        });
        assert!(ends.iter().any(Result::is_ok), "{ends:?}");
        for error in ends.into_iter().filter_map(Result::err) {
            let text = error.to_string();
            assert!(text.contains("is being written by another process: wait for its end"), "{text}");
        }
        let found = Dataset::open(folder.folder()).unwrap();
        assert!(sets.iter().any(|set| set.fingerprint() == found.fingerprint()));
    }
    // The lock is given back: the next one writes.
    Dataset::builder().write(&records, folder.folder()).unwrap();
}

#[test]
fn readers_find_a_whole_set_while_it_is_replaced() {
    let folder = Folder::new();
    let sets = [dataset(0..3, 40..80, 1, 7), dataset(3..6, 40..80, 1, 7)];
    sets[0].save(folder.folder()).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..60 {
                sets[round % 2].save(folder.folder()).unwrap();
            }
            ended.store(true, Ordering::Release);
        });
        while !ended.load(Ordering::Acquire) {
            let found = Dataset::open(folder.folder()).unwrap().fingerprint();
            assert!(sets.iter().any(|set| set.fingerprint() == found));
        }
    });
}

/// Reading what another program has cut off would end the process with a signal.
#[test]
fn a_shard_that_is_cut_short_while_it_is_used_is_an_error() {
    let folder = Folder::new();
    dataset(0..4, 40..80, 1, 1000).save(folder.folder()).unwrap();
    let set = Dataset::open(folder.folder()).unwrap();
    let device = Device::cpu();
    let mut sparse = Sparse::builder(FeatureSet::Material).build(&device).unwrap();
    sparse.pass(&set.views(), &Loss::default(), true).unwrap();
    let path = folder.path(&shards(folder.folder())[0]);
    let length = fs::metadata(&path).unwrap().len();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(64).unwrap();
    let cut = format!("has 64 bytes, and had {length} when it was opened: it was cut short");
    for error in [
        sparse.pass(&set.views(), &Loss::default(), true).unwrap_err().to_string(),
        Material::builder(&set).build(&device).unwrap_err().to_string(),
    ] {
        assert!(error.ends_with(&cut), "{error}");
    }
}
