//! Ranks in processes of their own: who they are, and how they are told one identity.
//!
//! ```text
//! rank 0    listens, and tells each of the others the identity that it has drawn
//! others    connect, say who they are, and are told
//! ```
//! Nobody waits longer than the limit, and who did not come is named.

use super::{Identity, broken};
use crate::DeviceError;
use std::collections::BTreeSet;
use std::env;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// What each process says first: a program that connects by mistake is told nothing.
const GREETING: &[u8; 8] = b"spRanks1";

/// Between two tries. Chosen.
const NAP: Duration = Duration::from_millis(20);

/// A process among others, each of which has one GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranks {
    /// Which this is, counted from 0.
    pub rank: usize,
    /// How many there are.
    pub ranks: usize,
    /// Which of those on this host: the number of its GPU.
    pub local: usize,
    /// Where rank 0 listens: `host:port`.
    pub meets_at: String,
}

/// Variables of launchers: rank, number of ranks, rank on the host.
const LAUNCHERS: [[&str; 3]; 4] = [
    ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
    ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"],
    ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"],
];

/// Names `host:port` where rank 0 listens.
const MEETS_AT: &str = "SPARSIGHT_MEET";

impl Ranks {
    /// As torchrun, mpirun (Open MPI, MPICH, Intel's) or srun says in the environment; `None` if none of them has started this process.
    /// Rank 0 listens at `SPARSIGHT_MEET=host:port`, else at torchrun's `MASTER_ADDR`, a port above its `MASTER_PORT`.
    ///
    /// # Errors
    /// [`DeviceError::Link`] if what they say is no rank, or nobody says where to meet.
    pub fn from_environment() -> Result<Option<Self>, DeviceError> {
        Self::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, DeviceError> {
        let is_set = |names: &&[&str; 3]| names[..2].iter().all(|name| variable(name).is_some());
        let Some(names) = LAUNCHERS.iter().find(is_set) else { return Ok(None) };
        let number = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => match text.parse::<usize>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(broken(&format!("{name} is '{text}', no number"))),
            },
        };
        let (rank, ranks) = (number(names[0])?.unwrap_or(0), number(names[1])?.unwrap_or(1));
        if rank >= ranks {
            return Err(broken(&format!("{} is {rank}, and {} is {ranks}", names[0], names[1])));
        }
        let local = number(names[2])?.unwrap_or(rank);
        let master = || {
            let port: u16 = variable("MASTER_PORT")?.parse().ok()?;
            Some(format!("{}:{}", variable("MASTER_ADDR")?, port.checked_add(1)?))
        };
        let here = || (ranks == 1).then(|| "127.0.0.1:0".to_owned());
        let meets_at = variable(MEETS_AT).or_else(master).or_else(here).ok_or_else(|| {
            broken(&format!(
                "nobody says where the ranks meet: set {MEETS_AT}=host:port, of the host of rank 0"
            ))
        })?;
        Ok(Some(Self { rank, ranks, local, meets_at }))
    }

    /// The identity that rank 0 has drawn, told to all of them.
    ///
    /// # Errors
    /// [`DeviceError::Link`] with the ranks that did not come within the limit; [`DeviceError::NoNccl`] on rank 0.
    pub fn identity(&self, limit: Duration) -> Result<Identity, DeviceError> {
        if self.rank == 0 { self.tell(&Identity::new()?, limit) } else { self.ask(limit) }
    }

    /// Rank 0: waits for all others.
    fn tell(&self, identity: &Identity, limit: Duration) -> Result<Identity, DeviceError> {
        let start = Instant::now();
        let mut missing: BTreeSet<usize> = (1..self.ranks).collect();
        if missing.is_empty() {
            return Ok(*identity);
        }
        let failed = |error: std::io::Error| broken(&format!("listening at {}: {error}", self.meets_at));
        let listener = TcpListener::bind(&self.meets_at).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        while !missing.is_empty() {
            match listener.accept() {
                Ok((stream, _)) => {
                    if let Some(rank) = self.tell_one(stream, identity) {
                        missing.remove(&rank);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(NAP),
                Err(error) => return Err(failed(error)),
            }
            if start.elapsed() > limit && !missing.is_empty() {
                let names: Vec<String> = missing.iter().take(8).map(ToString::to_string).collect();
                let more = if missing.len() > 8 { ", ..." } else { "" };
                let seconds = limit.as_secs();
                return Err(broken(&format!(
                    "{} of {} ranks did not come to {} within {seconds} s: {}{more}",
                    missing.len(),
                    self.ranks,
                    self.meets_at,
                    names.join(", ")
                )));
            }
        }
        Ok(*identity)
    }

    /// The rank that was told; `None` for whoever is none of ours.
    fn tell_one(&self, mut stream: TcpStream, identity: &Identity) -> Option<usize> {
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        let mut said = [0; 24];
        stream.read_exact(&mut said).ok()?;
        let (greeting, numbers) = said.split_at(8);
        let number = |at: usize| Some(u64::from_le_bytes(numbers[at..at + 8].try_into().ok()?) as usize);
        let (rank, ranks) = (number(0)?, number(8)?);
        let is_ours = greeting == GREETING && ranks == self.ranks && (1..ranks).contains(&rank);
        if !is_ours {
            return None;
        }
        stream.write_all(identity.bytes()).ok()?;
        Some(rank)
    }

    /// The others: ask until they are told.
    fn ask(&self, limit: Duration) -> Result<Identity, DeviceError> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let error = match self.ask_once(left) {
                Ok(identity) => return Ok(identity),
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

    fn ask_once(&self, left: Duration) -> std::io::Result<Identity> {
        let nowhere = || std::io::Error::new(ErrorKind::NotFound, "there is no such host");
        let address = self.meets_at.to_socket_addrs()?.next().ok_or_else(nowhere)?;
        let left = left.max(NAP);
        let mut stream = TcpStream::connect_timeout(&address, left)?;
        stream.set_read_timeout(Some(left))?;
        let mut said = GREETING.to_vec();
        said.extend((self.rank as u64).to_le_bytes());
        said.extend((self.ranks as u64).to_le_bytes());
        stream.write_all(&said)?;
        let mut bytes = [0; 128];
        stream.read_exact(&mut bytes)?;
        Ok(Identity::from_bytes(bytes))
    }
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
        let refused = |variables: &[(&str, &str)]| ranks(variables).unwrap_err().to_string();
        assert!(refused(&[("RANK", "4"), ("WORLD_SIZE", "4")]).ends_with("RANK is 4, and WORLD_SIZE is 4"));
        assert!(refused(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]).ends_with("PMI_RANK is 'x', no number"));
        assert!(refused(&[("PMI_RANK", "0"), ("PMI_SIZE", "4")]).contains("set SPARSIGHT_MEET=host:port"));
    }

    /// A port that is free now.
    fn somewhere() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    }

    #[test]
    fn all_are_told_one_identity_and_strangers_nothing() {
        let (identity, at) = (Identity::from_bytes([7; 128]), somewhere());
        let rank = |rank| Ranks { rank, ranks: 3, local: rank, meets_at: at.clone() };
        let limit = Duration::from_secs(60);
        thread::scope(|scope| {
            let told = scope.spawn(|| rank(0).tell(&identity, limit));
            let stranger = scope.spawn(|| {
                let mut stream = loop {
                    if let Ok(stream) = TcpStream::connect(&at) {
                        break stream;
                    }
                };
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n......").unwrap();
                let mut told = Vec::new();
                let _ = stream.read_to_end(&mut told);
                told
            });
            assert_eq!(stranger.join().unwrap(), b"");
            let others: Vec<_> = [1, 2].map(|of| scope.spawn(move || rank(of).ask(limit))).into();
            for other in others {
                assert_eq!(other.join().unwrap(), Ok(identity));
            }
            assert_eq!(told.join().unwrap(), Ok(identity));
        });
    }

    #[test]
    fn whoever_does_not_come_is_named_within_the_limit() {
        let at = somewhere();
        let rank = |rank| Ranks { rank, ranks: 3, local: rank, meets_at: at.clone() };
        let short = Duration::from_millis(200);
        let late = rank(0).tell(&Identity::from_bytes([7; 128]), short).unwrap_err().to_string();
        assert!(late.contains("2 of 3 ranks did not come") && late.ends_with(": 1, 2"), "{late}");
        let alone = rank(1).ask(short).unwrap_err().to_string();
        assert!(alone.contains("rank 1 was not told anything"), "{alone}");
    }
}
