//! The items by the program: complete sheets with and without kernels, old names, runs that go on, replays.

use std::fs;

use serde_json::Value;
use warpplay::Backend;
use warpplay_papers::mnist_mlp::published::{self, Row};
use warpplay_tests::backends::for_each_device;
use warpplay_tests::programs::{self, Scratch, has};

use crate::slots::columns_are_those_of_the_page;

fn scratch() -> Scratch {
    Scratch::new(programs::warpplay(env!("CARGO_TARGET_TMPDIR")), "papers")
}

/// The sheets of a file of results, by item.
fn sheet<'a>(found: &'a Value, item: &str) -> &'a Value {
    let sheets = found["report"]["sheets"].as_array().expect("sheets");
    sheets.iter().find(|sheet| sheet["item"] == item).unwrap_or_else(|| panic!("no sheet {item}"))
}

/// All cells of the tables of a sheet, row by row.
fn rows(sheet: &Value) -> Vec<Vec<Value>> {
    let tables = sheet["tables"].as_array().expect("tables");
    tables
        .iter()
        .flat_map(|table| table["rows"].as_array().expect("rows"))
        .map(|row| row.as_array().expect("a row").clone())
        .collect()
}

/// Whether a row holds all of these numbers.
fn holds(rows: &[Vec<Value>], numbers: &[f64]) -> bool {
    let is =
        |cell: &Value, number: f64| cell.as_f64().is_some_and(|cell| (cell - number).abs() <= 1e-12 * number.abs());
    rows.iter().any(|row| numbers.iter().all(|&number| row.iter().any(|cell| is(cell, number))))
}

/// Every sheet is complete, and every published cell stands in the sheet of its item.
fn check(found: &Value) {
    has(found, &["schema", "kind", "program", "version", "report"]);
    assert_eq!((&found["kind"], &found["report"]["complete"]), (&"mnist_mlp".into(), &true.into()));
    for sheet in found["report"]["sheets"].as_array().expect("sheets") {
        for table in sheet["tables"].as_array().expect("tables") {
            let width = table["columns"].as_array().expect("columns").len();
            let rows = table["rows"].as_array().expect("rows");
            assert!(!rows.is_empty(), "{table}");
            assert!(rows.iter().all(|row| row.as_array().is_some_and(|row| row.len() == width)), "{table}");
        }
    }
    let of_rows = |item: &str, published: &[Row]| {
        let rows = rows(sheet(found, item));
        for Row { value, cpu_s, gpu_s, speed_up, accuracy } in published {
            assert!(holds(&rows, &[*value, *cpu_s, *gpu_s, *speed_up, *accuracy]), "{item}, {value}");
        }
    };
    of_rows("batch", &published::BATCHES);
    of_rows("threads1d", &published::THREADS_1D);
    of_rows("threads2d", &published::THREADS_2D);
    of_rows("hidden", &published::HIDDEN);
    of_rows("rates", &published::RATES);
    let evaluate = rows(sheet(found, "evaluate"));
    for row in published::EVALUATE {
        assert!(holds(&evaluate, &[f64::from(row.batch), row.train_s, row.accuracy, row.micros]), "{row:?}");
    }
    let main = rows(sheet(found, "main"));
    assert!(holds(&main, &[298.617_53, 29.861_753, 97.93]) && holds(&main, &[2.247_11, 93.86]));
    assert!(
        holds(&main, &[1.0, 0.2257, 0.8420]) && holds(&main, &[2.0, 0.4102]) && holds(&main, &[10.0, 0.0045, 0.2218])
    );
    let collapses = rows(sheet(found, "collapses"));
    for collapse in published::COLLAPSES {
        assert!(holds(&collapses, &[f64::from(collapse.batch), collapse.rate, collapse.accuracy]), "{collapse:?}");
    }
    // Where all units are dead on the training set, the input changes next to nothing: a test image may still make one active, but one class is nearly all of the answers.
    let all_dead = |dead: &str| dead.split_once(" of ").is_some_and(|(dead, all)| dead == all);
    let dead = collapses.iter().filter(|row| row.len() == 14 && row[9].as_str().is_some_and(all_dead));
    for row in dead {
        assert!(row[11].as_f64().is_some_and(|share| share >= 98.0), "{row:?}");
    }
    // W1 is 784 · 256 · 4 bytes; 200 KB are printed. What our program holds is what the sizes say.
    let memory = rows(sheet(found, "memory"));
    let weights = 4.0 * (784.0 * 256.0 + 256.0 * 10.0 + 266.0);
    assert!(holds(&memory, &[200e3, 802_816.0]) && holds(&memory, &[211e3, weights]));
    let ours = |name: &str| memory.iter().find(|row| row[0] == name).and_then(|row| row[4].as_f64()).expect("is there");
    assert_eq!((ours("weights and biases"), ours("gradients")), (weights, weights));
    assert_eq!(ours("input of a batch"), 4.0 * 64.0 * 784.0);
    // What precision changes where gradients are summed is in a note of each setting.
    let notes = sheet(found, "collapses")["notes"].as_array().expect("notes");
    for collapse in published::COLLAPSES {
        let setting = format!("summed, batch {}, rate {}, seed 1, on the CPU: f32: ", collapse.batch, collapse.rate);
        let note = notes.iter().filter_map(Value::as_str).find(|note| note.starts_with(&setting));
        assert!(note.is_some_and(|note| note.contains("; f64: ")), "{notes:?}");
    }
    let work = rows(sheet(found, "work"));
    // Forward and backward, as the published total: the most threads are those of the gradient of W1.
    assert!(holds(&work, &[26e6, 25.6e3, 784.0 * 256.0]));
    assert!(holds(&work, &[25.1e6, 25_690_112.0]) && holds(&work, &[327e3, 327_680.0, 25.6e3, 2560.0]));
    // Figure 1: two copies to the device and one back. Ours copies bytes, 785 a sample, in the 938 steps of an epoch of 60,000; read every 64 steps, losses come in 15 copies; an order is one copy.
    let copies = rows(sheet(found, "figure1"));
    let bytes = 60_000.0 * 785.0 / 938.0;
    assert!(holds(&copies, &[2.0, 200_256.0, 1.0, 4.0]) && holds(&copies, &[2.0, bytes, 1.0, 4.0]), "{copies:?}");
    assert!(holds(&copies, &[2.0, bytes, 15.0 / 938.0, 4.0]), "{copies:?}");
    assert!(holds(&copies, &[1.0 / 938.0, 240_000.0 / 938.0, 15.0 / 938.0, 4.0]), "{copies:?}");
    // Of the three rates as the text has them: the published accuracies beside ours.
    let notes = sheet(found, "rates")["notes"].as_array().expect("notes");
    let against = notes.iter().filter_map(Value::as_str).find(|note| note.starts_with("averaged as the text says"));
    let against = against.expect("is there");
    assert!(published::RATES.iter().all(|row| against.contains(&format!("{:.2} % published", row.accuracy))));
    let rates = rows(sheet(found, "rates"));
    let list = warpplay_papers::mnist_mlp::hypotheses::list();
    // Those of other epochs are trained where the run has no number of its own: a quick one has.
    for hypothesis in list.iter().filter(|one| one.epochs.is_none()) {
        assert!(rates.iter().any(|row| row[0] == hypothesis.name), "{}", hypothesis.name);
    }
}

