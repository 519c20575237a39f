//! Lines of the Linux GPIO character device, behind a small trait so that tests can stand in for
//! a board.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gpiocdev::Request;
use gpiocdev::line::{Bias, EdgeDetection, Value};

use super::{Options, SpecError};

/// What the kernel shows as the user of a line.
const CONSUMER: &str = "stile-gate";
/// Most lines of a chip that is known to the kernel.
const MOST_LINES: u32 = 4095;

/// One line as configured: `CHIP,line=N[,active=low][,bias=pull-up]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpioLine {
    /// The chip's device file.
    pub chip: PathBuf,
    /// The line's number on it.
    pub line: u32,
    /// On is a low voltage.
    pub active_low: bool,
    /// The resistor inside of the chip, for inputs.
    pub bias: Option<Bias>,
}

impl GpioLine {
    /// Takes one out of the options.
    pub(crate) fn take(options: &mut Options<'_>) -> Result<Self, SpecError> {
        let Some(chip) = options.place else {
            return Err(SpecError(
                "say which chip: `gpio:gpiochip0,line=17`; gpioinfo lists them".into(),
            ));
        };
        let biases = [
            ("as-is", None),
            ("pull-up", Some(Bias::PullUp)),
            ("pull-down", Some(Bias::PullDown)),
            ("none", Some(Bias::Disabled)),
        ];
        Ok(Self {
            chip: Path::new("/dev").join(chip),
            line: options.number("line", None, 0..=MOST_LINES)?,
            active_low: options.choice("active", &[("high", false), ("low", true)])?,
            bias: options.choice("bias", &biases)?,
        })
    }
}

impl fmt::Display for GpioLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chip = self.chip.strip_prefix("/dev").unwrap_or(&self.chip);
        write!(f, "gpio:{},line={}", chip.display(), self.line)?;
        if self.active_low {
            f.write_str(",active=low")?;
        }
        match self.bias {
            None => Ok(()),
            Some(Bias::PullUp) => f.write_str(",bias=pull-up"),
            Some(Bias::PullDown) => f.write_str(",bias=pull-down"),
            Some(Bias::Disabled) => f.write_str(",bias=none"),
        }
    }
}

/// Gives out lines.
pub trait Gpio: Send + Sync {
    /// Takes a line as an output that is on or off from the start.
    fn output(&self, line: &GpioLine, on: bool) -> io::Result<Box<dyn GpioOutput>>;

    /// Takes a line as an input.
    fn input(&self, line: &GpioLine) -> io::Result<Box<dyn GpioInput>>;
}

/// A line that is switched.
pub trait GpioOutput: Send {
    /// Switches it.
    fn set(&mut self, on: bool) -> io::Result<()>;
}

/// A line that is watched.
pub trait GpioInput: Send {
    /// Whether it is on.
    fn is_on(&mut self) -> io::Result<bool>;

    /// Waits until it changes, or so long.
    fn wait(&mut self, at_most: Duration) -> io::Result<()>;
}

/// The kernel's lines.
#[derive(Debug, Clone, Copy)]
pub struct Chardev;

struct Taken(Request);

impl Gpio for Chardev {
    fn output(&self, line: &GpioLine, on: bool) -> io::Result<Box<dyn GpioOutput>> {
        let mut request = request(line);
        request.as_output(value(on));
        take(line, request)
            .map(Taken)
            .map(|taken| Box::new(taken) as _)
    }

    fn input(&self, line: &GpioLine) -> io::Result<Box<dyn GpioInput>> {
        let mut request = request(line);
        request.as_input().with_bias(line.bias);
        request.with_edge_detection(EdgeDetection::BothEdges);
        take(line, request)
            .map(Taken)
            .map(|taken| Box::new(taken) as _)
    }
}

fn request(line: &GpioLine) -> gpiocdev::request::Builder {
    let mut request = Request::builder();
    request
        .on_chip(&line.chip)
        .with_consumer(CONSUMER)
        .with_line(line.line);
    if line.active_low {
        request.as_active_low();
    }
    request
}

fn take(line: &GpioLine, mut request: gpiocdev::request::Builder) -> io::Result<Request> {
    request
        .request()
        .map_err(|error| io::Error::other(format!("{line}: {error}")))
}

fn value(on: bool) -> Value {
    match on {
        true => Value::Active,
        false => Value::Inactive,
    }
}

impl GpioOutput for Taken {
    fn set(&mut self, on: bool) -> io::Result<()> {
        self.0.set_lone_value(value(on)).map_err(io::Error::other)
    }
}

impl GpioInput for Taken {
    fn is_on(&mut self) -> io::Result<bool> {
        let value = self.0.lone_value().map_err(io::Error::other)?;
        Ok(value == Value::Active)
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        if self.0.wait_edge_event(at_most).map_err(io::Error::other)? {
            // What it was matters not: the line is read after.
            while self.0.has_edge_event().map_err(io::Error::other)? {
                self.0.read_edge_event().map_err(io::Error::other)?;
            }
        }
        Ok(())
    }
}
