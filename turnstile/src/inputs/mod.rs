//! What the gate is told beside codes: the passage sensor and the emergency input. Each is
//! watched on a thread of its own; the emergency input moves the relay past the scan loop.

mod debounce;
mod passages;
mod settings;
mod spec;
mod trial;
mod watch;

use std::io;
use std::sync::Arc;

use stile_core::record::PassageOutcome;

pub use debounce::{Change, Debounce};
pub use passages::Passages;
pub use settings::InputSettings;
pub use spec::InputSpec;
pub(crate) use trial::{Tried, try_out};

use crate::event::Event;
use crate::ports::{Ports, Urgency};
use crate::relay::{Hold, Holder};
use crate::scanner::{Input, Inputs, Passage};
use crate::threads;
use watch::{Seen, watch};

/// Starts to watch what is configured. What is seen goes into the scan loop's queue.
pub fn start(
    settings: &InputSettings,
    ports: &Arc<Ports>,
    holder: Holder,
    passages: &Arc<Passages>,
    inputs: &Inputs,
) -> io::Result<()> {
    let debounce = settings.debounce();
    if let Some(spec) = settings.emergency.clone() {
        let (ports, inputs) = (Arc::clone(ports), inputs.clone());
        threads::spawn("emergency", move || {
            let open = || spec.open(&ports, Urgency::First);
            watch(open, debounce, |seen| match seen {
                Seen::Level(change) => {
                    // First the gate, then the scan loop, which may be busy or hang.
                    holder.hold(Hold::Emergency, change.on);
                    // Also that it is off at the start: one may have ended meanwhile.
                    inputs.put(Input::Emergency { on: change.on })
                }
                Seen::Nothing => true,
                other => inputs.put(trouble(&spec, other)),
            });
        })?;
    }
    if let Some(spec) = settings.passage.clone() {
        let (ports, inputs) = (Arc::clone(ports), inputs.clone());
        let passages = Arc::clone(passages);
        threads::spawn("passage", move || {
            let open = || spec.open(&ports, Urgency::After);
            watch(open, debounce, |seen| {
                let overdue = passages.overdue();
                let told = match seen {
                    // Somebody who stands in the sensor when the program starts has not passed.
                    Seen::Level(change) if change.on && !change.first => {
                        inputs.put(Input::Passage(Passage {
                            admission: passages.passed(),
                            outcome: PassageOutcome::Passed,
                        }))
                    }
                    Seen::Level(_) | Seen::Nothing => true,
                    other => inputs.put(trouble(&spec, other)),
                };
                overdue.into_iter().fold(told, |told, admission| {
                    let outcome = PassageOutcome::NotPassed;
                    told && inputs.put(Input::Passage(Passage { admission, outcome }))
                })
            });
        })?;
    }
    Ok(())
}

fn trouble(spec: &InputSpec, seen: Seen) -> Input {
    let input = spec.to_string();
    Input::Trouble(match seen {
        Seen::Lost(why) => Event::InputLost { input, why },
        _ => Event::InputBack { input },
    })
}
