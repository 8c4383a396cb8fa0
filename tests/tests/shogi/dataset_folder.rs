//! Folders of data sets: what is removed, what is left alone, and a shard that another program damages.

use std::fs;
use std::path::Path;

use warpplay::Device;
use warpplay::shogi::dataset::Dataset;
use warpplay::shogi::material::Material;
use warpplay::shogi::{FeatureSet, Loss, Sparse};
use warpplay_tests::folder::Folder;
use warpplay_tests::learning::dataset;

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
    assert!(error.contains("is not the name of a shard"), "{error}");
    dataset(2..4, 40..80, 1, 1000).save(&set).unwrap();
    assert!(elsewhere.exists());
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
