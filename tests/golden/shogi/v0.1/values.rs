/// Values of the pieces in pawns, learnt from game records.
pub const PIECE_VALUES: [f64; 13] = [
    1.0, // P pawn
    2.99778413772583, // L lance
    2.9006307125091553, // N knight
    2.9954652786254883, // S silver
    2.9013102054595947, // G gold
    3.0999839305877686, // B bishop
    3.100050210952759, // R rook
    3.0999655723571777, // +P promoted pawn
    3.0, // +L promoted lance
    3.0, // +N promoted knight
    3.0, // +S promoted silver
    2.9000160694122314, // +B horse
    2.899949789047241, // +R dragon
];
