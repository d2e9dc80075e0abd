//! Ranks in processes of their own: who they are, and how they are told one identity.
//!
//! ```text
//! others    connect, say who they are and what they have planned, and wait for an answer
//! rank 0    listens until all have come, and tells them the identity that it has drawn, or why there is none
//! ```
//! No process waits longer than the limit; errors name the ranks that did not come or that have another plan.

use super::{Identity, broken};
use crate::DeviceError;
use crate::gpu::PlanDigest;
use std::collections::BTreeMap;
use std::env;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// First message of each process: a program that connects by mistake gets no answer.
const GREETING: &[u8; 8] = b"spRanks2";

/// Between two tries. Chosen.
const NAP: Duration = Duration::from_millis(20);

/// Limit of the bytes of a plan's description, and of an answer. Chosen.
const LONGEST: usize = 1 << 12;

/// Before rank 0's answer: an identity follows, or a reason.
const WELCOME: u8 = 0;
const REFUSED: u8 = 1;

/// A process among others, each of which has one GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranks {
    /// This rank, counted from 0.
    pub rank: usize,
    /// Number of ranks.
    pub ranks: usize,
    /// Number among the ranks on this host: the number of its GPU, where all of them are seen ([`Ranks::gpu`]).
    pub local: usize,
    /// Address at which rank 0 listens: `host:port`.
    pub meets_at: String,
}

/// Variables of a launcher.
struct Launcher {
    rank: &'static str,
    ranks: &'static str,
    /// The rank on the host: the first that is set.
    local: &'static [&'static str],
}

/// Launchers in the order in which they are looked for. MPICH says nothing of the host where Slurm's `srun` starts it through PMI, but Slurm does.
const LAUNCHERS: [Launcher; 4] = [
    Launcher { rank: "RANK", ranks: "WORLD_SIZE", local: &["LOCAL_RANK"] },
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
        local: &["OMPI_COMM_WORLD_LOCAL_RANK"],
    },
    Launcher { rank: "PMI_RANK", ranks: "PMI_SIZE", local: &["MPI_LOCALRANKID", "SLURM_LOCALID"] },
    Launcher { rank: "SLURM_PROCID", ranks: "SLURM_NTASKS", local: &["SLURM_LOCALID"] },
];

/// Names `host:port` where rank 0 listens.
const MEETS_AT: &str = "SPARSIGHT_MEET";

