//! Small files, written whole or not at all: secrets for their owner alone, and notes for everybody.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Puts a file in place for its owner alone; durable when this returns. It belongs to whom its
/// folder belongs to, so that root may do it for the user that the server runs as.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put_with_mode(path, bytes, 0o600)
}

/// The same, for everybody to read.
pub fn put_public(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put_with_mode(path, bytes, 0o644)
}

fn put_with_mode(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let aside = folder.join(name);
    let written = write(&aside, bytes, mode, folder).and_then(|()| fs::rename(&aside, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&aside);
        return Err(error);
    }
    File::open(folder)?.sync_all()
}

#[cfg(unix)]
fn write(aside: &Path, bytes: &[u8], mode: u32, folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
    // One that was left there may be readable by others.
    match fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(aside)?;
    // Whatever the umask says.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    let owner = fs::metadata(folder)?;
    let made = file.metadata()?;
    if (owner.uid(), owner.gid()) != (made.uid(), made.gid())
        && rustix::process::geteuid().is_root()
    {
        fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(not(unix))]
fn write(aside: &Path, bytes: &[u8], _: u32, _: &Path) -> io::Result<()> {
    let mut file = File::create(aside)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_put_is_there_whole_for_its_owner_alone_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        put(&path, b"one").unwrap();
        put(&path, b"another").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"another");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
