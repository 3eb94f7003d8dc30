//! The simulated service: events in the order of their times, tenants on replicas by rendezvous hashing, caches with a limit.
//!
//! Times are whole microseconds, and random numbers come from a generator of our own: the same seed gives the same run on
//! every machine.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

use super::parameters::Parameters;

pub(super) const SECOND: u64 = 1_000_000;
pub(super) const HOUR: u64 = 3_600 * SECOND;
/// The share of a day's requests in each hour, in thousandths.
pub(super) const DAY_CURVE: [u64; 24] = [
    10, 7, 5, 5, 6, 10, 20, 38, 62, 78, 82, 76, 62, 70, 80, 78, 70, 58, 46, 38, 34, 28, 22, 15,
];

/// The part of a run that is not a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    /// The hours of the day that are simulated.
    pub(super) first_hour: usize,
    pub(super) hours: usize,
    /// Whether caches start with the busiest tenants.
    pub(super) is_warm: bool,
    /// The hour of the day at which the first replica fails.
    pub(super) fails_at: Option<usize>,
}

/// The counts and latencies of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimulationResult {
    pub(super) requests: u64,
    pub(super) answered: u64,
    /// Requests to a replica that was dead, or died before it answered.
    pub(super) failed: u64,
    pub(super) hits: u64,
    /// Times that a tenant was read from object storage, and those of them that a replica had read before.
    pub(super) misses: u64,
    pub(super) warmed_again: u64,
    pub(super) gets: u64,
    pub(super) puts: u64,
    pub(super) bytes_read: u64,
    /// The processor time of all requests, in microseconds.
    pub(super) busy: u64,
    /// Latencies in microseconds: of searches in a cached tenant, of those that waited for one, and of edits.
    pub(super) warm: Vec<u64>,
    pub(super) cold: Vec<u64>,
    pub(super) edits: Vec<u64>,
}

impl SimulationResult {
    /// Returns a latency in ms, such that this many thousandths are not longer.
    pub(super) fn per_mille(latencies: &[u64], share: usize) -> f64 {
        let mut sorted = latencies.to_vec();
        sorted.sort_unstable();
        let at = (sorted.len() * share / 1_000).min(sorted.len().saturating_sub(1));
        sorted.get(at).map_or(0.0, |time| *time as f64 / 1_000.0)
    }
}

/// Random numbers by SplitMix64.
struct Random(u64);

fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// Returns the sums of Zipf's weights, each including its own, so that the last is the sum of all.
fn zipf(count: usize) -> Vec<u64> {
    let weights = (0..count as u64).scan(0_u64, |sum, rank| {
        // Flattened, so that the first few tenants are not everything.
        *sum += 1_000_000_000_000 / (rank + 10);
        Some(*sum)
    });
    weights.collect()
}

#[derive(Clone, Copy, Debug)]
struct SimulatedRequest {
    at: u64,
    tenant: usize,
    is_edit: bool,
    replica: usize,
    /// The number of failures of its replica when it arrived.
    life: u32,
    is_cold: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Fail(usize),
    Notice(usize),
    Return(usize),
    Arrive(usize),
    /// Everything from elsewhere is there: a processor can start.
    Start(usize),
    Finish(usize),
}

#[derive(Default)]
struct Replica {
    is_dead: bool,
    /// Whether requests are kept away.
    is_avoided: bool,
    life: u32,
    busy_cores: usize,
    waiting: VecDeque<usize>,
    cached: BTreeMap<usize, CachedTenant>,
    /// Tenants by the time of their last use.
    uses: BTreeMap<(u64, usize), ()>,
    bytes: u64,
    was_cached: Vec<bool>,
}

struct CachedTenant {
    bytes: u64,
    used: u64,
    ready: u64,
    checked: u64,
}

impl Replica {
    fn touch(&mut self, tenant: usize, at: u64) {
        if let Some(cached) = self.cached.get_mut(&tenant) {
            self.uses.remove(&(cached.used, tenant));
            cached.used = at;
            self.uses.insert((at, tenant), ());
        }
    }

    /// Adds a tenant, and removes others that were not used for the longest time.
    fn insert(&mut self, tenant: usize, (at, ready): (u64, u64), bytes: u64, most: u64) {
        self.cached.insert(
            tenant,
            CachedTenant {
                bytes,
                used: at,
                ready,
                checked: ready,
            },
        );
        self.uses.insert((at, tenant), ());
        self.bytes += bytes;
        self.was_cached[tenant] = true;
        while self.bytes > most {
            let Some(((_, oldest), ())) = self.uses.pop_first() else {
                break;
            };
            if let Some(removed) = self.cached.remove(&oldest) {
                self.bytes -= removed.bytes;
            }
        }
    }
}

