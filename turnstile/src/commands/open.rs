//! `stile-gate open` and `stile-gate shut`: the running gate stands open for everybody, and does
//! so no longer. Both are on record.

use std::path::Path;

use super::CommandError;
use crate::control::{Request, Response, ask};

/// Opens the gate for everybody, with the reason for the record.
pub fn open(data: &Path, reason: &str) -> Result<(), CommandError> {
    let reason = reason.to_owned();
    done(data, &Request::Open { reason })?;
    println!("the gate stands open for everybody until `stile-gate shut`");
    Ok(())
}

/// Ends what `open` began.
pub fn shut(data: &Path) -> Result<(), CommandError> {
    let (passages, stands_open) = done(data, &Request::Shut)?;
    if let Some(passages) = passages {
        let persons = if passages == 1 { "person" } else { "persons" };
        println!("{passages} {persons} passed while the gate stood open");
    }
    println!(
        "{}",
        match stands_open {
            true => "the gate still stands open: emergency or schedule hold it",
            false => "the gate judges each visitor again",
        }
    );
    Ok(())
}

fn done(data: &Path, request: &Request) -> Result<(Option<u64>, bool), CommandError> {
    match ask(data, request) {
        Ok(Response::Done {
            passages,
            stands_open,
        }) => Ok((passages, stands_open)),
        Ok(Response::Failed(why)) => Err(CommandError::Failed(why)),
        Ok(other @ Response::ClockSet { .. }) => Err(CommandError::Failed(format!(
            "the gate speaks of something else: {other:?}"
        ))),
        Err(error) => Err(CommandError::Failed(error.to_string())),
    }
}
