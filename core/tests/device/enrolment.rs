//! How a device becomes one, and whom it does not trust.

use std::sync::Arc;

use stile_core::device::{Candidate, Device, DeviceError, IdentityError};

use crate::bed::at_gate;
use crate::common::{NINE, TestPlatform, Venue, id};

#[test]
fn a_folder_without_an_identity_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Device::open(folder.path(), None, Arc::new(TestPlatform::at(NINE)));
    assert!(matches!(
        opened,
        Err(DeviceError::Identity(IdentityError::NotEnrolled(_)))
    ));
}

#[test]
fn a_server_with_another_root_than_the_qr_names_enrols_nobody() {
    let venue = Venue::new();
    let mut text = venue.enrolment_text();
    text.root_fingerprint = "00".repeat(32);
    let candidate = Candidate::new(text, &TestPlatform::at(NINE));
    let answer = venue.enrol(&candidate.request("pda", "test"));
    assert!(matches!(
        candidate.accept(answer),
        Err(IdentityError::WrongRoot)
    ));
}

#[test]
fn a_certificate_for_another_key_enrols_nobody() {
    let venue = Venue::new();
    let candidate = Candidate::new(venue.enrolment_text(), &TestPlatform::at(NINE));
    let mut request = candidate.request("pda", "test");
    request.public_key = venue.code_key.verifying_key().to_base64();
    let answer = venue.enrol(&request);
    assert!(matches!(
        candidate.accept(answer),
        Err(IdentityError::WrongCertificate)
    ));
}

#[test]
fn a_device_serves_only_the_gates_that_it_was_enrolled_for() {
    let gate = at_gate();
    let opened = Device::open(
        gate.folder.path(),
        Some(&id("vault")),
        gate.platform.clone(),
    );
    assert!(matches!(opened, Err(DeviceError::Gate { .. })));
}
