//! The paper's tables as text.

use warpplay_papers::shogi_bonanza::published;
use warpplay_papers::shogi_bonanza::tables::{Tables, Time};

use crate::common::table::{grid, seconds, thousands};
use crate::shogi::table::of_values;

/// The tables as text.
pub fn text(tables: &Tables) -> String {
    let mut text = format!(
        "\nTable 2  ranks ({}) that share the changed values, the paper's program on one core each, measured once\n",
        tables.ranks_as
    );
    let ranks = tables.ranks.iter().map(|row| {
        vec![
            row.ranks.to_string(),
            seconds(row.seconds),
            thousands(row.rate as u64),
            format!("{:.2}", row.speed_up),
            format!("{:.2}", row.ideal),
            format!("{:.2}", row.ideal_of_whole),
            if row.ranks == published::MPI.0 { format!("{:.2}", published::MPI.1) } else { String::new() },
        ]
    });
    let head = ["ranks", "time", "positions/s", "speed-up", "(L+1)/(L/P+1)", "of whole values", "paper"];
    text += &grid(&head, &ranks.collect::<Vec<_>>());
    text += "\nTable 6  CPU and GPU, each engine measured once\n";
    let first = tables.times.first().map_or(f64::NAN, Time::rate);
    let mut rows: Vec<Vec<String>> = tables
        .times
        .iter()
        .map(|time| {
            let on = match time.threads {
                0 => time.device.clone(),
                1 => format!("{}, 1 core", time.device),
                n => format!("{}, {n} cores", time.device),
            };
            let whole = published::EVALUATIONS / time.rate();
            vec![
                time.engine.clone(),
                on,
                seconds(time.seconds),
                thousands(time.rate() as u64),
                format!("{:.2}", time.rate() / first),
                seconds(whole),
            ]
        })
        .collect();
    for (on, whole) in [("one core", published::CPU_SECONDS), (published::GPU, published::GPU_SECONDS)] {
        rows.push(vec![
            "the paper's".into(),
            on.into(),
            seconds(whole),
            thousands((published::EVALUATIONS / whole) as u64),
            format!("{:.2}", published::CPU_SECONDS / whole),
            seconds(whole),
        ]);
    }
    text += &grid(&["engine", "where", "time", "positions/s", "ratio", "6.3 M x 50 x 13"], &rows);
    text += "\nTable 7  values of this learning\n";
    let mut columns = vec![("learnt".to_string(), tables.values)];
    columns.extend(tables.values_with_quiescence.map(|values| ("with quiescence".to_string(), values)));
    text + &of_values(&columns)
}