/// A service with its state.
struct Cluster<'p> {
    parameters: &'p Parameters,
    replicas: Vec<Replica>,
    requests: Vec<SimulatedRequest>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// The notes of each tenant.
    notes: Vec<u64>,
    outcome: SimulationResult,
}

/// Runs a scenario.
pub(super) fn run(parameters: &Parameters, scenario: Scenario) -> SimulationResult {
    let tenants = (parameters.tenants as usize).max(1);
    let sums = zipf(tenants);
    let all = sums.last().copied().unwrap_or(1);
    let notes = (0..tenants).map(|tenant| {
        let weight = sums[tenant] - if tenant == 0 { 0 } else { sums[tenant - 1] };
        ((weight as f64 * parameters.notes / all as f64) as u64).max(1)
    });
    let replica = || Replica {
        was_cached: vec![false; tenants],
        ..Replica::default()
    };
    let mut cluster = Cluster {
        parameters,
        notes: notes.collect(),
        replicas: (0..(parameters.replicas as usize).max(1))
            .map(|_| replica())
            .collect(),
        requests: requests(parameters, &scenario, &sums),
        events: BinaryHeap::new(),
        outcome: SimulationResult::default(),
    };
    if scenario.is_warm {
        cluster.warm_up();
    }
    let start = |hour: usize| hour.saturating_sub(scenario.first_hour) as u64 * HOUR;
    if let Some(hour) = scenario.fails_at {
        let at = start(hour);
        let detected = at + (parameters.detect_seconds * SECOND as f64) as u64;
        let back = at + (parameters.dead_minutes * 60.0 * SECOND as f64) as u64;
        cluster.push(at, Event::Fail(0));
        cluster.push(detected, Event::Notice(0));
        cluster.push(back.max(detected), Event::Return(0));
    }
    for number in 0..cluster.requests.len() {
        cluster.push(cluster.requests[number].at, Event::Arrive(number));
    }
    cluster.outcome.requests = cluster.requests.len() as u64;
    while let Some(Reverse((now, event))) = cluster.events.pop() {
        cluster.handle(now, event);
    }
    cluster.outcome
}

/// Makes the requests of a scenario, by their times.
fn requests(parameters: &Parameters, scenario: &Scenario, sums: &[u64]) -> Vec<SimulatedRequest> {
    let mut random = Random(scenario.seed);
    let all = sums.last().copied().unwrap_or(1);
    let mut requests = Vec::new();
    for hour in 0..scenario.hours {
        let share = DAY_CURVE[(scenario.first_hour + hour) % DAY_CURVE.len()];
        let count = (parameters.requests * share as f64 / 1_000.0) as u64;
        requests.extend((0..count).map(|_| {
            let chosen = random.below(all);
            SimulatedRequest {
                at: hour as u64 * HOUR + random.below(HOUR),
                tenant: sums.partition_point(|sum| *sum <= chosen),
                is_edit: (random.below(1_000_000) as f64) < parameters.edit_share * 1e6,
                replica: 0,
                life: 0,
                is_cold: false,
            }
        }));
    }
    requests.sort_by_key(|request| request.at);
    requests
}