impl Ranks {
    /// Reads the rank from the environment of torchrun, mpirun (Open MPI, MPICH, Intel's) or srun; `None` if none of them has
    /// started this process. Rank 0 listens at `SPARSIGHT_MEET=host:port`, else at torchrun's `MASTER_ADDR`, a port above its `MASTER_PORT`.
    ///
    /// # Errors
    /// [`DeviceError::Link`] if their values are no rank, or if the meeting place is missing.
    pub fn from_environment() -> Result<Option<Self>, DeviceError> {
        Self::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, DeviceError> {
        let is_set = |one: &&Launcher| [one.rank, one.ranks].iter().all(|name| variable(name).is_some());
        let Some(launcher) = LAUNCHERS.iter().find(is_set) else { return Ok(None) };
        let number = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => match text.parse::<usize>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(broken(&format!("{name} is '{text}', no number"))),
            },
        };
        let (rank, ranks) = (number(launcher.rank)?.unwrap_or(0), number(launcher.ranks)?.unwrap_or(1));
        if rank >= ranks {
            return Err(broken(&format!("{} is {rank}, and {} is {ranks}", launcher.rank, launcher.ranks)));
        }
        let local = launcher.local.iter().find(|name| variable(name).is_some());
        let local = local.map_or(Ok(None), |name| number(name))?.unwrap_or(rank);
        let master = || {
            let port: u16 = variable("MASTER_PORT")?.parse().ok()?;
            Some(format!("{}:{}", variable("MASTER_ADDR")?, port.checked_add(1)?))
        };
        let here = || (ranks == 1).then(|| "127.0.0.1:0".to_owned());
        let meets_at = variable(MEETS_AT).or_else(master).or_else(here).ok_or_else(|| {
            broken(&format!(
                "the meeting place of the ranks is missing: set {MEETS_AT}=host:port, of the host of rank 0"
            ))
        })?;
        Ok(Some(Self { rank, ranks, local, meets_at }))
    }

    /// The number of this rank's GPU, where this process sees `seen` of them: that of the rank on its host, or the only one, where
    /// the launcher shows each process its own alone.
    ///
    /// # Errors
    /// [`DeviceError::Link`] if there are several, but not as many as ranks on this host.
    pub fn gpu(&self, seen: usize) -> Result<usize, DeviceError> {
        match (seen, self.local) {
            (1, _) => Ok(0),
            (_, local) if local < seen => Ok(local),
            (_, local) => Err(broken(&format!(
                "rank {} is number {local} of its host, and sees {seen} GPUs",
                self.rank
            ))),
        }
    }

    /// The identity that rank 0 has drawn, told to all of them once all have come with the same plan.
    ///
    /// # Errors
    /// [`DeviceError::Link`] with the ranks that did not come within the limit, or with what one has planned otherwise, which all
    /// ranks are told; [`DeviceError::NoNccl`] on rank 0.
    pub fn identity(&self, plan: &PlanDigest, limit: Duration) -> Result<Identity, DeviceError> {
        if self.rank == 0 { self.tell(&Identity::new()?, plan, limit) } else { self.ask(plan, limit) }
    }

    /// Rank 0: waits for all others, and answers them.
    fn tell(&self, identity: &Identity, plan: &PlanDigest, limit: Duration) -> Result<Identity, DeviceError> {
        if self.ranks == 1 {
            return Ok(*identity);
        }
        let mut waiting = BTreeMap::new();
        let agreed = self.gather(&mut waiting, limit).and_then(|()| {
            let other = waiting.iter().find_map(|(rank, (_, theirs))| Some((rank, plan.differs(theirs)?)));
            other.map_or(Ok(()), |(rank, what)| {
                Err(broken(&format!("rank {rank} has not planned what rank 0 has: {what}")))
            })
        });
        let answer = match &agreed {
            Ok(()) => [&[WELCOME], identity.bytes().as_slice()].concat(),
            Err(DeviceError::Link { reason }) => refusal(reason),
            Err(error) => refusal(&error.to_string()),
        };
        for (mut stream, _) in waiting.into_values() {
            // Who has gone meanwhile is missed when all join.
            let _ = stream.write_all(&answer);
        }
        agreed.map(|()| *identity)
    }

    /// Until all others wait for an answer, each with its plan.
    fn gather(
        &self,
        waiting: &mut BTreeMap<usize, (TcpStream, PlanDigest)>,
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let start = Instant::now();
        let failed = |error: std::io::Error| broken(&format!("listening at {}: {error}", self.meets_at));
        let listener = TcpListener::bind(&self.meets_at).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        while waiting.len() < self.ranks - 1 {
            match listener.accept() {
                Ok((stream, _)) => {
                    // Who asks once more has closed what it asked by before.
                    if let Some((rank, stream, plan)) = self.heard(stream) {
                        waiting.insert(rank, (stream, plan));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(NAP),
                Err(error) => return Err(failed(error)),
            }
            let missing = (1..self.ranks).filter(|rank| !waiting.contains_key(rank));
            let count = missing.clone().count();
            if start.elapsed() > limit && count > 0 {
                let names: Vec<String> = missing.take(8).map(|rank| rank.to_string()).collect();
                let more = if count > 8 { ", ..." } else { "" };
                let seconds = limit.as_secs();
                return Err(broken(&format!(
                    "{count} of {} ranks did not come to {} within {seconds} s: {}{more}",
                    self.ranks,
                    self.meets_at,
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// A rank with its plan; `None` for a foreign program.
    fn heard(&self, mut stream: TcpStream) -> Option<(usize, TcpStream, PlanDigest)> {
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        stream.set_write_timeout(Some(Duration::from_secs(1))).ok()?;
        let mut greeting = [0; 8];
        stream.read_exact(&mut greeting).ok()?;
        if greeting != *GREETING {
            return None;
        }
        let mut number = || {
            let mut bytes = [0; 8];
            stream.read_exact(&mut bytes).ok()?;
            usize::try_from(u64::from_le_bytes(bytes)).ok()
        };
        let (rank, ranks, length) = (number()?, number()?, number()?);
        if ranks != self.ranks || !(1..ranks).contains(&rank) || length > LONGEST {
            return None;
        }
        let mut plan = vec![0; length];
        stream.read_exact(&mut plan).ok()?;
        Some((rank, stream, PlanDigest::read(&plan)))
    }

    /// The others: ask until they are told.
    fn ask(&self, plan: &PlanDigest, limit: Duration) -> Result<Identity, DeviceError> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let error = match self.ask_once(plan, left) {
                Ok(answer) => return answer.map_err(|reason| broken(&reason)),
                Err(error) => error,
            };
            if start.elapsed() > limit {
                let (at, seconds) = (&self.meets_at, limit.as_secs());
                let reason =
                    format!("rank {} was not told anything at {at} within {seconds} s: {error}", self.rank);
                return Err(broken(&reason));
            }
            thread::sleep(NAP);
        }
    }

    /// Answer of rank 0: the identity, or the reason why there is none.
    fn ask_once(&self, plan: &PlanDigest, left: Duration) -> std::io::Result<Result<Identity, String>> {
        let nowhere = || std::io::Error::new(ErrorKind::NotFound, "there is no such host");
        let address = self.meets_at.to_socket_addrs()?.next().ok_or_else(nowhere)?;
        let left = left.max(NAP);
        let mut stream = TcpStream::connect_timeout(&address, left)?;
        stream.set_read_timeout(Some(left))?;
        let plan = plan.bytes(LONGEST);
        let mut said = GREETING.to_vec();
        for number in [self.rank, self.ranks, plan.len()] {
            said.extend((number as u64).to_le_bytes());
        }
        said.extend(plan);
        stream.write_all(&said)?;
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        if kind == [WELCOME] {
            let mut bytes = [0; 128];
            stream.read_exact(&mut bytes)?;
            return Ok(Ok(Identity::from_bytes(bytes)));
        }
        let mut reason = Vec::new();
        stream.take(LONGEST as u64).read_to_end(&mut reason)?;
        Ok(Err(String::from_utf8_lossy(&reason).into_owned()))
    }
}

/// The answer that there is none, and why.
fn refusal(reason: &str) -> Vec<u8> {
    let mut answer = vec![REFUSED];
    answer.extend(reason.bytes().take(LONGEST));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(variables: &[(&str, &str)]) -> Result<Option<Ranks>, DeviceError> {
        Ranks::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn launchers_say_who_a_process_is() {
        assert_eq!(ranks(&[]), Ok(None));
        let torchrun = [
            ("RANK", "3"),
            ("WORLD_SIZE", "4"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "10.0.0.1"),
            ("MASTER_PORT", "29500"),
        ];
        let known = Ranks { rank: 3, ranks: 4, local: 1, meets_at: "10.0.0.1:29501".to_owned() };
        assert_eq!(ranks(&torchrun), Ok(Some(known)));
        let srun = [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2"), ("SPARSIGHT_MEET", "node1:4000")];
        let known = Ranks { rank: 1, ranks: 2, local: 1, meets_at: "node1:4000".to_owned() };
        assert_eq!(ranks(&srun), Ok(Some(known)));
        // MPICH and Intel's under their own launcher, and started by srun.
        let pmi = [("PMI_RANK", "9"), ("PMI_SIZE", "16"), ("SPARSIGHT_MEET", "node1:4000")];
        let local = |more: &[(&str, &str)]| ranks(&[&pmi, more].concat()).unwrap().unwrap().local;
        assert_eq!(local(&[("MPI_LOCALRANKID", "1")]), 1);
        assert_eq!(local(&[("SLURM_LOCALID", "1")]), 1);
        assert_eq!(local(&[("MPI_LOCALRANKID", "2"), ("SLURM_LOCALID", "1")]), 2);
        assert_eq!(local(&[]), 9, "not given: all on one host");
        let refused = |variables: &[(&str, &str)]| ranks(variables).unwrap_err().to_string();
        assert!(refused(&[("RANK", "4"), ("WORLD_SIZE", "4")]).ends_with("RANK is 4, and WORLD_SIZE is 4"));
        assert!(refused(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]).ends_with("PMI_RANK is 'x', no number"));
        assert!(refused(&[("PMI_RANK", "0"), ("PMI_SIZE", "4")]).contains("set SPARSIGHT_MEET=host:port"));
    }

    #[test]
    fn a_rank_that_sees_one_gpu_has_that() {
        let rank = Ranks { rank: 6, ranks: 8, local: 2, meets_at: String::new() };
        assert_eq!([rank.gpu(4), rank.gpu(3), rank.gpu(1)], [Ok(2), Ok(2), Ok(0)]);
        let few = rank.gpu(2).unwrap_err().to_string();
        assert!(few.ends_with("rank 6 is number 2 of its host, and sees 2 GPUs"), "{few}");
        assert!(rank.gpu(0).is_err());
    }

    fn plan(gpu: &str) -> PlanDigest {
        PlanDigest::default().with("the GPU", gpu).with("the number of parts", 3)
    }

    /// A port that is free now.
    fn somewhere() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    }

    #[test]
    fn all_ranks_get_one_identity_and_strangers_none() {
        let (identity, at) = (Identity::from_bytes([7; 128]), somewhere());
        let rank = |rank| Ranks { rank, ranks: 3, local: rank, meets_at: at.clone() };
        let limit = Duration::from_secs(60);
        thread::scope(|scope| {
            let told = scope.spawn(|| rank(0).tell(&identity, &plan("H200"), limit));
            let stranger = scope.spawn(|| {
                let mut stream = loop {
                    if let Ok(stream) = TcpStream::connect(&at) {
                        break stream;
                    }
                };
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                let mut told = Vec::new();
                let _ = stream.read_to_end(&mut told);
                told
            });
            assert_eq!(stranger.join().unwrap(), b"");
            let others: Vec<_> =
                [1, 2].map(|of| scope.spawn(move || rank(of).ask(&plan("H200"), limit))).into();
            for other in others {
                assert_eq!(other.join().unwrap(), Ok(identity));
            }
            assert_eq!(told.join().unwrap(), Ok(identity));
        });
    }

    #[test]
    fn a_missing_rank_is_named_within_the_limit() {
        let at = somewhere();
        let rank = |rank| Ranks { rank, ranks: 3, local: rank, meets_at: at.clone() };
        let short = Duration::from_millis(200);
        let late =
            rank(0).tell(&Identity::from_bytes([7; 128]), &plan("H200"), short).unwrap_err().to_string();
        assert!(late.contains("2 of 3 ranks did not come") && late.ends_with(": 1, 2"), "{late}");
        let alone = rank(1).ask(&plan("H200"), short).unwrap_err().to_string();
        assert!(alone.contains("rank 1 was not told anything"), "{alone}");
    }

    #[test]
    fn all_are_told_who_has_planned_what_otherwise() {
        let at = somewhere();
        let rank = |rank| Ranks { rank, ranks: 3, local: rank, meets_at: at.clone() };
        let limit = Duration::from_secs(60);
        let said: Vec<String> = thread::scope(|scope| {
            let told = scope.spawn(|| rank(0).tell(&Identity::from_bytes([7; 128]), &plan("H200"), limit));
            let others = [(1, "H200"), (2, "H100")];
            let others = others.map(|(of, gpu)| scope.spawn(move || rank(of).ask(&plan(gpu), limit)));
            let all = [told].into_iter().chain(others);
            all.map(|one| one.join().unwrap().unwrap_err().to_string()).collect()
        });
        let why = "rank 2 has not planned what rank 0 has: the GPU is H100, and H200 there";
        assert!(said.iter().all(|one| one.ends_with(why)), "{said:?}");
    }

    #[test]
    fn waiting_ranks_are_told_which_ranks_are_missing() {
        let at = somewhere();
        let rank = |rank| Ranks { rank, ranks: 3, local: rank, meets_at: at.clone() };
        let (short, long) = (Duration::from_secs(2), Duration::from_secs(60));
        let came = thread::scope(|scope| {
            let came = scope.spawn(|| rank(1).ask(&plan("H200"), long));
            let told = rank(0).tell(&Identity::from_bytes([7; 128]), &plan("H200"), short);
            assert!(told.is_err());
            came.join().unwrap().unwrap_err().to_string()
        });
        assert!(came.contains("1 of 3 ranks did not come") && came.ends_with(": 2"), "{came}");
    }
}
