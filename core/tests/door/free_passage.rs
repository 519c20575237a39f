//! The gate stands open for everybody.

use stile_core::device::FreePassageError;
use stile_core::policy::FreePassageTime;
use stile_core::record::{FreePassageCause, PassageOutcome};
use stile_core::time::EpochSeconds;

use crate::common::{NINE, id};
use crate::scene::{at, records, reopened, scene};

#[test]
fn readings_are_not_judged_and_passages_are_counted_over_a_restart() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    device
        .begin_free_passage(FreePassageCause::Emergency, "")
        .unwrap();
    let free = device.scan(&scene.g2(0));
    assert!(free.free_passage && !free.opens);
    assert_eq!(free.record_id, None);
    device.passage(None, PassageOutcome::Passed).unwrap();
    drop(device);
    let device = reopened(&scene, "arm-1");
    assert_eq!(device.free_passage(), Some(FreePassageCause::Emergency));
    for _ in 0..2 {
        device.passage(None, PassageOutcome::Passed).unwrap();
    }
    let ended = device.end_free_passage(FreePassageCause::Emergency);
    assert_eq!(ended.unwrap(), Some(Some(3)));
    assert_eq!(device.free_passage(), None);
    assert!(
        device.scan(&scene.g2(0)).opens,
        "judged again, and not used"
    );
    let said = records(&device, "free_passage");
    assert_eq!(said.len(), 2);
    assert_eq!(
        (&said[0]["begins"], &said[1]["begins"]),
        (&true.into(), &false.into())
    );
    assert_eq!(said[1]["refers_to"], said[0]["id"]);
    assert_eq!(said[1]["passages"], 3);
}

#[test]
fn staff_must_say_why_and_one_cause_does_not_end_another() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    let blank = device.begin_free_passage(FreePassageCause::Staff, " ");
    assert!(matches!(blank, Err(FreePassageError::NoReason)));
    device
        .begin_free_passage(FreePassageCause::Staff, "school class")
        .unwrap();
    device
        .begin_free_passage(FreePassageCause::Emergency, "")
        .unwrap();
    device.end_free_passage(FreePassageCause::Staff).unwrap();
    assert_eq!(device.free_passage(), Some(FreePassageCause::Emergency));
    let nothing = device.end_free_passage(FreePassageCause::Staff).unwrap();
    assert_eq!(nothing, None);
}

#[test]
fn the_plan_opens_the_gate_and_shuts_it_again() {
    let mut scene = scene(1);
    scene.venue.policy.free_passage = vec![FreePassageTime {
        gate_id: id("arm-1"),
        from: EpochSeconds(NINE + 60),
        until: EpochSeconds(NINE + 120),
        why: "open day".into(),
    }];
    let device = at(&scene, "arm-1");
    assert!(device.scan(&scene.g2(0)).opens);
    scene.platform.pass_ms(60_000);
    assert!(device.scan(&scene.g2(1)).free_passage);
    scene.platform.pass_ms(60_000);
    assert!(device.scan(&scene.g2(1)).opens);
    let said = records(&device, "free_passage");
    assert_eq!(said[0]["cause"], "scheduled");
    assert_eq!(said[0]["why"], "open day");
    assert_eq!(said.len(), 2);
}

#[test]
fn a_plan_whose_list_is_gone_ends_and_the_gate_is_shut() {
    let mut scene = scene(1);
    scene.venue.policy.free_passage = vec![FreePassageTime {
        gate_id: id("arm-1"),
        from: EpochSeconds(NINE),
        until: EpochSeconds(NINE + 120),
        why: "open day".into(),
    }];
    let device = at(&scene, "arm-1");
    assert!(device.scan(&scene.g2(0)).free_passage);
    drop(device);
    for entry in std::fs::read_dir(scene.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("whitelist-")
        {
            std::fs::write(path, b"rotten").unwrap();
        }
    }
    let device = reopened(&scene, "arm-1");
    assert_eq!(device.amiss().lists_dropped, 1);
    let outcome = device.scan(&scene.g2(0));
    assert!(!outcome.opens && !outcome.free_passage);
    assert_eq!(device.free_passage(), None);
}
