//! Launches recorded as a graph, and graphs replayed.

use super::{CudaStream, Recording, Stream};
use crate::runtime::driver::{self, Handle};
use crate::runtime::error::Result;
use crate::runtime::graph::{CudaGraph, Graph, Replay};
use crate::runtime::module::{add_name, suspects};

impl Stream {
    /// Records what `record` launches on this stream, without running it.
    ///
    /// Launches and [`zero`](Self::zero) are recorded with their arguments; every call that allocates, or needs an answer from the device, returns
    /// [`Error::Capture`](crate::Error::Capture) inside. If `record` fails, the recording is discarded and the stream is as before.
    ///
    /// # Errors
    /// What `record` returns; [`Error::Capture`](crate::Error::Capture) inside another capture; [`Error::Driver`](crate::Error::Driver) if the driver cannot make
    /// a graph of it.
    pub fn capture(&self, record: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        self.outside_capture("Stream::capture")?;
        if let Some(cuda) = &self.cuda {
            cuda.context.enter()?;
            // SAFETY: the stream belongs to the current context and does not capture yet.
            let code = unsafe { driver::cuStreamBeginCapture_v2(cuda.handle, driver::CAPTURE_MODE_RELAXED) };
            self.check(cuda, "cuStreamBeginCapture", code)?;
        }
        self.state.borrow_mut().recording = Some(Recording::default());

        // Ends the capture on the way out of a panic too, so that the stream stays usable.
        let mut open = OpenCapture { stream: self, ended: false };
        let recorded = record(self);
        let (recording, captured) = open.end();
        drop(open);
        if let Err(error) = recorded {
            // The error of the cause matters, not what the driver says of the broken capture.
            if let (Some(cuda), Ok(handle)) = (&self.cuda, captured) {
                destroy_captured(cuda, handle);
            }
            return Err(error);
        }
        let replay = match &self.cuda {
            Some(cuda) => {
                cuda.context.enter()?;
                Replay::Cuda(CudaGraph::new(&cuda.context, captured?)?)
            }
            None => Replay::Host(recording.operations),
        };
        Ok(Graph {
            device: self.device.clone(),
            replay,
            kernels: recording.kernels,
            n_launches: recording.n_launches,
            kept: recording.kept,
            modules: recording.modules,
        })
    }

    /// Ends a capture; returns the recording and the driver's graph.
    fn end_capture(&self) -> (Recording, Result<Handle>) {
        let recording = self.state.borrow_mut().recording.take().unwrap_or_default();
        let mut graph = Handle::NULL;
        let captured = match &self.cuda {
            None => Ok(graph),
            Some(cuda) => cuda.context.enter().and_then(|()| {
                // SAFETY: the stream is capturing, which began on this thread; `graph` is written before the call returns.
                let code = unsafe { driver::cuStreamEndCapture(cuda.handle, &mut graph) };
                self.check(cuda, "cuStreamEndCapture", code)?;
                Ok(graph)
            }),
        };
        (recording, captured)
    }

    /// Runs a recorded graph once, in this stream's order.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) for a graph of another device; [`Error::Capture`](crate::Error::Capture) inside a capture; otherwise as
    /// [`launch`](Self::launch).
    pub fn launch_graph(&self, graph: &Graph) -> Result<()> {
        self.outside_capture("Stream::launch_graph")?;
        self.device.expect_same("graph", graph.device())?;
        match (&graph.replay, &self.cuda) {
            (Replay::Cuda(executable), Some(cuda)) => {
                cuda.context.enter()?;
                // SAFETY: graph and stream belong to the current context; whoever recorded the kernels promised their
                // contracts for every replay.
                let code = unsafe { driver::cuGraphLaunch(executable.handle, cuda.handle) };
                let mut state = self.state.borrow_mut();
                if code != 0 {
                    let kernels = suspects(&state.queued, &graph.kernels);
                    return Err(cuda.context.failure("cuGraphLaunch", Some(kernels)));
                }
                for name in &graph.kernels {
                    add_name(&mut state.queued, name);
                }
                Ok(())
            }
            (Replay::Host(operations), _) => operations.iter().try_for_each(|operation| operation()),
            // Excluded by the check of devices above.
            (Replay::Cuda(_), None) => Ok(()),
        }
    }
}

/// Destroys a captured graph; does nothing for null, when the driver made none.
fn destroy_captured(cuda: &CudaStream, handle: Handle) {
    if !handle.is_null() && cuda.context.enter().is_ok() {
        // SAFETY: the graph came from `cuStreamEndCapture` and has no other owner.
        unsafe { driver::cuGraphDestroy(handle) };
    }
}

/// A capture under way.
struct OpenCapture<'a> {
    stream: &'a Stream,
    ended: bool,
}

impl OpenCapture<'_> {
    fn end(&mut self) -> (Recording, Result<Handle>) {
        self.ended = true;
        self.stream.end_capture()
    }
}

impl Drop for OpenCapture<'_> {
    fn drop(&mut self) {
        if !self.ended
            && let (_, Ok(handle)) = self.stream.end_capture()
            && let Some(cuda) = &self.stream.cuda
        {
            destroy_captured(cuda, handle);
        }
    }
}