impl Cluster<'_> {
    fn push(&mut self, at: u64, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    /// Returns the replica of a tenant: the one with the highest hash of both, among those that are not avoided.
    fn place(&self, tenant: usize) -> Option<usize> {
        let weight = |replica: usize| mixed(((tenant as u64) << 20) | (replica as u64 + 1));
        let usable = (0..self.replicas.len()).filter(|at| !self.replicas[*at].is_avoided);
        usable.max_by_key(|replica| weight(*replica))
    }

    fn bytes_of(&self, tenant: usize) -> u64 {
        let each = self.parameters.document_bytes + self.parameters.index_bytes;
        (self.notes[tenant] as f64 * each) as u64
    }

    fn most_bytes(&self) -> u64 {
        (self.parameters.cache_gb * 1e9) as u64
    }

    /// Fills the caches with the busiest tenants.
    fn warm_up(&mut self) {
        let most = self.most_bytes();
        for tenant in 0..self.notes.len() {
            let bytes = self.bytes_of(tenant);
            if let Some(place) = self.place(tenant)
                && self.replicas[place].bytes + bytes <= most
            {
                self.replicas[place].insert(tenant, (0, 0), bytes, most);
            }
        }
    }

    fn handle(&mut self, now: u64, event: Event) {
        match event {
            Event::Fail(at) => {
                let replica = &mut self.replicas[at];
                replica.is_dead = true;
                replica.life += 1;
                self.outcome.failed += replica.waiting.len() as u64;
                replica.waiting.clear();
                replica.busy_cores = 0;
                replica.cached.clear();
                replica.uses.clear();
                replica.bytes = 0;
            }
            Event::Notice(at) => self.replicas[at].is_avoided = self.replicas[at].is_dead,
            Event::Return(at) => {
                self.replicas[at].is_dead = false;
                self.replicas[at].is_avoided = false;
            }
            Event::Arrive(number) => self.arrive(now, number),
            Event::Start(number) => {
                let SimulatedRequest { replica, life, .. } = self.requests[number];
                if self.replicas[replica].life != life {
                    self.outcome.failed += 1;
                    return;
                }
                self.replicas[replica].waiting.push_back(number);
                self.start_next(now, replica);
            }
            Event::Finish(number) => {
                let request = self.requests[number];
                if self.replicas[request.replica].life != request.life {
                    self.outcome.failed += 1;
                    return;
                }
                self.outcome.answered += 1;
                let took = now - request.at;
                match (request.is_edit, request.is_cold) {
                    (true, _) => self.outcome.edits.push(took),
                    (false, true) => self.outcome.cold.push(took),
                    (false, false) => self.outcome.warm.push(took),
                }
                self.replicas[request.replica].busy_cores -= 1;
                self.start_next(now, request.replica);
            }
        }
    }

    fn arrive(&mut self, now: u64, number: usize) {
        let (tenant, is_edit) = (self.requests[number].tenant, self.requests[number].is_edit);
        let place = self.place(tenant);
        let Some(at) = place.filter(|at| !self.replicas[*at].is_dead) else {
            self.outcome.failed += 1;
            return;
        };
        let parameters = self.parameters;
        let milliseconds = |time: f64| (time * 1_000.0) as u64;
        let (bytes, most) = (self.bytes_of(tenant), self.most_bytes());
        let segments = (bytes as f64 / (parameters.segment_mb * 1e6).max(1.0)).ceil();
        let life = self.replicas[at].life;
        let replica = &mut self.replicas[at];
        replica.touch(tenant, now);
        let (mut ready, is_cold) = match replica.cached.get_mut(&tenant) {
            Some(cached) => {
                self.outcome.hits += 1;
                let mut ready = cached.ready.max(now);
                if now >= cached.checked + (parameters.check_seconds * SECOND as f64) as u64 {
                    self.outcome.gets += 1;
                    cached.checked = now;
                    ready += milliseconds(parameters.get_ms);
                }
                (ready, cached.ready > now)
            }
            None => {
                self.outcome.misses += 1;
                self.outcome.warmed_again += u64::from(replica.was_cached[tenant]);
                self.outcome.gets += 1 + segments as u64;
                self.outcome.bytes_read += bytes;
                let reading = bytes as f64 / (parameters.storage_mb_s * 1e3).max(1.0);
                // The manifest first, then the segments side by side.
                let ready = now + milliseconds(2.0 * parameters.get_ms + reading);
                replica.insert(tenant, (now, ready), bytes, most);
                (ready, true)
            }
        };
        if is_edit {
            self.outcome.puts += parameters.edit_puts as u64;
            // Blobs side by side, and then the head by a conditional PUT.
            ready += milliseconds(2.0 * parameters.put_ms);
        }
        let request = &mut self.requests[number];
        (request.replica, request.life, request.is_cold) = (at, life, is_cold);
        self.push(ready, Event::Start(number));
    }

    /// Starts waiting requests on the free cores of a replica.
    fn start_next(&mut self, now: u64, at: usize) {
        let cores = (self.parameters.cores as usize).max(1);
        while self.replicas[at].busy_cores < cores {
            let Some(number) = self.replicas[at].waiting.pop_front() else {
                return;
            };
            self.replicas[at].busy_cores += 1;
            let time = self.processor_time(&self.requests[number]);
            self.outcome.busy += time;
            self.push(now + time, Event::Finish(number));
        }
    }

    /// Returns the processor time of a request in microseconds. That of a search grows with the notes of its tenant.
    fn processor_time(&self, request: &SimulatedRequest) -> u64 {
        let parameters = self.parameters;
        let time = match request.is_edit {
            true => parameters.edit_ms + parameters.build_ms,
            false => {
                let thousands = self.notes[request.tenant] as f64 / 1_000.0;
                parameters.search_ms + parameters.search_1000_ms * thousands
            }
        };
        ((time * 1_000.0) as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Parameters {
        Parameters {
            tenants: 300.0,
            notes: 100_000.0,
            requests: 20_000.0,
            replicas: 3.0,
            cache_gb: 0.1,
            ..Parameters::default()
        }
    }

    fn day(seed: u64) -> Scenario {
        Scenario {
            seed,
            first_hour: 0,
            hours: 24,
            is_warm: false,
            fails_at: None,
        }
    }

    fn unlimited() -> Parameters {
        Parameters {
            cache_gb: 1e6,
            ..small()
        }
    }

    #[test]
    fn every_request_is_answered_or_failed() {
        for (fails_at, cache_gb) in [
            (None, 0.1),
            (Some(10), 0.1),
            (Some(10), 0.0),
            (Some(14), 1.0),
        ] {
            let parameters = Parameters {
                cache_gb,
                detect_seconds: 600.0,
                ..small()
            };
            let scenario = Scenario { fails_at, ..day(1) };
            let outcome = run(&parameters, scenario);
            assert_eq!(outcome.requests, 20_000);
            assert_eq!(outcome.answered + outcome.failed, outcome.requests);
            let latencies = outcome.warm.len() + outcome.cold.len() + outcome.edits.len();
            assert_eq!(latencies as u64, outcome.answered);
            assert_eq!(outcome.failed > 0, fails_at.is_some());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let scenario = Scenario {
            fails_at: Some(10),
            ..day(7)
        };
        assert_eq!(run(&small(), scenario), run(&small(), scenario));
        assert_ne!(run(&small(), scenario), run(&small(), day(8)));
    }

    #[test]
    fn an_unlimited_cache_misses_each_tenant_once() {
        let outcome = run(&unlimited(), day(2));
        let mut tenants: Vec<usize> = requests(&unlimited(), &day(2), &zipf(300))
            .iter()
            .map(|request| request.tenant)
            .collect();
        tenants.sort_unstable();
        tenants.dedup();
        assert_eq!(outcome.misses, tenants.len() as u64);
        assert_eq!(outcome.warmed_again, 0);
        assert!(run(&small(), day(2)).warmed_again > 0);
    }

    #[test]
    fn only_the_tenants_of_a_failed_replica_are_read_elsewhere() {
        let warm = Scenario {
            is_warm: true,
            ..day(3)
        };
        assert_eq!(run(&unlimited(), warm).misses, 0);
        let failing = Scenario {
            fails_at: Some(10),
            ..warm
        };
        let outcome = run(&unlimited(), failing);
        // A third of them, once elsewhere and once again when it is back.
        assert!((60..=250).contains(&outcome.misses), "{}", outcome.misses);
        assert!(outcome.warmed_again > 0 && outcome.warmed_again < outcome.misses);
    }

    #[test]
    fn tenants_are_spread_and_most_stay_when_a_replica_fails() {
        let parameters = small();
        let mut cluster = Cluster {
            parameters: &parameters,
            replicas: (0..3).map(|_| Replica::default()).collect(),
            requests: Vec::new(),
            events: BinaryHeap::new(),
            notes: vec![1; 300],
            outcome: SimulationResult::default(),
        };
        let places = |cluster: &Cluster<'_>| -> Vec<usize> {
            (0..300)
                .filter_map(|tenant| cluster.place(tenant))
                .collect()
        };
        let before = places(&cluster);
        cluster.replicas[0].is_avoided = true;
        let after = places(&cluster);
        for replica in 0..3 {
            let count = before.iter().filter(|at| **at == replica).count();
            assert!((70..130).contains(&count), "{count}");
        }
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after || *before == 0);
            assert_ne!(*after, 0);
        }
    }

    #[test]
    fn the_hours_of_a_day_are_a_day() {
        assert_eq!(DAY_CURVE.iter().sum::<u64>(), 1_000);
    }
}
