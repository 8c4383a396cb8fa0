//! A safe kernel takes a structure of pointers checked, not as it is.

use warpplay::{Function, Stream};
use warpplay_test_kernels::index::{Scale, test_scale};

fn main() {}

pub fn launch(stream: &Stream, function: &Function<test_scale>, task: Scale) -> warpplay::Result<()> {
    stream.run_with(function, (32,), (task,)).map(drop)
}
