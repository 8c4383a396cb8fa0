//! The search of AlphaZero and the player that uses it.

use std::ops::ControlFlow;

use warpplay::azero::checkers::Checkers;
use warpplay::azero::player::{
    ActionVisits, Contestant, Decision, Estimator, Match, MatchOptions, MatchReport, Noise, Player, SearchOptions,
    SelfPlay, SelfPlayBuilder, Trees,
};
use warpplay::azero::{
    GameRecord, Network, NetworkShape, ObservationLayout, ValueOf, append_records, read_records, write_records,
};
use warpplay::mcts::{Game as _, Notation as _, Search};
use warpplay::{Device, Error, Progress};
use warpplay_cpu_ref::azero::search as reference;
use warpplay_cpu_ref::mcts::games::checkers::Checkers as PlainCheckers;
use warpplay_cpu_ref::mcts::{Game as _, GameResult, Stream};
use warpplay_tests::Checked;
use warpplay_tests::backends::{for_each_device, gpu};
use warpplay_tests::folder::Folder;

/// A position as kernels and as the reference have it.
#[derive(Clone, Debug)]
struct Both {
    kernels: Checkers,
    plain: PlainCheckers,
}

impl Both {
    fn start() -> Self {
        Self { kernels: Checkers::new(), plain: PlainCheckers::new() }
    }

    fn play(&mut self, action: usize) {
        self.kernels.apply(action as u32);
        self.plain.apply(action);
    }
}

