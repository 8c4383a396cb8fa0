//! Figs. 5 and 7, and the sample games themselves: values, bounds and depths along a game.

use warpplay::mcts::contest::{GameResult, Played, PlayerOptions, Side};
use warpplay::mcts::{Connect4, Game, Gomoku, Variant};

use super::matches::play_match;
use super::options::{Options, Purpose, counted, shrunk};
use super::published::{FIGURE_7_ENLARGED, GameId};
use crate::experiment::{Axis, Cell, Chart, Figure, Item, Line, Run, Sheet, Stop, Table, statistics};

/// The players of the sample game: all children played prodigally, T = 4, m = 256, against the vanilla player in Connect 4, against the thrifty form in Gomoku.
///
/// The paper names less: in Fig. 5 one player is the vanilla one (section 4.1, "from this experiment"), in Fig. 7 one is that of Fig. 6 (section 4.2). The other of each is
/// our choice.
fn players(options: &Options, game: GameId, quick: bool) -> [PlayerOptions; 2] {
    let [n_trees, n_playouts] = shrunk([4, 256], quick);
    match game {
        GameId::Connect4 => {
            let size = options.size(Purpose::Grid, quick);
            [options.player(Variant::AcpProdigal, n_trees, n_playouts, size.limits), options.vanilla(size.vanilla)]
        }
        GameId::Gomoku => {
            let limits = options.size(Purpose::Gomoku, quick).limits;
            [Variant::AcpProdigal, Variant::AcpThrifty]
                .map(|variant| options.player(variant, n_trees, n_playouts, limits))
        }
    }
}

fn name(player: &PlayerOptions) -> String {
    match player {
        PlayerOptions::Search(search) => {
            format!("{}, T = {}, m = {}", search.variant, search.n_trees, search.n_playouts)
        }
        PlayerOptions::Vanilla(_) => "vanilla".into(),
    }
}

fn play(run: &mut Run<'_>, options: &Options, game: GameId) -> Result<Played, Stop> {
    let players = players(options, game, run.quick());
    run.expect(1);
    let mut played = match game {
        GameId::Connect4 => play_match::<Connect4>(run, "sample of Connect 4", &players, 1, options.seed)?,
        GameId::Gomoku => play_match::<Gomoku>(run, "sample of Gomoku", &players, 1, options.seed)?,
    };
    played.pop().ok_or(Stop::Interrupted)
}

/// Fig. 5 (Connect 4) or Fig. 7 (Gomoku).
pub(super) fn figure(item: &Item, run: &mut Run<'_>, options: &Options, game: GameId) -> Result<Sheet, Stop> {
    let players = players(options, game, run.quick());
    let played = play(run, options, game)?;
    let enlarged = if game == GameId::Gomoku { FIGURE_7_ENLARGED } else { 1.0 };
    let of = |side: Side| (1u32..).zip(&played.record.moves).filter(move |(_, turn)| turn.side == side);
    let mut values = Vec::new();
    let mut depths = Vec::new();
    let mut table = Table::new("means over the moves of the game").column("player").digits("q", 4).digits("ucb - q", 6);
    table = table.digits("mean depth", 2).digits("max depth", 2).column("moves");
    for side in Side::BOTH {
        let player = name(&players[side.index()]);
        let rows: Vec<[f64; 4]> = of(side)
            .filter_map(|(ply, turn)| {
                let (q, ucb) = (f64::from(turn.q?), f64::from(turn.ucb?));
                Some([f64::from(ply), q, q + enlarged * (ucb - q), ucb - q])
            })
            .collect();
        values.push(Line {
            name: format!("{side}: {player}"),
            points: rows.iter().map(|row| [row[0], row[1]]).collect(),
            band: rows.iter().map(|row| [row[1], row[2]]).collect(),
            published: false,
        });
        let line = |name: &str, depth: &dyn Fn(&warpplay::mcts::contest::MoveRecord) -> f64| Line {
            name: format!("{side}: {name}"),
            points: of(side).map(|(ply, turn)| [f64::from(ply), depth(turn)]).collect(),
            ..Line::default()
        };
        depths.push(line("mean depth", &|turn| turn.mean_depth));
        depths.push(line("max depth", &|turn| f64::from(turn.max_depth)));
        let mean = |values: Vec<f64>| Cell::from((!values.is_empty()).then(|| statistics::mean(&values)));
        table.row([
            Cell::from(format!("{side}: {player}")),
            mean(rows.iter().map(|row| row[1]).collect()),
            mean(rows.iter().map(|row| row[3]).collect()),
            mean(of(side).map(|(_, turn)| turn.mean_depth).collect()),
            mean(of(side).map(|(_, turn)| f64::from(turn.max_depth)).collect()),
            of(side).count().into(),
        ]);
    }
    let chart = |file: String, title: String, y: &str, lines| Figure {
        file,
        title,
        x: Axis::linear("move"),
        y: Axis::linear(y),
        chart: Chart::Lines(lines),
    };
    let times = if enlarged > 1.0 { format!(", its distance enlarged {enlarged} times") } else { String::new() };
    let top = chart(
        item.name.into(),
        format!("{}: value of the move played, up to its upper confidence bound{times}", item.title),
        "value q",
        values,
    );
    let bottom = chart(format!("{}_depth", item.name), format!("{}: depth of the trees", item.title), "depth", depths);
    Ok(Sheet::new(item)
        .table(table)
        .figure(top)
        .figure(bottom)
        .note(format!(
            "{}; {}. The game itself is in the item games.",
            counted(played.record.moves.len() as u64, "move", "moves"),
            result(&played)
        ))
        .left_out("The published curves: a picture of one game, without its moves or numbers."))
}

