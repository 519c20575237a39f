//! Passage sensor and emergency input: what each says now, and whether it says something else when
//! somebody tries it.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use super::finding::Finding;
use super::{FOR_PEOPLE, SEE_TO_IT};
use crate::commands::ask::Ask;
use crate::config::Config;
use crate::inputs::{InputSpec, Tried, try_out};
use crate::ports::Ports;

/// An input's place at the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Passage,
    Emergency,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Passage => "passage",
            Self::Emergency => "emergency",
        }
    }

    /// How somebody makes it change.
    fn way(self) -> &'static str {
        match self {
            Self::Passage => "walk through its sensor",
            Self::Emergency => "press and release its contact",
        }
    }
}

/// Reads each input, and waits for one change if somebody is there to make it.
pub(super) fn inputs<R: BufRead, W: Write>(
    config: &Config,
    ports: &Arc<Ports>,
    ask: &mut Ask<R, W>,
) -> Vec<Finding> {
    let inputs = [
        (Role::Passage, &config.inputs.passage),
        (Role::Emergency, &config.inputs.emergency),
    ];
    let configured = inputs
        .into_iter()
        .filter_map(|(role, spec)| Some((role, spec.as_ref()?)));
    configured
        .map(|(role, spec)| input(role, spec, config, ports, ask))
        .collect()
}

fn input<R: BufRead, W: Write>(
    role: Role,
    spec: &InputSpec,
    config: &Config,
    ports: &Arc<Ports>,
    ask: &mut Ask<R, W>,
) -> Finding {
    let name = format!("{} {spec}", role.name());
    let silent = ask.is_silent();
    let tried = try_out(spec, ports, config.inputs.debounce(), |on| {
        if silent {
            return Duration::ZERO;
        }
        ask.say(&format!(
            "{name} is {}; within {} s {} …",
            level(on),
            FOR_PEOPLE.as_secs(),
            role.way()
        ));
        FOR_PEOPLE
    });
    judge(role, &name, silent, tried)
}

fn judge(role: Role, name: &str, silent: bool, tried: Result<Tried, String>) -> Finding {
    let Tried { was_on, changed } = match tried {
        Ok(tried) => tried,
        Err(why) => return Finding::fail("input", format!("{name}: {why}"), SEE_TO_IT),
    };
    let (was, other) = (level(was_on), level(!was_on));
    if changed {
        return Finding::ok("input", format!("{name} was {was}, and went {other}"));
    }
    if was_on && role == Role::Emergency {
        return Finding::warn(
            "input",
            format!("{name} is on: the gate stands open while it is"),
            "release it; if nothing is pressed, see to its cable and its `active=`",
        );
    }
    if silent {
        let what = format!("{name} is {was}; without --yes a change can be waited for");
        return Finding::ok("input", what);
    }
    Finding::warn(
        "input",
        format!("{name} is {was}, and did not change"),
        "try again; if somebody did try it, see to its cable, its power and its line in stile-gate.toml",
    )
}

fn level(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    fn grade(role: Role, silent: bool, was_on: bool, changed: bool) -> Grade {
        judge(role, "input", silent, Ok(Tried { was_on, changed })).grade
    }

    #[test]
    fn an_input_is_well_once_it_has_changed_and_with_nobody_there_while_it_is_off() {
        for role in [Role::Passage, Role::Emergency] {
            for was_on in [false, true] {
                assert_eq!(grade(role, false, was_on, true), Grade::Ok);
                assert_eq!(grade(role, false, was_on, false), Grade::Warn);
            }
            assert_eq!(grade(role, true, false, false), Grade::Ok);
        }
        assert_eq!(grade(Role::Passage, true, true, false), Grade::Ok);
    }

    #[test]
    fn an_emergency_that_is_on_is_warned_of_and_an_input_that_is_not_there_fails() {
        assert_eq!(grade(Role::Emergency, true, true, false), Grade::Warn);
        let gone = judge(Role::Passage, "input", true, Err("no such file".into()));
        assert_eq!(gone.grade, Grade::Fail);
    }
}