/// Nobody looks.
fn on<R>(_: &Progress<R>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The records of `n` games from game `first` on.
fn records(builder: SelfPlayBuilder, device: &Device, first: u64, n: u64) -> Result<Vec<GameRecord>, Error> {
    let mut records = Vec::new();
    let report = builder.first(first).games(n).build(device)?.run(|progress| {
        records.extend(progress.latest.clone());
        ControlFlow::Continue(())
    })?;
    assert_eq!(report.played.games, n);
    Ok(records)
}

/// Every position of a random game, without its end.
fn random_game(seed: u64) -> Vec<Both> {
    let mut stream = Stream::from_state([seed + 1, 0x9E37_79B9_7F4A_7C15]);
    let mut both = Both::start();
    let mut positions = Vec::new();
    let mut legal = Vec::new();
    while both.plain.result().is_none() {
        positions.push(both.clone());
        both.plain.legal_actions(&mut legal);
        let action = legal[stream.below(legal.len() as u32) as usize];
        both.play(action);
    }
    positions
}

/// What the plain search finds, on its own rules.
fn plain_search(both: &Both, options: &SearchOptions, estimator: &Estimator, game: u64, ply: u32) -> Decision {
    let params = reference::Params {
        leaves: options.leaves as usize,
        c_puct: options.c_puct,
        noise: options.noise.map(|noise| reference::Noise { alpha: noise.alpha, epsilon: noise.epsilon }),
        max_nodes: options.max_nodes.map_or(1 + 24 * (options.simulations as usize + 1), |n| n as usize).max(49),
        max_path: 256,
    };
    let task = reference::Task {
        position: both.plain.clone(),
        key: reference::key(options.seed, game, u64::from(ply)),
        temperature: if ply < options.temperature_plies { options.temperature } else { 0.0 },
        simulations: options.simulations as usize,
    };
    let found = reference::search(params, vec![task], |leaves| match estimator {
        Estimator::Playouts(n) => Ok::<_, Error>(reference::playouts(leaves, *n)),
        _ => Ok(reference::uniform(leaves)),
    });
    let found = found.expect("nothing fails").remove(0);
    let actions = found.actions.iter().map(|action| ActionVisits {
        action: action.action as u32,
        name: Checkers::action_name(action.action as u32),
        visits: action.visits,
        prior: action.prior,
        value: action.value,
    });
    Decision {
        action: found.action as u32,
        name: Checkers::action_name(found.action as u32),
        value: found.value,
        actions: actions.collect(),
        n_nodes: found.n_nodes as u32,
    }
}

#[test]
fn kernels_and_the_plain_search_agree_bit_for_bit() {
    let noise = Some(Noise { alpha: 0.3, epsilon: 0.25 });
    let warm = SearchOptions { temperature_plies: 1000, ..SearchOptions::default() };
    let cases = [
        (SearchOptions { simulations: 33, leaves: 1, ..SearchOptions::default() }, Estimator::Uniform),
        (SearchOptions { simulations: 50, leaves: 4, noise, seed: 5, ..warm }, Estimator::Uniform),
        (
            SearchOptions { simulations: 45, leaves: 8, noise, seed: 1, ..SearchOptions::default() },
            Estimator::Playouts(3),
        ),
        (SearchOptions { simulations: 40, leaves: 16, temperature: 0.5, seed: 9, ..warm }, Estimator::Playouts(40)),
        // A tree that is full after a few expansions, and fewer simulations than leaves.
        (
            SearchOptions { simulations: 60, leaves: 3, max_nodes: Some(64), c_puct: 0.7, ..warm },
            Estimator::Playouts(2),
        ),
        (SearchOptions { simulations: 3, leaves: 7, noise, ..warm }, Estimator::Uniform),
    ];
    for_each_device(|device| {
        for (number, (options, estimator)) in cases.iter().enumerate() {
            let mut player = Player::builder(estimator).options(*options).build(device)?;
            let game = random_game(number as u64);
            for at in [0, game.len() / 3, game.len() * 2 / 3, game.len() - 1] {
                let (game_number, ply) = (number as u64, at as u32);
                let found = player.run_at(&game[at].kernels, game_number, ply, on)?;
                let expected = plain_search(&game[at], options, estimator, game_number, ply);
                assert_eq!(found, expected, "case {number}, ply {at}");
                let visits: u32 = found.actions.iter().map(|action| action.visits).sum();
                assert_eq!(visits, options.simulations);
            }
        }
        Ok(())
    });
}

/// Options that are quick under `simt`.
fn quick(seed: u64) -> SearchOptions {
    SearchOptions { simulations: 6, leaves: 3, seed, ..SearchOptions::self_play() }
}

/// Plays a record again by the plain rules.
pub(crate) fn check_record(record: &GameRecord) {
    let mut position = PlainCheckers::new();
    let mut legal = Vec::new();
    for (ply, &action) in record.actions.iter().enumerate() {
        assert_eq!(position.result(), None, "game {}, ply {ply}", record.game);
        assert_eq!(record.players[ply] as usize, position.to_move());
        assert_eq!(record.boards[ply], position.board_text());
        position.legal_actions(&mut legal);
        let visited: Vec<usize> = record.visits[ply].iter().map(|&[action, _]| action as usize).collect();
        assert_eq!(visited, legal, "game {}, ply {ply}", record.game);
        assert!(legal.contains(&(action as usize)));
        assert!((-1.0..=1.0).contains(&record.root_values[ply]));
        position.apply(action as usize);
    }
    let returns = match position.result().expect("games end") {
        GameResult::Draw => [0, 0],
        GameResult::Win(0) => [1, -1],
        GameResult::Win(_) => [-1, 1],
    };
    assert_eq!(record.returns, returns);
    assert_eq!(record.plies as usize, record.actions.len());
    record.replay().expect("the library agrees");
}

#[test]
fn self_play_keeps_the_rules_and_does_not_depend_on_the_games_beside() {
    for_each_device(|device| {
        let games = |parallel: u32, first, n, trees| {
            let options = SearchOptions { trees, ..quick(3) };
            records(SelfPlay::builder(Estimator::Uniform).search(options).parallel(parallel), device, first, n)
        };
        let together = games(3, 0, 3, Trees::Device)?;
        assert_eq!(together.len(), 3);
        for (number, record) in together.iter().enumerate() {
            assert_eq!((record.game, record.seed, record.network.as_str()), (number as u64, 3, "uniform"));
            check_record(record);
        }
        assert_eq!(games(1, 1, 1, Trees::Device)?, together[1..2], "alone, on trees of the device");
        assert_eq!(games(7, 0, 3, Trees::Host)?, together, "on trees of the host");
        Ok(())
    });
    // Many more where they are quick.
    let play = |parallel| {
        let builder = SelfPlay::builder(Estimator::Playouts(4)).search(quick(11)).parallel(parallel);
        records(builder, &Device::cpu(), 0, 40).expect("nothing fails")
    };
    let all = play(40);
    all.iter().for_each(check_record);
    assert_eq!(play(7), all);
    assert!(all.iter().any(|record| record.returns == [1, -1]));
    assert!(all.iter().any(|record| record.returns == [-1, 1]));
    assert!(all.windows(2).all(|pair| pair[0].actions != pair[1].actions));
}

/// Actions after which the player to move wins within `depth` further actions, whatever the other does.
fn winning_actions(position: &PlainCheckers, depth: u32) -> Vec<usize> {
    let me = position.to_move();
    let mut legal = Vec::new();
    position.legal_actions(&mut legal);
    legal.retain(|&action| {
        let mut next = position.clone();
        next.apply(action);
        wins(&next, me, depth)
    });
    legal
}

/// Whether the player to move wins within nine actions, the first being `action`.
fn wins_later(position: &PlainCheckers, action: usize) -> bool {
    let mut next = position.clone();
    next.apply(action);
    wins(&next, position.to_move(), 8)
}

fn wins(position: &PlainCheckers, me: usize, depth: u32) -> bool {
    if let Some(result) = position.result() {
        return result == GameResult::Win(me);
    }
    if depth == 0 {
        return false;
    }
    let mut legal = Vec::new();
    position.legal_actions(&mut legal);
    let after = |&action: &usize| {
        let mut next = position.clone();
        next.apply(action);
        wins(&next, me, depth - 1)
    };
    if position.to_move() == me { legal.iter().any(after) } else { legal.iter().all(after) }
}

/// Positions of random games in which some action, but not every one, wins within five actions.
fn forced_wins(n: usize) -> Vec<(Both, Vec<usize>)> {
    let mut found = Vec::new();
    for seed in 100.. {
        for both in random_game(seed).into_iter().rev().take(6) {
            let winning = winning_actions(&both.plain, 4);
            let mut legal = Vec::new();
            both.plain.legal_actions(&mut legal);
            if !winning.is_empty() && winning.len() < legal.len() {
                found.push((both, winning));
            }
        }
        if found.len() >= n {
            break;
        }
    }
    found
}

#[test]
fn with_playouts_it_agrees_with_the_tree_search_on_forced_wins() {
    let positions = forced_wins(24);
    let check = |device: &Device| -> Checked {
        let options = SearchOptions { simulations: 4000, leaves: 4, c_puct: 1.0, seed: 2, ..SearchOptions::default() };
        let mut player = Player::builder(Estimator::Playouts(16)).options(options).build(device)?;
        let builder = Search::<Checkers>::builder().n_trees(4).n_playouts(32).steps(400).no_seconds();
        let mut search = builder.profile_steps(0).build(device)?;
        let mut agreed = 0;
        for (both, winning) in &positions {
            // A longer win is as good.
            let wins = |action: u32| winning.contains(&(action as usize)) || wins_later(&both.plain, action as usize);
            if wins(search.run(&both.kernels, |_| ControlFlow::Continue(()))?.best.index) {
                let found = player.run(&both.kernels, on)?;
                assert!(wins(found.action), "{}: {winning:?} win, not {found:?}", both.kernels.to_text());
                agreed += 1;
            }
        }
        assert!(agreed * 10 >= positions.len() * 9, "{agreed} of {}", positions.len());
        Ok(())
    };
    let devices = [Device::cpu()].into_iter().chain(gpu());
    devices.for_each(|device| check(&device).unwrap_or_else(|error| panic!("on {device}: {error}")));
}

/// A small network for checkers.
fn small_network() -> Network {
    let shape = NetworkShape { width: 8, depth: 1, value_hidden: 8, ..NetworkShape::default() };
    Network::seeded(shape, 27).expect("an allowed shape")
}

#[test]
fn a_network_plays_whole_games() {
    let estimator = Estimator::network(small_network(), "small");
    let play = |parallel| {
        let options = SearchOptions { simulations: 12, leaves: 4, ..SearchOptions::self_play() };
        let builder = SelfPlay::builder(&estimator).search(options).parallel(parallel);
        records(builder, &Device::cpu(), 0, 6).expect("nothing fails")
    };
    let all = play(6);
    all.iter().for_each(check_record);
    assert!(all.iter().all(|record| record.network == "small"));
    assert!(all.iter().flat_map(|record| &record.root_values).any(|&value| value != 0.0));
    assert_eq!(play(2), all);
}

#[test]
fn trees_of_the_device_and_of_the_host_agree_with_a_network() {
    for_each_device(|device| {
        for (layout, value_of) in
            [(ObservationLayout::Default, ValueOf::First), (ObservationLayout::Egocentric, ValueOf::Mover)]
        {
            let estimator = Estimator::network(small_network().with_meaning(layout, value_of), "small");
            let search = |trees| -> Result<Vec<Decision>, Error> {
                let options = SearchOptions {
                    simulations: 14,
                    leaves: 4,
                    noise: Some(Noise::default()),
                    trees,
                    ..SearchOptions::default()
                };
                let mut player = Player::builder(&estimator).options(options).build(device)?;
                let game = random_game(77);
                let plies = [0, game.len() / 2 + 1, game.len() - 4];
                plies.map(|at| player.run_at(&game[at].kernels, 3, at as u32, on)).into_iter().collect()
            };
            assert_eq!(search(Trees::Device)?, search(Trees::Host)?, "{layout}, {value_of}");
        }
        Ok(())
    });
}

#[test]
fn matches_count_both_colours() {
    let device = Device::cpu();
    let strong = |seed| {
        let options = SearchOptions { simulations: 60, leaves: 4, seed, ..SearchOptions::default() };
        Contestant::Search(options, Estimator::Playouts(8))
    };
    let options = MatchOptions { games: 20, parallel: 20, ..MatchOptions::default() };
    let run =
        |contestants| Match::builder(contestants).options(options).build(&device).and_then(|mut games| games.run(on));
    let report = run([strong(1), Contestant::Random]).expect("nothing fails");
    assert_eq!(report.by_colour.map(|results| results.games()), [10, 10]);
    // Twenty games of players that are alike come to this with a chance of one in a thousand (Hoeffding).
    let chance = (1e3f64.ln() / (2.0 * 20.0)).sqrt();
    assert!(report.results().score() >= 0.5 + chance, "{report}");
    assert_eq!(report.names, ["playouts-8", "random"]);
    let turned = run([Contestant::Random, strong(1)]).expect("nothing fails");
    assert!(turned.results().score() <= 0.5 - chance, "{turned}");
    let builder = Search::<Checkers>::builder().n_trees(1).n_playouts(32).steps(20).no_seconds().profile_steps(0);
    let options = MatchOptions { games: 2, ..options };
    let contestants = [Contestant::Mcts(Box::new(builder)), Contestant::Random];
    let report = Match::builder(contestants).options(options).build(&device).and_then(|mut games| games.run(on));
    assert_eq!(report.expect("nothing fails").results().games(), 2);
}

/// Stops at question number `n`, from 1, and counts those that were asked without anything to tell.
fn stop_at<R>(n: u32, asked: &mut u32) -> impl FnMut(&Progress<R>) -> ControlFlow<()> {
    let mut questions = 0;
    move |progress: &Progress<R>| {
        questions += 1;
        *asked += u32::from(progress.latest.is_none());
        if questions < n { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn games_can_be_stopped_within_a_move_and_go_on_with_the_same_bits() {
    for_each_device(|device| {
        let mut asked = 0;
        let build = || SelfPlay::builder(Estimator::Uniform).search(quick(3)).parallel(2).games(2).build(device);
        let play = |games: &mut SelfPlay| -> Result<Vec<GameRecord>, Error> {
            let mut records = Vec::new();
            games.run(|progress| {
                records.extend(progress.latest.clone());
                ControlFlow::Continue(())
            })?;
            Ok(records)
        };
        let whole = play(&mut build()?)?;
        let mut stopped = build()?;
        assert_eq!(stopped.run(stop_at::<GameRecord>(3, &mut asked))?.played.games, 0);
        assert_eq!(asked, 3, "no game is over within the first moves");
        assert_eq!(play(&mut stopped)?, whole);

        let search = Contestant::Search(quick(3), Estimator::Uniform);
        let build = || Match::builder([search.clone(), Contestant::Random]).games(2).build(device);
        let whole = build()?.run(on)?;
        let mut stopped = build()?;
        assert_eq!(stopped.run(stop_at::<MatchReport>(1, &mut asked))?.results().games(), 0);
        assert_eq!(stopped.run(stop_at::<MatchReport>(20, &mut asked))?.results().games(), 0);
        assert!(asked > 4, "between moves and within them: {asked}");
        let report = stopped.run(on)?;
        assert_eq!((report.by_colour, report.plies), (whole.by_colour, whole.plies));

        let mut player = Player::builder(Estimator::Uniform).build(device)?;
        let error =
            player.run(&Checkers::new(), stop_at::<Decision>(1, &mut asked)).expect_err("no decision").to_string();
        assert_eq!(error, "search of a position: it was stopped before its end");
        Ok(())
    });
}

/// Games that a journal does not hold are played beside others than in the whole run: to the same bits.
#[test]
fn games_go_on_with_their_journal_on_every_device() {
    for_each_device(|device| {
        let folder = Folder::new();
        let path = folder.path("journal");
        let build = || SelfPlay::builder(Estimator::Uniform).search(quick(3)).parallel(2).games(3);
        let play = |builder: SelfPlayBuilder| -> Result<Vec<GameRecord>, Error> {
            let mut records = Vec::new();
            builder.build(device)?.run(|progress| {
                records.extend(progress.latest.clone());
                ControlFlow::Continue(())
            })?;
            Ok(records)
        };
        let whole = play(build().checkpoint(&path))?;
        assert_eq!(whole.iter().map(|record| record.game).collect::<Vec<_>>(), [0, 1, 2]);
        let text = folder.text("journal");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        // Also where a game is there and one before it is not.
        for kept in [&lines[..2], &[lines[0], lines[3]], &lines[..]] {
            folder.write("journal", kept.concat().as_bytes());
            assert_eq!(play(build().resume(&path))?, whole, "{} lines on {device}", kept.len());
        }
        let search = Contestant::Search(quick(3), Estimator::Uniform);
        let build = || Match::builder([search.clone(), Contestant::Random]).games(4).parallel(2);
        let path = folder.path("match");
        let whole = build().checkpoint(&path).build(device)?.run(on)?;
        let text = folder.text("match");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for kept in [&lines[..2], &[lines[0], lines[4]], &lines[..]] {
            folder.write("match", kept.concat().as_bytes());
            let report = build().resume(&path).build(device)?.run(on)?;
            assert_eq!((report.by_colour, report.plies), (whole.by_colour, whole.plies), "{} lines", kept.len());
        }
        Ok(())
    });
}

#[test]
fn what_takes_long_within_a_step_can_be_stopped_too() {
    let device = Device::cpu();
    let games = |contestant: Contestant, n: u32| {
        let options = MatchOptions { games: n, parallel: n, ..MatchOptions::default() };
        Match::builder([contestant, Contestant::Random]).options(options).build(&device).expect("a match")
    };
    let questions = |contestant: Contestant| {
        let mut n = 0;
        let watch = |progress: &Progress<MatchReport>| match progress.latest {
            None => {
                n += 1;
                ControlFlow::Continue(())
            }
            Some(_) => ControlFlow::Break(()),
        };
        games(contestant, 128).run(watch).expect("nothing fails");
        n
    };
    let options = SearchOptions { simulations: 1, leaves: 1, ..SearchOptions::default() };
    let shape = NetworkShape { width: 2, depth: 0, value_hidden: 2, ..NetworkShape::default() };
    let network = Network::seeded(shape, 27).expect("an allowed shape");
    // A step without a network is asked for once; a network evaluates its 64 positions in two parts.
    let steps = questions(Contestant::Search(options, Estimator::Uniform));
    assert!(steps > 0);
    assert_eq!(questions(Contestant::Search(options, Estimator::from(network))), 2 * steps);

    // The second question comes while the search runs.
    let builder = Search::<Checkers>::builder().n_trees(1).n_playouts(1).steps(1_000_000_000).no_seconds();
    let contestant = Contestant::Mcts(Box::new(builder.profile_steps(0)));
    let mut asked = 0;
    let report = games(contestant, 2).run(stop_at::<MatchReport>(2, &mut asked)).expect("nothing fails");
    assert_eq!((report.results().games(), asked), (0, 2));
}

#[test]
fn records_are_read_as_they_were_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games.jsonl");
    let builder = SelfPlay::builder(Estimator::Uniform).search(quick(1));
    let records = records(builder, &Device::cpu(), 0, 4).expect("nothing fails");
    write_records(&path, &records[..2]).expect("written");
    append_records(&path, &records[2..]).expect("added");
    assert_eq!(read_records(&path).expect("valid"), records);

    let text = std::fs::read_to_string(&path).expect("text");
    let broken = |change: &dyn Fn(&mut GameRecord)| {
        let mut changed = records.clone();
        change(&mut changed[2]);
        write_records(&path, &changed).expect("written");
        let error = read_records(&path).expect_err("broken").to_string();
        assert!(error.starts_with(&format!("{}, line 3: ", path.display())), "{error}");
        error
    };
    for (change, expected) in [
        (&(|game: &mut GameRecord| game.actions[7] = 511) as &dyn Fn(&mut GameRecord), "ply 7: action 511 is illegal"),
        (&|game| game.players[1] ^= 1, "ply 1: player"),
        (&|game| game.boards[3] = "o".repeat(64), "ply 3: board"),
        (&|game| game.visits[2].clear(), "ply 2: visits of actions"),
        (&|game| game.visits[4].iter_mut().for_each(|entry| entry[1] = 0), "ply 4: no action was visited"),
        (&|game| game.root_values[0] = 1.5, "ply 0: root value 1.5, expected -1 to 1"),
        (&|game| game.returns = [3, 3], "returns: [3, 3]"),
        (&|game| game.plies += 1, "plies: "),
        (&|game| game.boards.truncate(1), "boards: "),
    ] {
        let error = broken(change);
        assert!(error.contains(expected), "{error}");
    }
    std::fs::write(&path, &text[..text.len() - 5]).expect("cut");
    assert!(read_records(&path).expect_err("cut").to_string().contains("line 4: not a game record"));
    let error = append_records(&path, &records).expect_err("cut").to_string();
    assert!(error.contains("its last line is not complete"), "{error}");
    std::fs::write(&path, "").expect("empty");
    assert!(read_records(&path).expect_err("empty").to_string().contains("holds no games"));
}

#[test]
fn wrong_options_are_named() {
    let device = Device::cpu();
    let text = |options: SearchOptions| match Player::builder(Estimator::Uniform).options(options).build(&device) {
        Err(error) => error.to_string(),
        Ok(_) => "no error".to_string(),
    };
    let default = SearchOptions::default();
    let noise = |alpha, epsilon| SearchOptions { noise: Some(Noise { alpha, epsilon }), ..default };
    for (options, expected) in [
        (SearchOptions { simulations: 0, ..default }, "option simulations: 0 is not allowed (1 to 1048576)"),
        (SearchOptions { leaves: 17, ..default }, "option leaves: 17 is not allowed (1 to 16)"),
        (SearchOptions { c_puct: f32::NAN, ..default }, "option c_puct: NaN is not allowed (above 0, at most 1e6)"),
        (noise(0.0, 0.25), "option noise alpha: 0 is not allowed (0.01 to 100)"),
        (noise(1.0, 1.5), "option noise epsilon: 1.5 is not allowed (0 to 1)"),
        (SearchOptions { temperature: -1.0, ..default }, "option temperature: -1 is not allowed (0 to 100)"),
        (
            SearchOptions { temperature: 1e-4, ..default },
            "option temperature: 0.0001 is not allowed (0, or 0.01 to 100)",
        ),
        (SearchOptions { max_nodes: Some(0), ..default }, "option max_nodes: 0 is not allowed (2 to 268435456)"),
        (
            SearchOptions { trees: Trees::Device, ..default },
            "option trees: device is not allowed (auto or host on the CPU back end)",
        ),
    ] {
        assert_eq!(text(options), expected);
    }
    let error = Player::builder(Estimator::Playouts(0)).build(&device).err().expect("none");
    assert_eq!(error.to_string(), "option playouts: 0 is not allowed (1 to 32768)");
    let other = NetworkShape { width: 8, depth: 1, actions: 7, ..NetworkShape::default() };
    let network = Network::seeded(other, 1).expect("an allowed shape");
    let error = Player::builder(&network).build(&device).err().expect("shape");
    assert_eq!(
        error.to_string(),
        "network for checkers: expected 5 planes of 8 x 8, 512 actions, got 5 planes of 8 x 8, 7 actions"
    );
    let error = SelfPlay::builder(Estimator::Uniform).parallel(0).build(&device).err().expect("none");
    assert_eq!(error.to_string(), "option parallel: 0 is not allowed (1 to 65536)");
    let odd = MatchOptions { games: 3, ..MatchOptions::default() };
    let error =
        Match::builder([Contestant::Random, Contestant::Random]).options(odd).build(&device).err().expect("odd");
    assert_eq!(error.to_string(), "option games: 3 is not allowed (an even number, 2 to 16777216)");
    let over = Checkers::from_text(&format!(".+{}", ".".repeat(62))).expect("a lone man");
    let mut player = Player::builder(Estimator::Uniform).build(&device).expect("the defaults");
    let error = player.run(&over, on).expect_err("nobody to move").to_string();
    assert_eq!(
        error,
        "position of checkers is finished (the second player has won): search a position in which a player can move"
    );
}

/// A thousand games of self-play, each record checked against the rules.
fn a_thousand_games(device: &Device, estimator: Estimator, options: SearchOptions) {
    let builder = SelfPlay::builder(estimator).search(options).parallel(1000).games(1000);
    let mut games = builder.build(device).expect("memory for 1,000 trees");
    let mut n = 0;
    let report = games.run(|progress| {
        progress.latest.iter().for_each(check_record);
        n += u32::from(progress.latest.is_some());
        ControlFlow::Continue(())
    });
    let report = report.expect("no illegal action, no NaN, no failure");
    assert_eq!((n, report.played.games), (1000, 1000));
    println!("{report}");
}

#[test]
fn a_thousand_games_end_by_the_rules() {
    let Some(device) = gpu() else { return };
    let options = SearchOptions { simulations: 32, leaves: 4, seed: 27, ..SearchOptions::self_play() };
    let network = Network::seeded(NetworkShape::default(), 27).expect("the reference network");
    for estimator in [Estimator::Uniform, Estimator::Playouts(32), Estimator::network(network, "reference")] {
        a_thousand_games(&device, estimator, options);
    }
}

/// The same by a small network on the CPU, with few simulations.
#[test]
fn a_thousand_games_by_a_small_network_end_by_the_rules() {
    let options = SearchOptions { simulations: 2, leaves: 1, seed: 27, ..SearchOptions::self_play() };
    let shape = NetworkShape { width: 2, depth: 1, value_hidden: 4, ..NetworkShape::default() };
    let network = Network::seeded(shape, 27).expect("the shape is allowed");
    a_thousand_games(&Device::cpu(), Estimator::network(network, "small"), options);
}
