//! Games extracted by the plain rules: no code of the library has a part in it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use rayon::prelude::*;
use warpplay_cpu_ref::shogi::rules::{Move, Position, children};

/// Half-moves that are learnt from.
const WINDOW: std::ops::Range<usize> = 40..80;

/// Parents and children of some games, in columns.
#[derive(Default)]
pub struct Extracted {
    /// Games that were read.
    pub n_games: usize,
    /// Who moves in each parent.
    pub sides: Vec<u8>,
    /// First child of each parent, and the number of children.
    pub first_child: Vec<u32>,
    /// 96 bytes a child; of the first games only.
    pub positions: Vec<u8>,
    /// A word a child.
    pub differences: Vec<u64>,
}

/// Games above which positions of all children would take too much memory.
const MOST_WITH_POSITIONS: usize = 200;

/// The first games of a file of USI lines.
pub fn extract(path: &Path, n_games: usize) -> Extracted {
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).take(n_games).collect();
    let with_positions = lines.len() <= MOST_WITH_POSITIONS;
    let games: Vec<Extracted> = lines.par_iter().map(|line| game(line, with_positions)).collect();
    let mut all = Extracted { n_games: lines.len(), first_child: vec![0], ..Extracted::default() };
    for game in games {
        let before = all.differences.len() as u32;
        all.sides.extend(game.sides);
        all.first_child.extend(game.first_child.iter().map(|first| first + before));
        all.positions.extend(game.positions);
        all.differences.extend(game.differences);
    }
    all
}

/// One game; `first_child` without its first 0.
fn game(line: &str, with_positions: bool) -> Extracted {
    let mut game = Extracted::default();
    let mut position = Position::start();
    for (ply, text) in line.split(' ').skip(3).enumerate() {
        let mv = Move::from_usi(text).unwrap();
        if WINDOW.contains(&ply) {
            let children = children(&position, mv).unwrap_or_else(|| panic!("{text} is not legal"));
            game.sides.push(position.side as u8);
            if with_positions {
                game.positions.extend(children.positions.iter().flat_map(|child| child.bytes()));
            }
            game.differences.extend(children.differences);
            game.first_child.push(game.differences.len() as u32);
            position.clone_from(&children.positions[0]);
        } else if ply < WINDOW.end {
            position = position.after(mv);
        } else {
            break;
        }
    }
    game
}
