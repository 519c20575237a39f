//! What holds for any sequence of acts: nobody enters beyond what a ticket admits unless a conflict
//! or an override is on record, undo restores, repeats open nothing, a crash resumes once.

use proptest::prelude::*;
use stile_core::admissions::{Movement, Way, fold};
use stile_core::device::Device;
use stile_core::ids::{LogId, RecordId};
use stile_core::record::PassageOutcome;
use stile_core::ticket::Reentry;
use stile_core::time::EpochMillis;
use uuid::Uuid;

use crate::common::at_gate::AtGate;
use crate::common::{NINE, id};
use crate::scene::{at, entry, feed, own_entry, records, reopened, scene};

/// One thing that happens at the gate.
#[derive(Debug, Clone, Copy)]
enum Act {
    Scan(u8),
    OneMore,
    Close,
    Undo(u8),
    NotPassed(u8),
    Passed(u8),
    Elsewhere,
    Echo,
    Restart,
    Pass(u16),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => (1..4_u8).prop_map(Act::Scan),
        1 => Just(Act::OneMore),
        1 => Just(Act::Close),
        2 => any::<u8>().prop_map(Act::Undo),
        2 => any::<u8>().prop_map(Act::NotPassed),
        1 => any::<u8>().prop_map(Act::Passed),
        1 => Just(Act::Elsewhere),
        1 => Just(Act::Echo),
        1 => Just(Act::Restart),
        3 => (0..5_000_u16).prop_map(Act::Pass),
    ]
}

/// A gate, and what the test knows of it by its answers alone.
struct Watched {
    scene: AtGate,
    device: Option<Device>,
    /// Own admissions: record, persons, whether they count no longer.
    admitted: Vec<(RecordId, u32, bool)>,
    elsewhere: u32,
    next: u128,
    resumed: u32,
}

impl Watched {
    fn new(admits: u8) -> Self {
        let scene = scene(admits);
        let device = at(&scene, "east");
        Self {
            scene,
            device: Some(device),
            admitted: Vec::new(),
            elsewhere: 0,
            next: 1,
            resumed: 0,
        }
    }

    fn device(&self) -> &Device {
        self.device.as_ref().unwrap()
    }

    fn pick(&self, which: u8) -> Option<usize> {
        let count = self.admitted.len();
        (count > 0).then(|| usize::from(which) % count)
    }

    fn counted(&self) -> u32 {
        let own = self.admitted.iter().filter(|(_, _, gone)| !gone);
        own.map(|(_, persons, _)| persons).sum::<u32>() + self.elsewhere
    }

