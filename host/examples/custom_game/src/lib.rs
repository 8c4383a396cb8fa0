//! Hex 11x11: a user's own game for warpplay's tree search
