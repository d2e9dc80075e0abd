//! Time of a product on GPUs that share a matrix.
//!
//! ```text
//! T = max over the GPUs of  max(max(T_interior, T_exchange) + T_join + T_boundary, T_queue)
//! T_exchange(GPU) = max over host and network of  latency + 1.5 max(bytes got, bytes given) / rate
//! T_queue(GPU)    = queue + sum over host and network of  (peers - 1) each peer
//! ```
//! Guo, Wang and Chen (2014) leave several GPUs as future work, section 6. Interior and boundary rows are predicted by the models of
//! one GPU, each from its own pattern. What lies between GPUs is measured with the very steps that a product takes: entries
//! are packed, brought over and waited for. `T_join` is what waiting for the exchange adds where it ends before the interior, `T_queue` what
//! the host takes to queue all of it: a product of next to nothing takes that long.

use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;

/// Bytes take so many times as long in a product as in the exchange that is measured by itself, which packs neighbouring entries and has
/// the GPU to itself. Chosen by 26 products on four H200s: with it, and with the peers' time in queueing, their mean error went from
/// 10.5 to 8.0 % (on two of them from 8.0 to 8.6 %); that of 18 on eight H200s of another host from 13.1 to 8.0 %.
const IN_A_PRODUCT: f64 = 1.5;

/// Cost of an exchange over one kind of link, packing included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkRate {
    /// An exchange of a few bytes with one peer.
    pub latency_s: Seconds,
    /// Additional time for each peer but the first: the host queues a transfer to and from each.
    #[serde(default)]
    pub per_peer_s: Seconds,
    /// Bytes a second of one GPU in each direction, both at one time.
    pub bytes_per_s: f64,
}

/// Links that join the GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// GPUs of a host: ranks are numbered host by host.
    pub gpus_per_host: usize,
    /// Between GPUs of one host.
    pub host: LinkRate,
    /// Between hosts, of each GPU; `None` where there is one host.
    #[serde(default)]
    pub network: Option<LinkRate>,
    /// Additional time of a product that waits for an exchange that has ended already.
    #[serde(default)]
    pub join_s: Seconds,
    /// A product of next to nothing, with an exchange: what the host takes to queue it.
    #[serde(default)]
    pub queue_s: Seconds,
}

/// Bytes that one GPU exchanges with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchanged {
    /// Rank of the other.
    pub peer: usize,
    /// Bytes that come from it.
    pub gets: u64,
    /// Bytes that go to it.
    pub gives: u64,
}

impl LinkRate {
    /// The line that leaves the smallest squares of relative errors over measured `(bytes in each direction, time)`. `None` for
    /// fewer than two sizes, and where the time does not grow.
    pub fn fit(measured: &[(u64, Seconds)]) -> Option<Self> {
        // Of latency / t + slope bytes / t = 1.
        let (mut aa, mut ab, mut bb, mut a1, mut b1) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (bytes, Seconds(time)) in measured {
            let (a, b) = (1.0 / time, *bytes as f64 / time);
            (aa, ab, bb) = (aa + a * a, ab + a * b, bb + b * b);
            (a1, b1) = (a1 + a, b1 + b);
        }
        let determinant = aa * bb - ab * ab;
        let latency = (a1 * bb - b1 * ab) / determinant;
        let slope = (b1 * aa - a1 * ab) / determinant;
        let is_line = latency.is_finite() && slope.is_finite() && latency > 0.0 && slope > 0.0;
        is_line.then(|| Self {
            latency_s: Seconds(latency),
            per_peer_s: Seconds(0.0),
            bytes_per_s: 1.0 / slope,
        })
    }

    /// Exchanges with so many peers back to back, of so many bytes in the busier direction, and nothing beside; nothing without peers.
    pub fn time(&self, peers: usize, bytes: u64) -> Seconds {
        if peers == 0 {
            return Seconds(0.0);
        }
        Seconds(self.latency_s.0 + self.others(peers).0 + bytes as f64 / self.bytes_per_s)
    }

    /// What the peers but the first add.
    fn others(&self, peers: usize) -> Seconds {
        Seconds(peers.saturating_sub(1) as f64 * self.per_peer_s.0)
    }
}

impl Links {
    /// Peers of GPU `rank` on its host and on others, with the bytes in the busier direction. Where no network is known, all are taken
    /// for GPUs of one host.
    fn by_link(&self, rank: usize, exchanged: &[Exchanged]) -> [(&LinkRate, usize, u64); 2] {
        let has_hosts = self.network.is_some();
        let host_of = |rank: usize| if has_hosts { rank / self.gpus_per_host.max(1) } else { 0 };
        let of_kind = |is_near: bool| {
            let is_so = |e: &&Exchanged| (host_of(e.peer) == host_of(rank)) == is_near;
            let (mut peers, mut gets, mut gives) = (0, 0, 0);
            for one in exchanged.iter().filter(is_so) {
                (peers, gets, gives) = (peers + 1, gets + one.gets, gives + one.gives);
            }
            (peers, gets.max(gives))
        };
        [(&self.host, true), (self.network.as_ref().unwrap_or(&self.host), false)].map(|(link, is_near)| {
            let (peers, bytes) = of_kind(is_near);
            (link, peers, bytes)
        })
    }

