//! GPUs linked in this process: what one gives lies in a queue until another gets it.

use sparsight_device::gpu::{Extent, Link, Memory, Message};
use sparsight_device::{DeviceError, Stream};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Limit on waiting. Emulated products of the tests take less.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Hub {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Messages under way, by sender and receiver.
    under_way: HashMap<(usize, usize), VecDeque<Vec<u8>>>,
    /// Numbers of each rank in each round of sums.
    sums: HashMap<usize, HashMap<usize, Vec<f64>>>,
    aborted: bool,
}

#[derive(Debug)]
struct End {
    hub: Arc<Hub>,
    memory: Arc<dyn Memory>,
    rank: usize,
    ranks: usize,
    round: Mutex<usize>,
}

/// An end for each memory.
pub fn linked(memories: Vec<Arc<dyn Memory>>) -> Vec<Arc<dyn Link>> {
    let (hub, ranks) = (Arc::new(Hub::default()), memories.len());
    let end = |(rank, memory)| {
        let round = Mutex::new(0);
        Arc::new(End { hub: Arc::clone(&hub), memory, rank, ranks, round }) as Arc<dyn Link>
    };
    memories.into_iter().enumerate().map(end).collect()
}

impl End {
    /// Waits until `take` finds something.
    fn wait_for<R>(&self, mut take: impl FnMut(&mut State) -> Option<R>) -> Result<R, DeviceError> {
        let start = Instant::now();
        let mut state = self.hub.state.lock().unwrap();
        loop {
            if state.aborted {
                return Err(DeviceError::Link { reason: "another rank gave up".to_owned() });
            }
            if let Some(found) = take(&mut state) {
                return Ok(found);
            }
            if start.elapsed() > LIMIT {
                return Err(DeviceError::Link { reason: "another rank is late".to_owned() });
            }
            state = self.hub.changed.wait_timeout(state, LIMIT).unwrap().0;
        }
    }

    fn read(&self, Extent { address, bytes }: Extent) -> Result<Vec<u8>, DeviceError> {
        let mut data = vec![0; bytes as usize];
        // SAFETY: the caller of the link vouches for it.
        unsafe { self.memory.read(address, &mut data)? };
        Ok(data)
    }
}

impl Link for End {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn stream(&self) -> Option<Stream<'_>> {
        None
    }

    fn follow(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn lead(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    unsafe fn exchange(&self, gives: &[Message], gets: &[Message]) -> Result<(), DeviceError> {
        for give in gives {
            let data = self.read(give.bytes)?;
            let mut state = self.hub.state.lock().unwrap();
            state.under_way.entry((self.rank, give.peer)).or_default().push_back(data);
            self.hub.changed.notify_all();
        }
        for get in gets {
            let key = (get.peer, self.rank);
            let data = self.wait_for(|state| state.under_way.get_mut(&key)?.pop_front())?;
            assert_eq!(data.len() as u64, get.bytes.bytes, "as much comes as is waited for");
            // SAFETY: the caller vouches for it.
            unsafe { self.memory.write(get.bytes.address, &data)? };
        }
        Ok(())
    }

    unsafe fn sum(&self, numbers: Extent) -> Result<(), DeviceError> {
        let data = self.read(numbers)?;
        let own: Vec<f64> = data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        let mut round = self.round.lock().unwrap();
        let this = *round;
        *round += 1;
        self.hub.state.lock().unwrap().sums.entry(this).or_default().insert(self.rank, own);
        self.hub.changed.notify_all();
        let all =
            self.wait_for(|state| state.sums.get(&this).filter(|all| all.len() == self.ranks).cloned())?;
        let sum = |at: usize| (0..self.ranks).map(|rank| all[&rank][at]).sum::<f64>();
        let sums: Vec<u8> = (0..data.len() / 8).flat_map(|at| sum(at).to_le_bytes()).collect();
        // SAFETY: the caller vouches for it.
        unsafe { self.memory.write(numbers.address, &sums) }
    }

    fn wait(&self) -> Result<(), DeviceError> {
        self.wait_for(|_| Some(()))?;
        // Queued work runs when a result is read.
        Ok(())
    }

    fn abort(&self) {
        self.hub.state.lock().unwrap().aborted = true;
        self.hub.changed.notify_all();
    }
}
