//! Passage sensor and emergency input.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stile_turnstile::inputs::{self, InputSettings, Passages};
use stile_turnstile::ports::Ports;
use stile_turnstile::relay::{LogRelay, PulseEvent, Pulses};
use stile_turnstile::scanner::{Input, queue};

use crate::common::process::{Place, Running, Scene, eventually, text_of};

/// Sets an input: whole, as a kernel's file changes.
fn set(path: &Path, level: &str) {
    let aside = path.with_extension("new");
    fs::write(&aside, level).unwrap();
    fs::rename(aside, path).unwrap();
}

fn run(scene: &Scene, inputs: &str) -> Running {
    let config = format!("[inputs]\n{inputs}\n");
    fs::write(scene.place.data().join("stile-gate.toml"), config).unwrap();
    scene.place.run(&[])
}

#[test]
fn in_an_emergency_the_gate_stands_open_without_verdicts_and_closes_when_it_is_over() {
    let scene = Scene::new();
    let button = scene.place.beside("button");
    set(&button, "1\n");
    let emergency = format!("emergency = \"file:{},active=low\"", button.display());
    let mut gate = run(&scene, &emergency);
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    set(&button, "0\n");
    gate.event("held_open");
    gate.event("emergency_on");
    gate.type_line(&scene.code(1));
    // Read after the code, and told: the code has been passed over.
    gate.type_line(&"x".repeat(5_000));
    gate.event("code_overlong");
    set(&button, "1\n");
    gate.event("emergency_off");
    assert_eq!(gate.scan(&scene.code(2))["verdict"], "admit");
    gate.terminate();
    let expected = [
        "close", "open", "close", "open", "close", "open", "close", "close",
    ];
    assert_eq!(scene.place.relay_moves(), expected);
    let kinds = scene.place.record_kinds();
    assert_eq!(kinds, ["scan", "free_passage", "free_passage", "scan"]);
}

#[test]
fn an_emergency_that_ended_while_the_gate_was_off_is_over_at_the_start() {
    let scene = Scene::new();
    let button = scene.place.beside("button");
    set(&button, "1");
    let emergency = format!("emergency = \"file:{}\"", button.display());
    let mut gate = run(&scene, &emergency);
    gate.event("emergency_on");
    gate.kill();
    set(&button, "0");
    let mut gate = run(&scene, &emergency);
    gate.event("emergency_off");
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.kill();
    // Its input was taken away meanwhile: nothing could ever end it.
    set(&button, "1");
    let mut gate = run(&scene, &emergency);
    gate.event("emergency_on");
    gate.kill();
    let mut gate = run(&scene, "");
    assert_eq!(gate.scan(&scene.code(1))["verdict"], "admit");
}

#[test]
fn situation_38_persons_who_pass_in_an_emergency_are_counted() {
    let scene = Scene::new();
    let (button, sensor) = (scene.place.beside("button"), scene.place.beside("sensor"));
    set(&button, "1");
    set(&sensor, "0");
    let inputs = format!(
        "emergency = \"file:{}\"\npassage = \"file:{}\"",
        button.display(),
        sensor.display()
    );
    let mut gate = run(&scene, &inputs);
    gate.event("emergency_on");
    for _ in 0..2 {
        set(&sensor, "1");
        gate.event("passed");
        set(&sensor, "0");
        std::thread::sleep(Duration::from_millis(300)); // beyond the debounce
    }
    eventually("status counts them", || {
        let status = text_of(&scene.place.call(&["status"]));
        status.contains("by the emergency input, since 20") && status.contains("; passed: 2")
    });
    set(&button, "0");
    gate.event("emergency_off");
    let last = scene.place.all_records().pop().unwrap();
    assert!(last.contains(r#""passages":2"#), "{last}");
}

#[test]
fn an_emergency_that_is_on_at_the_start_opens_the_gate() {
    let scene = Scene::new();
    let button = scene.place.beside("button");
    set(&button, "1");
    let emergency = format!("emergency = \"file:{}\"", button.display());
    let mut gate = run(&scene, &emergency);
    gate.event("held_open");
    gate.event("emergency_on");
    assert_eq!(scene.place.relay_moves(), ["close", "open"]);
}

#[test]
fn an_emergency_opens_the_gate_though_the_scan_loop_hangs() {
    let place = Place::default();
    let button = place.beside("button");
    set(&button, "0");
    let settings = InputSettings {
        emergency: Some(format!("file:{}", button.display()).parse().unwrap()),
        ..InputSettings::default()
    };
    let relay = LogRelay::new(Some(&place.beside("relay.log"))).unwrap();
    let (sender, events) = std::sync::mpsc::channel();
    let on = move |event| sender.send(event).unwrap();
    let pulses = Pulses::start(vec![Box::new(relay)], Duration::ZERO, on).unwrap();
    let (inputs, never_read_again) = queue();
    let passages = Arc::new(Passages::new(Duration::ZERO));
    let ports = Arc::new(Ports::default());
    inputs::start(&settings, &ports, pulses.holder(), &passages, &inputs).unwrap();
    let first = never_read_again.recv().unwrap();
    assert!(matches!(first, Input::Emergency { on: false }));
    // Nobody takes anything out of this queue any more, and it is full.
    let filler = inputs.clone();
    std::thread::spawn(move || while filler.put(Input::Stop) {});
    set(&button, "1");
    while !matches!(events.recv(), Ok(PulseEvent::HeldOpen)) {}
    assert_eq!(place.relay_moves(), ["close", "open"]);
}

#[test]
fn who_passes_is_told_and_who_does_not_pass_in_time_is_told_too() {
    let scene = Scene::new();
    let sensor = scene.place.beside("sensor");
    set(&sensor, "0");
    let passage = format!(
        "passage = \"file:{}\"\npassage_timeout_ms = 500",
        sensor.display()
    );
    let mut gate = run(&scene, &passage);
    gate.scan(&scene.code(0));
    assert_eq!(gate.event("not_passed")["frees"], true);
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit", "free again");
    assert_eq!(gate.event("not_passed")["frees"], false, "once a ticket");
    assert_eq!(gate.scan(&scene.code(0))["reason"], "already_used");
    gate.scan(&scene.code(1));
    set(&sensor, "1");
    gate.event("passed");
    set(&sensor, "0");
    gate.scan(&scene.code(2));
    gate.event("not_passed");
    gate.terminate();
}

#[test]
fn an_input_that_cannot_be_read_is_told_and_tried_until_it_can() {
    let scene = Scene::new();
    let sensor = scene.place.beside("sensor");
    let mut gate = run(&scene, &format!("passage = \"file:{}\"", sensor.display()));
    let lost = gate.event("input_lost");
    assert!(lost["input"].as_str().unwrap().ends_with("sensor"));
    set(&sensor, "0");
    gate.event("input_back");
    gate.terminate();
}