    fn scan(&mut self, persons: Option<u8>, one_more: bool) {
        let say = stile_core::device::Say { persons, one_more };
        let before = records(self.device(), "scan").len();
        let outcome = self.device().scan_as(&self.scene.g2(0), say);
        if outcome.repeat {
            assert!(!outcome.opens, "a repeat opens nothing");
            assert_eq!(records(self.device(), "scan").len(), before);
        } else if outcome.resumed {
            self.resumed += 1;
        } else if outcome.opens {
            let passages = u32::from(outcome.passages);
            self.admitted
                .push((outcome.record_id.unwrap(), passages, false));
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Scan(persons) => self.scan(Some(persons), false),
            Act::OneMore => self.scan(None, true),
            Act::Close => self.device().gate_closed(),
            Act::Undo(which) => {
                if let Some(at) = self.pick(which) {
                    let undone = self.device().undo(self.admitted[at].0, "wrong").unwrap();
                    assert_eq!(undone.denied.is_some(), self.admitted[at].2);
                    self.admitted[at].2 = true;
                }
            }
            Act::NotPassed(which) => {
                if let Some(at) = self.pick(which) {
                    let admission = Some(self.admitted[at].0);
                    let noted = self.device().passage(admission, PassageOutcome::NotPassed);
                    self.admitted[at].2 |= noted.unwrap().frees;
                }
            }
            Act::Passed(which) => {
                if let Some(at) = self.pick(which) {
                    let admission = Some(self.admitted[at].0);
                    let passed = PassageOutcome::Passed;
                    self.device().passage(admission, passed).unwrap();
                }
            }
            Act::Elsewhere => {
                let item = entry(&self.scene.tickets[0], self.next, -60);
                self.next += 1;
                self.elsewhere += 1;
                self.device().take_feed(&feed(vec![item], "c")).unwrap();
            }
            Act::Echo => {
                let mut scans = records(self.device(), "scan");
                scans.retain(|scan| scan["verdict"] == "admit");
                let items = scans.iter().map(|scan| own_entry(self.device(), scan));
                let items = items.collect();
                self.device().take_feed(&feed(items, "c")).unwrap();
            }
            Act::Restart => {
                self.device = None;
                self.device = Some(reopened(&self.scene, "east"));
            }
            Act::Pass(ms) => self.scene.platform.pass_ms(i64::from(ms)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nobody_enters_beyond_what_the_ticket_admits_by_all_that_the_gate_knows(
        admits in 1..5_u8,
        acts in proptest::collection::vec(act(), 1..30),
    ) {
        let mut watched = Watched::new(admits);
        for act in acts {
            let (before, known) = (watched.counted(), watched.admitted.len());
            watched.act(act);
            // What happens elsewhere may exceed it: a conflict. What this gate adds may not.
            if watched.admitted.len() > known {
                prop_assert!(watched.counted() > before);
                prop_assert!(watched.counted() <= u32::from(admits));
            }
        }
        prop_assert!(watched.resumed as usize <= watched.admitted.len());
    }

    #[test]
    fn an_undo_restores_what_was_there_before(
        admits in 1..5_u8,
        before in proptest::collection::vec(act(), 0..10),
        persons in 1..4_u8,
    ) {
        let mut watched = Watched::new(admits);
        for act in before {
            watched.act(act);
        }
        watched.scene.platform.pass_ms(60_000);
        let remaining = |watched: &Watched| {
            let explained = watched.device().explain(&watched.scene.g2(0), None).unwrap();
            let row = explained.rows.into_iter().find(|tried| tried.row == 20);
            row.map(|tried| tried.saw)
        };
        let known = watched.admitted.len();
        let untouched = remaining(&watched);
        watched.scan(Some(persons), true);
        if watched.admitted.len() > known {
            watched.act(Act::Undo(u8::try_from(known).unwrap()));
            prop_assert_eq!(remaining(&watched), untouched);
        }
    }

    #[test]
    fn a_check_in_resumes_at_most_once_however_often_the_power_fails(
        cuts in proptest::collection::vec((0..15_000_i64, any::<bool>()), 1..6),
    ) {
        let scene = scene(1);
        let device = at(&scene, "east");
        prop_assert!(device.scan(&scene.g2(0)).opens);
        drop(device);
        let (mut resumed, mut passed_ms) = (0, 0);
        for (off_ms, reads) in cuts {
            scene.reboot(off_ms);
            passed_ms += off_ms;
            let device = reopened(&scene, "east");
            if reads {
                let outcome = device.scan(&scene.g2(0));
                prop_assert!(!outcome.opens || outcome.resumed);
                prop_assert!(!outcome.resumed || passed_ms <= 30_000);
                resumed += u32::from(outcome.opens);
            }
        }
        prop_assert!(resumed <= 1);
    }
}

fn movements() -> impl Strategy<Value = Vec<Movement>> {
    let one = (
        any::<bool>(),
        1..4_u8,
        0..5_i64,
        any::<(bool, bool)>(),
        prop::bool::weighted(0.1),
        0..3_u8,
    );
    proptest::collection::vec(one, 0..12).prop_map(|some| {
        let made = some.into_iter().zip(1_u64..);
        made.map(
            |((is_exit, persons, at, (anchored, claim_granted), waived, device), n)| Movement {
                record_id: RecordId(Uuid::from_u128(u128::from(n))),
                way: if is_exit { Way::Exit } else { Way::Entry },
                persons,
                at: EpochMillis((NINE + at) * 1000),
                anchored,
                claim_granted,
                waived_already_used: waived,
                gate_id: id("east"),
                device_id: id(&format!("pda-{device}")),
                log_id: LogId(Uuid::from_u128(u128::from(device))),
                sequence: n,
            },
        )
        .collect()
    })
}

fn reentry() -> impl Strategy<Value = Reentry> {
    prop_oneof![
        Just(Reentry::None),
        Just(Reentry::AfterExit),
        Just(Reentry::Free)
    ]
}

proptest! {
    #[test]
    fn the_fold_does_not_depend_on_the_order_of_arrival_nor_on_records_that_come_twice(
        admits in 1..6_u8,
        reentry in reentry(),
        (arrived, shuffled) in movements().prop_flat_map(|some| {
            let doubled: Vec<_> = some.iter().chain(&some).cloned().collect();
            (Just(some), Just(doubled).prop_shuffle())
        }),
    ) {
        prop_assert_eq!(fold(admits, reentry, arrived), fold(admits, reentry, shuffled));
    }

    #[test]
    fn winners_fit_whole_and_every_other_entry_loses_or_was_let_in_by_name(
        admits in 1..6_u8,
        some in movements(),
    ) {
        let entries: Vec<_> = some.iter().filter(|one| one.way == Way::Entry).collect();
        let folded = fold(admits, Reentry::None, some.clone());
        let persons = |ids: &[RecordId]| -> u32 {
            let named = entries.iter().filter(|one| ids.contains(&one.record_id));
            named.map(|one| u32::from(one.persons)).sum()
        };
        prop_assert!(persons(&folded.winners) <= u32::from(admits));
        let waived = entries.iter().filter(|one| one.waived_already_used);
        prop_assert!(waived.clone().all(|one| !folded.losers.contains(&one.record_id)));
        let beyond = entries.iter().filter(|one| {
            !folded.winners.contains(&one.record_id) && !one.waived_already_used
        });
        prop_assert!(beyond.clone().all(|one| folded.losers.contains(&one.record_id)));
    }
}
