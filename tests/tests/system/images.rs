//! A gate put back from an image of its own disk, while the server remembers what came after.

use std::fs;
use std::path::Path;
use std::time::Duration;

use stile_core::reason::Reason;
use stile_tests::museum::wait_until_drained;

use crate::house::House;

/// How long a gate may take to hear of its own lost admissions by the feed.
const HEARD: Duration = Duration::from_secs(60);

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&entry.path(), &to.join(entry.file_name())),
            kind if kind.is_file() => {
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
            _ => {}
        }
    }
}

#[test]
fn situation_32_a_gate_put_back_from_its_own_image_goes_on_and_nothing_true_is_set_aside() {
    let mut house = House::open(300);
    let codes: Vec<_> = (0..6).map(|_| house.code()).collect();
    assert!(house.turnstile.scan(&codes[0]).unwrap().opens);
    wait_until_drained(&[&house.turnstile]).unwrap();
    house.turnstile.stop().unwrap();
    let data = house.turnstile.data().to_owned();
    let image = house.museum.folder.join("image");
    copy(&data, &image);

    // A morning's work, which the image does not hold.
    house.turnstile.start().unwrap();
    for code in &codes[1..3] {
        assert!(house.turnstile.scan(code).unwrap().opens);
    }
    wait_until_drained(&[&house.turnstile]).unwrap();
    house.turnstile.stop().unwrap();
    house.museum.server.stop().unwrap();

    fs::remove_dir_all(&data).unwrap();
    copy(&image, &data);
    house.turnstile.start().unwrap();
    for code in &codes[3..5] {
        assert!(house.turnstile.scan(code).unwrap().opens);
    }
    house.museum.server.start().unwrap();
    wait_until_drained(&[&house.turnstile]).unwrap();
    let log = house.log();
    assert_eq!(log.len(), 5, "the server has all of both lives");
    assert_eq!(house.turnstile.status().unwrap().quarantined, 0);
    // What the journal lost, the feed brings.
    let mut back = 0;
    while back < 2 {
        let told = house.turnstile.wait_for_event("journal_went_back", HEARD);
        back += told.unwrap()["lacking"].as_u64().unwrap();
    }
    assert_eq!(back, 2);
    for code in &codes[1..3] {
        let said = house.turnstile.scan(code).unwrap();
        assert_eq!(said.reason, Some(Reason::AlreadyUsed));
    }
    assert!(house.turnstile.scan(&codes[5]).unwrap().opens);
}