fn result(played: &Played) -> &'static str {
    match played.record.result {
        GameResult::A => "A won",
        GameResult::B => "B won",
        GameResult::Draw => "a draw",
    }
}

/// The games as a table of moves, that of Gomoku in the form of SGF too.
pub(super) fn games(item: &Item, run: &mut Run<'_>, options: &Options) -> Result<Sheet, Stop> {
    let mut sheet = Sheet::new(item);
    for game in [GameId::Connect4, GameId::Gomoku] {
        let players = players(options, game, run.quick());
        let played = play(run, options, game)?;
        let title = match game {
            GameId::Connect4 => Connect4::NAME,
            GameId::Gomoku => Gomoku::NAME,
        };
        let mut table = Table::new(format!("{title}: A = {}, B = {}", name(&players[0]), name(&players[1])));
        for head in ["move", "player", "played"] {
            table = table.column(head);
        }
        table = table.digits("q", 5).digits("ucb", 5).column("n").column("playouts").column("steps");
        table = table.digits("mean depth", 2).column("max depth").digits("ms", 2);
        for ((ply, turn), seconds) in (1u32..).zip(&played.record.moves).zip(&played.seconds) {
            table.row([
                ply.into(),
                turn.side.to_string().into(),
                turn.name.clone().into(),
                turn.q.map(f64::from).into(),
                turn.ucb.map(f64::from).into(),
                turn.n.into(),
                turn.playouts.into(),
                turn.steps.into(),
                turn.mean_depth.into(),
                turn.max_depth.into(),
                (1e3 * seconds).into(),
            ]);
        }
        sheet = sheet.table(table).note(match game {
            // SGF has no number for this game.
            GameId::Connect4 => {
                let moves: String = played.record.moves.iter().map(|turn| turn.name.as_str()).collect();
                format!("{title}, for --moves of `warpplay mcts`: {moves}")
            }
            GameId::Gomoku => sgf(&players, &played),
        });
    }
    Ok(sheet)
}

/// A game of Gomoku in the form of SGF: a node a move, the value of the move for its player, steps and playouts in its comment. SGF names a point by two letters, of the column from
/// the left and of the row from the top; the names of this library count rows from below.
fn sgf(players: &[PlayerOptions; 2], played: &Played) -> String {
    let record = &played.record;
    let [black, white] = [record.first, record.first.other()].map(|side| name(&players[side.index()]));
    let result = match record.result {
        GameResult::Draw => "0",
        GameResult::A if record.first == Side::A => "B+",
        GameResult::B if record.first == Side::B => "B+",
        _ => "W+",
    };
    let (rows, columns) = Gomoku::BOARD;
    let mut text = format!("(;FF[4]GM[4]SZ[{rows}]PB[{black}]PW[{white}]RE[{result}]");
    for turn in &record.moves {
        let colour = if turn.side == record.first { 'B' } else { 'W' };
        let letter = |at: u32| char::from(b'a' + at as u8);
        let (column, row) = (letter(turn.action % columns), letter(rows - 1 - turn.action / columns));
        let value = turn.q.map_or(String::new(), |q| format!("{}: q {q:.5}, ", turn.name));
        text += &format!(";{colour}[{column}{row}]C[{value}steps {}, playouts {}]", turn.steps, turn.playouts);
    }
    text + ")"
}

#[cfg(test)]
mod tests {
    use warpplay::mcts::Notation;
    use warpplay::mcts::contest::{GameRecord, MoveRecord, VanillaOptions};

    use super::*;

    #[test]
    fn a_game_of_gomoku_is_sgf_that_programs_read() {
        let turn = |side, action, q| MoveRecord {
            side,
            action,
            name: Gomoku::action_name(action),
            steps: 2,
            playouts: 512,
            n: 0,
            wins: 0,
            draws: 0,
            q,
            ucb: None,
            mean_depth: 0.0,
            max_depth: 0,
            full_trees: 0,
        };
        // B moves first: j11 is column 10 from the left and row 5 from the top, a1 the lower left corner, o15 the upper right.
        let moves = vec![turn(Side::B, 159, Some(0.5)), turn(Side::A, 0, None), turn(Side::B, 224, None)];
        let record = GameRecord { first: Side::B, seeds: [0; 2], result: GameResult::B, moves };
        let vanilla =
            || PlayerOptions::Vanilla(VanillaOptions { steps: Some(1), seconds: None, ucb_c: 2.0, draw_value: 0.0 });
        let text = sgf(&[vanilla(), vanilla()], &Played { record, seconds: vec![0.0; 3] });
        assert_eq!(
            text,
            "(;FF[4]GM[4]SZ[15]PB[vanilla]PW[vanilla]RE[B+];B[je]C[j11: q 0.50000, steps 2, playouts 512]\
             ;W[ao]C[steps 2, playouts 512];B[oa]C[steps 2, playouts 512])"
        );
    }
}
