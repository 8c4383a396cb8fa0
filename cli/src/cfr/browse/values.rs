//! Values of nodes, computed while the user goes on: on a flop every board to come is walked, which takes seconds.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use warpplay::cfr::spot::{Node, NodeReport};

/// Who walks on does not stay at a node for so long.
const PAUSE: Duration = Duration::from_millis(100);

/// A node's number and what came of it.
type Answer = (u64, warpplay::Result<NodeReport>);

/// A thread that computes.
pub struct Values {
    asked: Sender<(u64, Node<'static>)>,
    answers: Receiver<Answer>,
}

impl Values {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system starts no other thread.
    pub fn start() -> Result<Self> {
        let (asked, to_do) = mpsc::channel();
        let (done, answers) = mpsc::channel();
        let work = move || compute(&to_do, &done);
        thread::Builder::new().spawn(work).context("values: a thread for them cannot be started")?;
        Ok(Self { asked, answers })
    }

    /// Asks for a node's values; the node asked last counts, if several wait.
    pub fn ask(&self, number: u64, node: Node<'static>) {
        // Where the thread is gone, `answer` says so.
        let _ = self.asked.send((number, node));
    }

    /// The values of a node, if some have come.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn answer(&self) -> Result<Option<Answer>> {
        match self.answers.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(anyhow!("the values of a node could not be computed")),
        }
    }
}

fn compute(asked: &Receiver<(u64, Node<'static>)>, done: &Sender<Answer>) {
    let mut last = None;
    while let Ok((mut number, mut node)) = asked.recv() {
        while let Ok(newer) = asked.recv_timeout(PAUSE) {
            (number, node) = newer;
        }
        // Left and come back to, while it was being computed.
        if last != Some(number) && done.send((number, node.report())).is_err() {
            break;
        }
        last = Some(number);
    }
}
