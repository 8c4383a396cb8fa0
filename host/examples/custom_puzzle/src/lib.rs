//! Lights Out: a one-player puzzle for warpplay's tree search
