//! The ground that every family stands on: devices, streams, buffers, modules of kernels, errors, and files. It knows no family.
//!
//! | file | what |
//! | --- | --- |
//! | `error` | the one error type |
//! | `info` | what is known of devices: back end, sizes, limits |
//! | `device`, `context`, `host_machine`, `driver` | what kernels run on, and how the driver is reached |
//! | `stream`, `event`, `graph` | work in order, its times, its recordings |
//! | `buffer`, `pinned`, `ipc` | memory of the device, of the host for copies, and of the device in other processes |
//! | `module`, `launch` | kernels: loaded by name, launched with arguments of their types |
//! | `tensor_map` | matrices as the copy engine reads them |
//! | `precision`, `progress`, `named`, `setters`, `threads` | words that families share |
//! | `memory` | what a piece of work needs, and the one check that it is there |
//! | `input_file`, `folder_lock`, `same_file` | files that are read, and folders that one process at a time writes to |
//! | `ranks` | several threads or processes that work together |
//! | `journal` | the finished pieces of long work, a line each |
//! | `checkpoint`, `keep`, `sealed`, `tensors`, `atomic_file`, `fnv` | files that are written whole or not at all, and known as damaged when they are |
//! | `streamed`, `mapped` | the same for files that need not fit into memory |

pub(crate) mod atomic_file;
#[allow(unsafe_code)]
pub(crate) mod buffer;
pub(crate) mod checkpoint;
#[allow(unsafe_code)]
pub(crate) mod context;
#[cfg(feature = "cust")]
pub(crate) mod cust;
pub(crate) mod device;
#[allow(unsafe_code)]
pub(crate) mod driver;
pub(crate) mod error;
#[allow(unsafe_code)]
pub(crate) mod event;
pub(crate) mod fnv;
pub(crate) mod folder_lock;
#[allow(unsafe_code)]
pub(crate) mod graph;
pub(crate) mod host_machine;
pub(crate) mod info;
pub mod input_file;
#[cfg(feature = "shogi")]
#[allow(unsafe_code)]
pub(crate) mod ipc;
pub mod journal;
pub(crate) mod keep;
#[allow(unsafe_code)]
pub(crate) mod launch;
#[cfg(any(feature = "cfr", feature = "shogi"))]
#[allow(unsafe_code)]
pub(crate) mod mapped;
pub(crate) mod memory;
#[allow(unsafe_code)]
pub(crate) mod module;
pub(crate) mod named;
#[cfg(feature = "cfr")]
pub(crate) mod pace;
#[allow(unsafe_code)]
pub(crate) mod pinned;
pub(crate) mod precision;
pub(crate) mod progress;
pub mod ranks;
pub(crate) mod same_file;
pub(crate) mod sealed;
pub(crate) mod setters;
#[allow(unsafe_code)]
pub(crate) mod stream;
#[cfg(feature = "cfr")]
pub(crate) mod streamed;
#[cfg(feature = "tile")]
#[allow(unsafe_code)]
pub(crate) mod tensor_map;
pub(crate) mod tensors;
#[cfg(test)]
#[allow(unsafe_code)]
pub(crate) mod test_kernels;
pub(crate) mod threads;
