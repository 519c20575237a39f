//! QR pictures: drawn by a library, read back by `zbarimg`, a decoder that is not ours. What it
//! prints is what a scanner would send.

use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use qrcode::{Color, EcLevel, QrCode};

/// Pixels of one module: a phone's screen shows more, a bad printer less.
const MODULE_PIXELS: usize = 4;
/// Modules of white around the code, as ISO 18004 asks for.
const QUIET_MODULES: usize = 4;

/// Draws a text as a QR of error correction M, black on white, with its quiet zone, as a PNG.
/// Texts of capitals and digits alone (G2 and G3) come out in alphanumeric mode.
pub fn draw(text: &str, path: &Path) -> Result<()> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M)?;
    let modules = code.width() + 2 * QUIET_MODULES;
    let side = modules * MODULE_PIXELS;
    let is_dark = |x: usize, y: usize| {
        let inside = |at: usize| {
            at.checked_sub(QUIET_MODULES)
                .filter(|at| *at < code.width())
        };
        let module = inside(x / MODULE_PIXELS).zip(inside(y / MODULE_PIXELS));
        module.is_some_and(|at| code[at] == Color::Dark)
    };
    let pixels: Vec<u8> = (0..side * side)
        .map(|at| {
            if is_dark(at % side, at / side) {
                0
            } else {
                255
            }
        })
        .collect();
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let side = u32::try_from(side)?;
    let mut picture = png::Encoder::new(BufWriter::new(file), side, side);
    picture.set_color(png::ColorType::Grayscale);
    picture.set_depth(png::BitDepth::Eight);
    picture.set_compression(png::Compression::Fast);
    let mut writer = picture.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(())
}

/// Reads the QR in each picture, in the order given. One run of `zbarimg` reads them all. Only QR
/// is looked for: among thousands of pictures some row of modules is a short linear code as well.
pub fn read(pictures: &[PathBuf]) -> Result<Vec<String>> {
    let run = Command::new("zbarimg")
        .args(["--raw", "-q", "-Sdisable", "-Sqrcode.enable"])
        .args(pictures)
        .output();
    let output = match run {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("zbarimg is not installed; on Debian: apt-get install zbar-tools")
        }
        other => other.context("zbarimg does not run")?,
    };
    let text = String::from_utf8(output.stdout).context("zbarimg printed no UTF-8")?;
    let texts: Vec<_> = text.lines().map(str::to_owned).collect();
    ensure!(
        texts.len() == pictures.len(),
        "zbarimg reads {} codes in {} pictures, of which the first is {}: {}",
        texts.len(),
        pictures.len(),
        pictures
            .first()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use qrcode::Version;

    use super::*;

    /// The example of the code formats.
    const G2: &str = "G2AIAQCAIBENCWPCNLZXXWVMIUOAAJM2VREDYBQAIWFYANHBBKEUBB3TJ4Q2PKCQMWYVEBLVIEP4PZ7L7SRFBNLEARX6HQDGMARKYXTCELMQORXZ4GXSY554RWREQDVQR4R7XXPHKISYQKTNYSBE";
    const G3: &str = "G3AMAQCAIBENCWPCNLZXXWVMIUOAAJM2VREDYAAAIWFYAH6XYGZIADMULO25M6HYISQEHCJ7PLLYX6JXWRTQNT5FR75PYPS3PNFB62E5D5QT5H2UFQQ5A6OEENDSMZ4C26IH2HT5QXLL7SUMZZAQEU7CBWLE5ZL75S";

    #[test]
    fn g2_and_g3_come_out_in_the_sizes_of_alphanumeric_mode() {
        let version = |text| {
            QrCode::with_error_correction_level(text, EcLevel::M)
                .unwrap()
                .version()
        };
        assert_eq!(version(G2), Version::Normal(6));
        assert_eq!(version(G3), Version::Normal(7));
    }

    #[test]
    fn a_decoder_that_is_not_ours_reads_what_was_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let texts = [
            G2,
            G3,
            "1234567890-1790000400-7nL2KaEaNxd5sMTG1Kg4Dvuh7D1ibyBSFDDlZuLYqtA",
        ];
        let mut pictures = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let picture = folder.path().join(format!("{at}.png"));
            draw(text, &picture).unwrap();
            pictures.push(picture);
        }
        assert_eq!(read(&pictures).unwrap(), texts);
    }
}
