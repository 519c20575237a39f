//! Codes as pictures: whatever a gate is shown has been drawn as a QR and read by `zbarimg`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use stile_tests::qr;

/// A folder of pictures.
pub struct Pictures {
    folder: PathBuf,
    drawn: usize,
}

impl Pictures {
    /// An empty folder.
    pub fn new(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, drawn: 0 })
    }

    /// Draws texts and returns what `zbarimg` reads in the pictures.
    pub fn through(&mut self, texts: &[&str]) -> Result<Vec<String>> {
        let mut paths = Vec::with_capacity(texts.len());
        for text in texts {
            self.drawn += 1;
            let path = self.folder.join(format!("{:04}.png", self.drawn));
            qr::draw(text, &path)?;
            paths.push(path);
        }
        let read = qr::read(&paths)?;
        for ((text, read), path) in texts.iter().zip(&read).zip(&paths) {
            ensure!(
                text == read,
                "{}: drawn {text}, read {read}",
                path.display()
            );
        }
        Ok(read)
    }

    /// Pictures drawn so far.
    pub fn drawn(&self) -> usize {
        self.drawn
    }
}
