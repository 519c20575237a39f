//! SIGKILL at random moments, under load, with a network that fails at random. Seeded: a run that
//! fails is run again by its seed. `make chaos` does it a thousand times to each.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use stile_tests::network::{Fault, RECORDS};

use crate::house::House;

/// Kills of one test, unless [`KILLS`] says another number.
const ROUNDS: usize = 24;
/// The variable that does.
const KILLS: &str = "STILE_KILLS";
/// Codes that are minted at once: few enough that none expires before it is read.
const STOCK: usize = 200;
/// Tickets of the day for each round: not all are good now and at both gates.
const TICKETS: usize = 60;
/// Lines put on each gate's scanner in one round, at most.
const LINES: usize = 8;
/// The latest moment of a kill behind the first line, in µs: some ten scans.
const LATEST_US: u64 = 40_000;
/// The share of requests that meet a fault.
const FAULTS: f64 = 0.15;

#[test]
fn gates_killed_at_random_moments_lose_and_double_nothing() {
    kill_at_random(1, &[Victim::Entrance, Victim::Turnstile]);
}

#[test]
fn a_server_killed_at_random_moments_loses_and_doubles_nothing() {
    kill_at_random(2, &[Victim::Server]);
}

#[test]
fn anything_killed_at_random_moments_loses_and_doubles_nothing() {
    kill_at_random(3, &[Victim::Entrance, Victim::Turnstile, Victim::Server]);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Entrance,
    Turnstile,
    Server,
}

fn rounds() -> usize {
    let said = std::env::var(KILLS).ok();
    said.map_or(ROUNDS, |kills| {
        kills.parse().expect("STILE_KILLS is a number")
    })
}

fn kill_at_random(seed: u64, victims: &[Victim]) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let rounds = rounds();
    let mut house = House::open(STOCK * 8 + TICKETS * rounds);
    let mut codes = VecDeque::new();
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    // The first upload always meets a fault: a gate that has failed often tries so seldom that
    // chance alone may spare the few uploads of a run.
    let mut is_first = true;
    house.museum.network.plan(move |path, _| {
        let hit = path == RECORDS && (std::mem::take(&mut is_first) || dice.random_bool(FAULTS));
        hit.then(|| Fault::KINDS.choose(&mut dice).copied())
            .flatten()
    });
    for round in 0..rounds {
        if codes.len() < 2 * LINES {
            codes.extend(house.codes(STOCK));
        }
        let victim = *victims.choose(&mut random).unwrap();
        let lines = random.random_range(1..=LINES);
        for code in codes.drain(..lines) {
            house.entrance.send(&code).unwrap();
        }
        for code in codes.drain(..lines) {
            house.turnstile.send(&code).unwrap();
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..LATEST_US)));
        match victim {
            Victim::Entrance => house.entrance.kill().unwrap(),
            Victim::Turnstile => house.turnstile.kill().unwrap(),
            Victim::Server => house.museum.server.kill().unwrap(),
        }
        // Whoever lives answers every line.
        for (gate, own) in [
            (&mut house.entrance, Victim::Entrance),
            (&mut house.turnstile, Victim::Turnstile),
        ] {
            if victim != own {
                for _ in 0..lines {
                    let said = gate.hear().unwrap();
                    assert!(said.opens, "seed {seed}, round {round}: {said:?}");
                }
            }
        }
        match victim {
            Victim::Entrance => house.entrance.start().unwrap(),
            Victim::Turnstile => house.turnstile.start().unwrap(),
            Victim::Server => house.museum.server.start().unwrap(),
        }
    }
    assert!(
        house.museum.network.faults() > 0,
        "seed {seed}: no request met a fault"
    );
    house.museum.network.mend();
    // Started anew, a gate does not sit out the waits that the faults have earned it.
    for gate in [&mut house.entrance, &mut house.turnstile] {
        gate.stop().unwrap();
        gate.start().unwrap();
    }
    house.everything_has_arrived_once();
    let mut admissions: HashMap<String, u32> = HashMap::new();
    for ticket in house.check_ins() {
        *admissions.entry(ticket).or_default() += 1;
    }
    assert!(admissions.values().all(|times| *times == 1), "seed {seed}");
    assert!(
        admissions.len() > rounds,
        "seed {seed}: only {} were admitted",
        admissions.len()
    );
    println!(
        "seed {seed}: {rounds} kills survived, {} admitted, none lost and none doubled",
        admissions.len()
    );
    assert!(house.museum.api.conflicts().unwrap().conflicts.is_empty());
}
