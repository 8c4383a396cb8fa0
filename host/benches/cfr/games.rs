//! The games of the table.

/// Leduc hold'em.
pub const LEDUC: &str = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 2\nblind = 1 1\nraiseSize = 2 4\nfirstPlayer = 1 1\nmaxRaises = 2 2\nnumSuits = 2\n\
                         numRanks = 3\nnumHoleCards = 1\nnumBoardCards = 0 1\nEND GAMEDEF\n";

/// The paper's variant B: 36 cards, five on the board before the only round.
pub const VARIANT_B: &str = "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 1\nblind = 1 1\nraiseSize = 1\nfirstPlayer = 1\nmaxRaises = 1\nnumSuits = 4\n\
                             numRanks = 9\nnumHoleCards = 2\nnumBoardCards = 5\nEND GAMEDEF\n";

/// Its variant C: five players, 24 cards, four raises.
pub const VARIANT_C: &str = "GAMEDEF\nlimit\nnumPlayers = 5\nnumRounds = 1\nstack = 100 100 100 100 100\nblind = 1 1 1 1 1\nraiseSize = 1\n\
                             firstPlayer = 1\nmaxRaises = 4\nnumSuits = 4\nnumRanks = 6\nnumHoleCards = 2\nnumBoardCards = 1\nEND GAMEDEF\n";

/// Its variant D: eight players, eight cards of one suit, three raises.
pub const VARIANT_D: &str = "GAMEDEF\nlimit\nnumPlayers = 8\nnumRounds = 1\nstack = 100 100 100 100 100 100 100 100\nblind = 1 1 1 1 1 1 1 1\n\
                             raiseSize = 1\nfirstPlayer = 1\nmaxRaises = 3\nnumSuits = 1\nnumRanks = 8\nnumHoleCards = 1\nnumBoardCards = 0\nEND GAMEDEF\n";

/// Heads-up hold'em with stacks of 20 big blinds, `hu20.game` of docs/guides/cfr.md.
pub const TWENTY_BLINDS: &str = "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 4\nstack = 40 40\nblind = 2 1\nbetSizes = 0.5 allin / 0.5 1 allin / 1 allin / 1 allin\n\
                                 maxRaises = 3 2 2 2\nfirstPlayer = 2 1 1 1\nnumSuits = 4\nnumRanks = 13\nnumHoleCards = 2\nnumBoardCards = 0 3 1 1\nEND GAMEDEF\n";
