//! Values and best responses of strategies in buckets, in the tree of single hands.

use std::sync::Arc;

use warpplay_cpu_ref::cfr::tree as plain;

use super::offsets::Offsets;
use crate::cfr::engines::explicit::{DeviceTree, Kernels, Measuring, Order, Walked, cpu_memory};
use crate::cfr::game::extensive::Tree;
use crate::cfr::layout::{Buckets, Measured, Values};
use crate::{Backend, Buffer, Device, Memory, Result, Stream};

/// Measures in double precision.
pub(super) struct Meter {
    offsets: Vec<Offsets>,
    on: On,
}

enum On {
    Cpu { tree: plain::Tree<u32>, order: Order },
    Device(Box<OnDevice>),
}

/// What stands on a device that runs kernels. The stream is the last field, so that arrays are dropped before it.
struct OnDevice {
    kernels: Kernels<f64>,
    tree: DeviceTree,
    measuring: Measuring,
    /// `[n_rows]`
    averages: Buffer<f64>,
    stream: Stream,
}

/// Memory of a meter.
pub(super) fn memory(device: &Device, tree: &Tree) -> Memory {
    match device.backend() {
        Backend::Cpu => Memory::default().on_host("measuring", cpu_memory(tree).host()),
        _ => {
            let averages = 8 * tree.n_rows() as u64;
            Memory::default().on_device("measuring", DeviceTree::bytes(tree) + Measuring::bytes(tree) + averages)
        }
    }
}

impl Meter {
    pub fn new(device: &Device, tree: &Arc<Tree>, layout: &Buckets) -> Result<Self> {
        let on = match device.backend() {
            Backend::Cpu => {
                let walked = plain::Tree::new(&Walked(tree));
                On::Cpu { order: Order::new(tree, &walked), tree: walked }
            }
            _ => {
                let stream = device.stream()?;
                On::Device(Box::new(OnDevice {
                    kernels: Kernels::load(device)?,
                    tree: DeviceTree::new(&stream, tree)?,
                    measuring: Measuring::new(device, &stream, tree)?,
                    averages: stream.alloc(tree.n_rows())?,
                    stream,
                }))
            }
        };
        let offsets = (0..tree.n_players()).map(|seat| Offsets::new(tree, seat, layout)).collect::<Result<_>>()?;
        Ok(Self { offsets, on })
    }

    /// Measures the profile of sums of strategies, by seat, in the order of the layout.
    pub fn measure(&mut self, averages: &[Values]) -> Result<Measured> {
        let widened = |(offsets, table): (&Offsets, &Values)| -> Vec<f64> {
            let table = offsets.tree_from_layout(table);
            (0..table.len()).map(|at| table.get(at)).collect()
        };
        let tables: Vec<Vec<f64>> = self.offsets.iter().zip(averages).map(widened).collect();
        match &mut self.on {
            On::Cpu { tree, order } => {
                let tables: Vec<Values> = tables.into_iter().map(Values::F64).collect();
                let profile = plain::Profile::from_weights(tree, &order.theirs("averages", &tables)?);
                Ok(Measured { values: profile.values(tree), best_responses: profile.best_responses(tree) })
            }
            On::Device(device) => {
                let OnDevice { kernels, tree, measuring, averages, stream } = &mut **device;
                stream.write(averages, 0, &tables.concat())?;
                measuring.measure(stream, kernels, tree, averages)
            }
        }
    }
}
