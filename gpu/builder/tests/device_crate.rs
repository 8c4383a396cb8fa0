//! Building a device crate: what comes out, when it is built again, what ptxas says, and errors.

mod common;

use std::time::SystemTime;

use warpplay_gpu_builder::{Built, assemble, parse_entries};

fn text(built: &Built) -> String {
    std::fs::read_to_string(&built.images[0].path).unwrap()
}

fn time(built: &Built) -> SystemTime {
    std::fs::metadata(&built.images[0].path).unwrap().modified().unwrap()
}

#[test]
fn every_architecture_is_accepted_by_ptxas() {
    if !common::have_compiler_and_ptxas() {
        return;
    }
    let krate = common::fixture("kernels", "architectures");
    let built = common::builder(&krate, "test_architectures")
        .arch("sm_90a")
        .arch("sm_90")
        .arch_with_features("sm_80", ["+ptx78"])
        .arch("sm_75")
        .build()
        .unwrap();
    let archs: Vec<_> = built.images.iter().map(|image| image.arch.as_str()).collect();
    assert_eq!(archs, ["sm_75", "sm_80", "sm_90", "sm_90a"], "oldest first");
    for (image, version) in built.images.iter().zip(["6.3", "7.8", "7.8", "8.0"]) {
        let ptx = std::fs::read_to_string(&image.path).unwrap();
        assert!(ptx.contains(&format!(".version {version}\n.target {}", image.arch)), "{ptx}");
        // The bounds, as the assembler reads them.
        assert_eq!(ptx.matches("\n)\n.maxntid 128, 1, 1\n.minnctapersm 2\n{").count(), 1, "{ptx}");

        let kernels = assemble(&image.path, &image.arch).unwrap();
        let entries = parse_entries(&ptx).unwrap();
        let names = |name: &str| entries.iter().position(|entry| entry.name == name).unwrap();
        let (scale, table) = (names("scale"), names("table"));
        assert_eq!(entries[scale].params, [(16, 8), (4, 4), (1, 1)]);
        assert_eq!(entries[table].params, [(8, 8)]);
        assert_eq!(kernels[scale].name, "scale");
        assert_eq!((kernels[scale].shared_bytes, kernels[scale].local_bytes), (1024, 0));
        assert_eq!(kernels[table].name, "table");
        assert_eq!((kernels[table].shared_bytes, kernels[table].local_bytes), (0, 64));
        for kernel in kernels {
            assert!((4..=64).contains(&kernel.registers), "{kernel:?}");
            assert_eq!((kernel.spill_stores, kernel.spill_loads), (0, 0), "{kernel:?}");
        }
    }
}

#[test]
fn ptxas_says_what_it_refuses() {
    if !common::have_compiler_and_ptxas() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.ptx");
    std::fs::write(&path, ".version 6.3\n.target sm_75\n.address_size 64\n.entry x() { wrong; }\n").unwrap();
    let text = assemble(&path, "sm_75").unwrap_err().to_string();
    assert!(text.contains("wrong.ptx for sm_75"), "{text}");
    assert!(text.contains("line 4"), "{text}");
}

#[test]
fn only_what_changed_is_built_again() {
    if !common::have_compiler() {
        return;
    }
    let krate = common::fixture("kernels", "rebuild");
    let source = krate.join("src/lib.rs");
    let original = std::fs::read_to_string(&source).unwrap();
    // A name of its own: below, files of this package alone are removed.
    let manifest = krate.join("Cargo.toml");
    let text_of_manifest = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text_of_manifest.replace("fixture-kernels", "fixture-rebuild")).unwrap();
    let builder = common::builder(&krate, "test_rebuild");

    let first = builder.build().unwrap();
    assert!(first.images[0].compiled, "a fresh copy is compiled");
    let first_time = time(&first);
    let second = builder.build().unwrap();
    assert!(!second.images[0].compiled, "nothing changed");
    assert_eq!(first_time, time(&second));
    assert!(second.sources.contains(&krate.join("src").canonicalize().unwrap()), "{:?}", second.sources);

    std::fs::write(&source, original.replace("factor + ", "factor * ")).unwrap();
    let changed = builder.build().unwrap();
    assert!(changed.images[0].compiled, "a source changed");
    assert!(first_time < time(&changed));

    // Other features under the same name: each result is its own, and both are remembered.
    let one_kernel = builder.clone().default_features(false);
    assert!(!text(&one_kernel.build().unwrap()).contains(".entry table("));
    let again = builder.build().unwrap();
    assert!(!again.images[0].compiled);
    assert!(text(&again).contains(".entry table("));

    // Cargo does not know the assembly file; the builder notices that it is gone.
    for entry in std::fs::read_dir(common::target_dir().join("build")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("fixture-rebuild-sm_75-") && name.ends_with(".s") {
            std::fs::remove_file(&path).unwrap();
        }
    }
    let restored = builder.build().unwrap();
    assert!(restored.images[0].compiled);
    assert!(text(&restored).contains(".entry table("));
}

#[test]
fn a_crate_that_does_not_compile_shows_the_compilers_message() {
    if !common::have_compiler() {
        return;
    }
    let krate = common::fixture("kernels", "broken");
    let error = common::builder(&krate, "test_broken").features(["broken"]).build().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("device crate `fixture-kernels` does not compile for sm_75 with rustc "), "{text}");
    assert!(text.contains("error[E0308]: mismatched types"), "{text}");
    assert!(text.contains("src/lib.rs:"), "{text}");
    assert!(text.ends_with("for nvptx64-nvidia-cuda"), "{text}");
    assert_eq!(format!("{error:?}"), text, "a build script shows the same text");

    let text = common::builder(&krate, "test_broken").features(["absent"]).build().unwrap_err().to_string();
    assert!(text.contains("absent"), "{text}");
}