    /// Time of GPU `rank` to exchange that with its peers in a product.
    pub fn exchange(&self, rank: usize, exchanged: &[Exchanged]) -> Seconds {
        let time = |(link, peers, bytes): (&LinkRate, usize, u64)| {
            if peers == 0 { 0.0 } else { link.latency_s.0 + IN_A_PRODUCT * bytes as f64 / link.bytes_per_s }
        };
        Seconds(self.by_link(rank, exchanged).map(time).into_iter().fold(0.0, f64::max))
    }

    /// Time of the host to queue a product of GPU `rank`, which exchanges that with its peers.
    pub fn queue(&self, rank: usize, exchanged: &[Exchanged]) -> Seconds {
        let others = self.by_link(rank, exchanged).map(|(link, peers, _)| link.others(peers).0);
        Seconds(self.queue_s.0 + others.into_iter().sum::<f64>())
    }

    /// A product of one GPU's share: the interior is computed while entries are under way. A share without exchange and boundary takes
    /// what its interior takes.
    pub fn product(&self, times: &ShareTimes) -> Seconds {
        let ShareTimes { interior, exchange, boundary, queue } = *times;
        if exchange.0 == 0.0 && boundary.0 == 0.0 {
            return interior;
        }
        Seconds((interior.0.max(exchange.0) + self.join_s.0 + boundary.0).max(queue.0))
    }
}

/// The times of one GPU's share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ShareTimes {
    /// Time of the rows that read only own entries of x.
    pub interior: Seconds,
    /// Time to bring entries of x.
    pub exchange: Seconds,
    /// Time of the rows that read others' entries, too.
    pub boundary: Seconds,
    /// Time of the host to queue all of it.
    pub queue: Seconds,
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: LinkRate =
        LinkRate { latency_s: Seconds(1e-5), per_peer_s: Seconds(1e-6), bytes_per_s: 1e11 };

    #[test]
    fn a_line_is_found_again() {
        let points: Vec<_> =
            (0..8).map(|k| 100 << (3 * k)).map(|bytes| (bytes, HOST.time(1, bytes))).collect();
        let found = LinkRate::fit(&points).unwrap();
        assert!((found.latency_s.0 / 1e-5 - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.bytes_per_s / 1e11 - 1.0).abs() < 1e-6, "{found:?}");
        assert_eq!(LinkRate::fit(&points[..1]), None);
        assert_eq!(LinkRate::fit(&[(1, Seconds(2.0)), (100, Seconds(1.0))]), None);
    }

    #[test]
    fn the_busier_direction_and_the_slower_kind_of_link_count() {
        let network = LinkRate { latency_s: Seconds(5e-5), per_peer_s: Seconds(0.0), bytes_per_s: 1e10 };
        let (join_s, queue_s) = (Seconds(0.5), Seconds(4.0));
        let links = Links { gpus_per_host: 2, host: HOST, network: Some(network), join_s, queue_s };
        let near = Exchanged { peer: 1, gets: 1_000_000, gives: 3_000_000 };
        // 10 us, and 3 MB at two thirds of 100 GB/s.
        assert!((links.exchange(0, &[near]).0 - 5.5e-5).abs() < 1e-12);
        let far = Exchanged { peer: 2, gets: 1_000_000, gives: 0 };
        assert!((links.exchange(0, &[near, far]).0 - 2e-4).abs() < 1e-12);
        assert_eq!(links.exchange(0, &[]), Seconds(0.0));
        assert_eq!(links.queue(0, &[near, far]), queue_s, "one peer over each kind of link");
        let one_host = Links { network: None, ..links };
        // Both peers share the link, and the host queues what goes to each.
        assert!((one_host.exchange(0, &[near, far]).0 - 5.5e-5).abs() < 1e-12);
        assert_eq!(one_host.queue(0, &[near, far]), Seconds(queue_s.0 + 1e-6));
        let (interior, exchange, boundary) = (Seconds(2.0), Seconds(3.0), Seconds(1.0));
        let times = ShareTimes { interior, exchange, boundary, queue: queue_s };
        assert_eq!(links.product(&times), Seconds(4.5));
        let small = ShareTimes { interior: Seconds(1.0), ..times };
        assert_eq!(
            links.product(&ShareTimes { exchange: Seconds(1.0), ..small }),
            Seconds(4.0),
            "queueing takes longer"
        );
        let alone = ShareTimes { interior: Seconds(1.0), ..ShareTimes::default() };
        assert_eq!(links.product(&alone), Seconds(1.0));
    }
}