#[test]
fn every_item_has_a_sheet_without_a_gpu() {
    let scratch = scratch();
    let data = "--drawn 600 --drawn-test 150 --quick --quiet";
    scratch.ok(&format!("mnist_mlp --device cpu {data} --json all.json --plots plots"));
    let found = scratch.json("all.json");
    check(&found);
    columns_are_those_of_the_page("mnist_mlp", &found["report"]["sheets"]);
    let left_out: Vec<&str> =
        sheet(&found, "kernels")["left_out"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(left_out, ["times of each launch of a step: needs kernels, and --device is cpu"]);
    for plot in ["main-losses", "batch-accuracy", "hidden-time", "rates-averaged", "evaluate", "collapses-dead"] {
        let svg = fs::read_to_string(scratch.path("plots").join(format!("{plot}.svg")))
            .unwrap_or_else(|error| panic!("{plot}: {error}"));
        assert!(svg.starts_with("<svg"), "{plot}");
    }
    // What was measured is held against the claims, and nothing is said where nothing was.
    let measured = |found: &Value| -> Vec<String> {
        let claims = sheet(found, "arithmetic")["tables"][1]["rows"].as_array().expect("rows").clone();
        claims.iter().filter_map(|row| row[3].as_str().map(str::to_string)).collect()
    };
    let said = measured(&found);
    assert!(said.iter().any(|text| text.starts_with("f64: ")), "{said:?}");
    scratch.ok(&format!("mnist_mlp --device cpu {data} --only arithmetic --json arithmetic.json"));
    let unsaid = measured(&scratch.json("arithmetic.json"));
    assert_eq!(unsaid.len(), 11, "{unsaid:?}");
    assert!(unsaid.iter().all(|text| text.starts_with("see item ")), "{unsaid:?}");
    // The same run again finds the same; another set is refused, as is an item that there is not.
    scratch.ok(&format!("mnist_mlp --device cpu {data} --replay all.json"));
    scratch.misused("mnist_mlp --device cpu --only nonsense");
    scratch.misused("mnist_mlp experiments --only nonsense");
}

#[test]
fn every_item_has_a_sheet_with_kernels() {
    for_each_device(|device| {
        let scratch = scratch();
        // Simulated, all items would take minutes, and those left out train with the same kernels.
        let (name, only) =
            if device.backend() == Backend::Cuda { ("cuda", "") } else { ("simt", "--only kernels,matmul,batch") };
        let data = "--drawn 600 --drawn-test 150 --quick --quiet --repeats 2";
        scratch.ok(&format!("mnist_mlp --device {name} {data} {only} --json all.json"));
        let found = scratch.json("all.json");
        if only.is_empty() {
            check(&found);
        }
        columns_are_those_of_the_page("mnist_mlp", &found["report"]["sheets"]);
        check_kernels(&found);
        Ok(())
    });
}

/// The columns and rows that only kernels fill.
fn check_kernels(found: &Value) {
    // A quick run has the smallest square in six forms; nobody waits for simulated ones.
    let matmul = sheet(found, "matmul");
    let (tables, left_out) = (matmul["tables"].as_array().expect("tables"), matmul["left_out"].as_array());
    match tables.get(2) {
        Some(squares) => assert_eq!(squares["rows"].as_array().map(Vec::len), Some(6), "{squares}"),
        None => assert_eq!(left_out.map(Vec::len), Some(1), "{matmul}"),
    }
    // Kernels ran: their columns are filled, and each launch of a step is named.
    let batch = &sheet(found, "batch")["tables"][0];
    let column =
        batch["columns"].as_array().expect("columns").iter().position(|column| column["name"] == "paper's kernels, s");
    let column = column.expect("is there");
    for row in batch["rows"].as_array().expect("rows") {
        assert!(row[column].as_f64().is_some_and(|seconds| seconds > 0.0), "{row}");
    }
    let launches: Vec<Vec<Value>> = rows(sheet(found, "kernels")).into_iter().filter(|row| row.len() == 15).collect();
    for (name, kernel) in published::DESCRIBED {
        assert_eq!(launches.iter().any(|row| row[1] == kernel), name != "matmul_tiled_kernel", "{kernel}");
    }
    // The published kernels and the CPU's averaged training classify alike but for a few images whose two best classes are nearly equal.
    let rows = batch["rows"].as_array().expect("rows");
    for row in rows {
        let (kernels, cpu) = (row[9].as_f64().expect("measured"), row[14].as_f64().expect("measured"));
        assert!((kernels - cpu).abs() <= 100.0 * 3.0 / 64.0, "{row}");
    }
}

#[test]
fn older_names_of_items_are_understood() {
    let scratch = scratch();
    let data = "--device cpu --drawn 300 --drawn-test 60 --quick --quiet";
    scratch.ok(&format!("mnist_mlp experiments {data} --only transfer,suspects,operations --json old.json"));
    let found = scratch.json("old.json");
    let sheets = found["report"]["sheets"].as_array().expect("sheets");
    let names: Vec<&str> = sheets.iter().filter_map(|sheet| sheet["item"].as_str()).collect();
    assert_eq!(names, ["kernels", "figure1", "gap"]);
    // A run that is kept goes on, and measures nothing twice.
    scratch.ok(&format!("mnist_mlp {data} --only gap --checkpoint kept.jsonl"));
    let kept = fs::read_to_string(scratch.path("kept.jsonl")).expect("kept");
    scratch.ok(&format!("mnist_mlp {data} --only gap --resume kept.jsonl"));
    assert_eq!(fs::read_to_string(scratch.path("kept.jsonl")).expect("kept"), kept);
    let list = scratch.ok("mnist_mlp --list");
    assert!(list.contains("rates") && list.contains("2.7, exp. 4"), "{list}");
}

#[test]
fn the_published_program_trains_by_itself() {
    let scratch = scratch();
    let sizes = "--device simt --drawn 20 --drawn-test 10 --hidden 4 --batch 10 --epochs 1";
    scratch.ok(&format!("mnist_mlp train {sizes} --column-sums atomic --json run.json"));
    let run = scratch.json("run.json");
    has(&run, &["schema", "epochs", "dead_units", "device", "seed", "seconds", "options", "program"]);
    assert_eq!(run["options"]["forms"]["column_sums"], "atomic");
    scratch.ok(&format!("mnist_mlp train {sizes} --published --tile 8 --read-every 1 --json run.json"));
    let forms = &scratch.json("run.json")["options"]["forms"];
    let found: Vec<&str> =
        ["matmul", "column_sums", "softmax", "loss", "divide"].iter().filter_map(|form| forms[form].as_str()).collect();
    assert_eq!(found, ["plain", "atomic_thread", "separate", "atomic", "update"]);
    assert_eq!(forms["tile"], 8);
    scratch.misused("mnist_mlp train --column-sums none");
}
