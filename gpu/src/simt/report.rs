//! What `simt` reports when a kernel breaks a rule.

use std::fmt;
use std::panic::Location;

/// A position in the source of a kernel.
pub type SourceLocation = &'static Location<'static>;

/// Why a launch stopped: which kernel, which thread, and what it did.
///
/// If several threads break rules, the report is about the one in the block with the lowest index, so that a deterministic
/// kernel gives the same report every time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Entry name of the kernel.
    pub kernel: &'static str,
    /// Index of the block in the grid; zeros if the launch itself was refused ([`FaultKind::Shape`]) or stopped ([`FaultKind::Stopped`]).
    pub block: [u32; 3],
    /// Index of the thread in its block; zeros if the launch itself was refused or stopped.
    pub thread: [u32; 3],
    /// What happened.
    pub kind: FaultKind,
}

/// The rules that `simt` watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The thread waits at a barrier that not all threads reach, or that others reach at another source location.
    DivergentBarrier {
        /// The barrier at which the thread of the report waits.
        barrier: Wait,
        /// Where it waits.
        location: SourceLocation,
        /// Block of a missing thread.
        other_block: [u32; 3],
        /// Index of that thread in its block.
        other_thread: [u32; 3],
        /// What that thread does instead.
        other: Elsewhere,
    },
    /// The thread waits at a warp collective that a lane of its mask does not reach.
    DivergentCollective {
        /// The lanes that the thread of the report waits for, bit 0 for lane 0.
        mask: u32,
        /// Where it waits.
        location: SourceLocation,
        /// The missing lane.
        lane: u32,
        /// Index of that lane's thread in the block.
        other_thread: [u32; 3],
        /// What that lane does instead.
        other: Elsewhere,
    },
    /// An access that does not lie completely within one registered buffer or declared shared array.
    OutOfBounds {
        /// The memory space of the access.
        space: Space,
        /// First byte of the access: a host address, or an address in shared memory.
        address: usize,
        /// Bytes of the access.
        bytes: usize,
        /// Whether it is a write.
        write: bool,
        /// Source location of the access.
        location: SourceLocation,
        /// The nearest buffer or array, if there is one.
        nearest: Option<Nearest>,
    },
    /// A read of shared memory that no thread of the block wrote.
    UnwrittenShared {
        /// Name of the shared array.
        array: &'static str,
        /// First unwritten byte, counted from the start of the array.
        offset: u32,
        /// Address of that byte in shared memory.
        address: u32,
        /// Source location of the read.
        location: SourceLocation,
    },
    /// Two threads access the same shared memory without a barrier between, and at least one writes.
    SharedRace {
        /// Name of the shared array.
        array: &'static str,
        /// The byte, counted from the start of the array.
        offset: u32,
        /// Address of the byte in shared memory.
        address: u32,
        /// The two accesses.
        pair: UnorderedPair,
    },
    /// Two threads access the same global memory without order, and at least one writes.
    GlobalRace {
        /// The byte, counted from the start of its buffer.
        offset: usize,
        /// Bytes of the buffer.
        bytes: usize,
        /// Address of the byte.
        address: usize,
        /// The two accesses.
        pair: UnorderedPair,
    },
    /// The thread panicked or trapped.
    Trap {
        /// The panic's text and its source location.
        message: String,
    },
    /// The launch uses something that does not exist on a device, or that it did not declare.
    Shape {
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// The caller stopped the launch: [`watch::asking`](super::watch::asking).
    Stopped,
}

/// Two unordered accesses of one byte, at least one of them a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnorderedPair {
    /// What the thread of the report does.
    pub access: Access,
    /// Where it does so.
    pub location: SourceLocation,
    /// Block of the other thread.
    pub other_block: [u32; 3],
    /// Index of the other thread in its block.
    pub other_thread: [u32; 3],
    /// What the other thread did before.
    pub other_access: Access,
    /// Where the other thread did so.
    pub other_location: SourceLocation,
}

/// A memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Buffers registered with [`memory::register`](super::memory::register).
    Global,
    /// Shared memory of a block.
    Shared,
}

/// The buffer or shared array next to an access that is out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Name of the shared array; `None` for a buffer.
    pub name: Option<&'static str>,
    /// Its first address.
    pub address: usize,
    /// Its size in bytes.
    pub bytes: usize,
}

/// Kind of access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic update.
    Update,
}

/// The operation at which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The barrier of the block, `sync_threads`.
    Block,
    /// The barrier of the cluster, `sync_cluster`.
    Cluster,
    /// The barrier of the grid, `sync_grid`.
    Grid,
    /// A warp collective: `sync_warp`, a shuffle, a vote.
    Warp,
}

/// What a thread does while others wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// It has returned from the kernel.
    Returned,
    /// It waits somewhere else.
    Waits {
        /// The operation.
        at: Wait,
        /// The source location.
        location: SourceLocation,
    },
    /// It called the collective with a mask that does not include itself.
    NotInMask,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Block => "sync_threads",
            Self::Cluster => "sync_cluster",
            Self::Grid => "sync_grid",
            Self::Warp => "a warp collective",
        })
    }
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Returned => f.write_str("has returned from the kernel"),
            Self::Waits { at, location } => write!(f, "waits at {at} at {location}"),
            Self::NotInMask => f.write_str("called it with a mask that does not name itself"),
        }
    }
}

impl Access {
    fn present(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Update => "atomically updates",
        }
    }

    fn past(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "wrote",
            Self::Update => "atomically updated",
        }
    }
}

/// An index triple as `(x, y, z)`.
struct Index([u32; 3]);

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}

impl Nearest {
    /// Describes the position of an access of `bytes` bytes at `address` relative to this buffer.
    fn describe(&self, address: usize, bytes: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.address.saturating_add(self.bytes);
        let last = address.saturating_add(bytes);
        if address >= end {
            write!(f, "it begins {} bytes after the end of ", address - end)?;
        } else if last <= self.address {
            write!(f, "it ends {} bytes before the start of ", self.address - last)?;
        } else if address < self.address {
            write!(f, "it begins {} bytes before the start of ", self.address - address)?;
        } else {
            write!(f, "it runs {} bytes past the end of ", last - end)?;
        }
        match self.name {
            Some(name) => write!(f, "`{name}`")?,
            None => f.write_str("the nearest registered buffer")?,
        }
        write!(f, " ({} bytes at {:#x})", self.bytes, self.address)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        if !matches!(self.kind, FaultKind::Shape { .. } | FaultKind::Stopped) {
            let (block, thread) = (Index(self.block), Index(self.thread));
            write!(f, ", block {block}, thread {thread}")?;
        }
        f.write_str(": ")?;
        match &self.kind {
            FaultKind::DivergentBarrier { barrier, location, other_block, other_thread, other } => {
                write!(f, "divergent barrier: waits at {barrier} at {location}, but ")?;
                if *other_block != self.block {
                    write!(f, "block {}, ", Index(*other_block))?;
                }
                write!(f, "thread {} {other}", Index(*other_thread))
            }
            FaultKind::DivergentCollective { mask, location, lane, other_thread, other } => write!(
                f,
                "divergent warp collective: waits at {location} with mask {mask:#010x}, but lane {lane} (thread {}) {other}",
                Index(*other_thread)
            ),
            FaultKind::OutOfBounds { space, address, bytes, write, location, nearest } => {
                let verb = if *write { "writes" } else { "reads" };
                let space = match space {
                    Space::Global => "global",
                    Space::Shared => "shared",
                };
                write!(f, "out of bounds: {verb} {bytes} bytes of {space} memory at {address:#x} at {location}; ")?;
                match nearest {
                    Some(nearest) => nearest.describe(*address, *bytes, f),
                    None if space == "global" => f.write_str("no buffer is registered"),
                    None => f.write_str("the block has declared no shared memory"),
                }
            }
            FaultKind::UnwrittenShared { array, offset, address, location } => write!(
                f,
                "unwritten shared memory: reads `{array}` + {offset} bytes (address {address:#x}) at {location}, which no thread wrote"
            ),
            FaultKind::SharedRace { array, offset, address, pair } => {
                write!(
                    f,
                    "shared memory race: {} `{array}` + {offset} bytes (address {address:#x}) at {}, which ",
                    pair.access.present(),
                    pair.location
                )?;
                if pair.other_block != self.block {
                    write!(f, "block {}, ", Index(pair.other_block))?;
                }
                write!(f, "{pair}, with no barrier between")
            }
            FaultKind::GlobalRace { offset, bytes, address, pair } => write!(
                f,
                "global memory race: {} byte {offset} of a buffer of {bytes} bytes (address {address:#x}) at {}, which block {}, {pair}, and nothing orders the two",
                pair.access.present(),
                pair.location,
                Index(pair.other_block)
            ),
            FaultKind::Trap { message } => write!(f, "trap: {message}"),
            FaultKind::Shape { message } => f.write_str(message),
            FaultKind::Stopped => f.write_str("stopped on request"),
        }
    }
}

/// What the other thread did.
impl fmt::Display for UnorderedPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} {} at {}", Index(self.other_thread), self.other_access.past(), self.other_location)
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_small_enough_to_return() {
        assert!(size_of::<Fault>() <= 128, "{}", size_of::<Fault>());
    }

    #[test]
    fn distances_to_a_buffer_are_worded() {
        let fault = |address, bytes| {
            Fault {
                kernel: "k",
                block: [0; 3],
                thread: [1, 0, 0],
                kind: FaultKind::OutOfBounds {
                    space: Space::Global,
                    address,
                    bytes,
                    write: false,
                    location: Location::caller(),
                    nearest: Some(Nearest { name: None, address: 0x100, bytes: 16 }),
                },
            }
            .to_string()
        };
        assert!(fault(0x114, 4).contains("it begins 4 bytes after the end of"));
        assert!(fault(0xf0, 8).contains("it ends 8 bytes before the start of"));
        assert!(fault(0xfc, 8).contains("it begins 4 bytes before the start of"));
        assert!(fault(0x10c, 8).contains("it runs 4 bytes past the end of"));
        assert!(fault(0x10c, 8).ends_with("(16 bytes at 0x100)"));
    }
}
