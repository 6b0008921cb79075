//! The SQLite file behind the index: the only place that knows SQL.
//!
//! No error leaves this module. A cache that fails is an empty cache.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rlxp_fs::{Fs, FsExt, Kind, RealFs};
use rusqlite::{Connection, params};

use super::{RunRow, StampText};

/// Counts up when the table or the meaning of a row changes; another number in
/// the file means that it is made anew.
const FORMAT: i64 = 1;

const SELECT: &str = "SELECT name, stamp, row, digest FROM runs";

pub(super) struct Database {
    path: PathBuf,
    /// Nothing when not even memory would do.
    connection: Option<Connection>,
}

impl Database {
    pub(super) fn open(path: &Path) -> Self {
        let connection = connect(path)
            .or_else(|error| {
                // One that is only locked or unreadable is someone else's.
                if !is_damage(&error) {
                    return Err(error);
                }
                remove_files(path);
                connect(path)
            })
            .or_else(|_| Connection::open_in_memory().and_then(prepare));
        Self { path: path.to_owned(), connection: connection.ok() }
    }

    /// Every row that is what it was when it was stored.
    pub(super) fn load(&self) -> HashMap<String, (StampText, RunRow)> {
        self.connection.as_ref().and_then(|connection| read_all(connection).ok()).unwrap_or_default()
    }

    /// Stores new rows and forgets removed ones, all or none.
    pub(super) fn store(&self, fresh: &[(StampText, RunRow)], gone: impl ExactSizeIterator<Item = String>) {
        let Some(connection) = &self.connection else { return };
        if fresh.is_empty() && gone.len() == 0 {
            return;
        }
        // An unwritable cache only costs time; a damaged one goes, so that the
        // next to open it starts anew.
        if write_all(connection, fresh, gone).is_err_and(|error| is_damage(&error)) {
            remove_files(&self.path);
        }
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite would follow a symlink and write wherever it points.
    if matches!(RealFs.metadata_if_any(path), Ok(Some(meta)) if meta.kind != Kind::File) {
        return Err(rusqlite::Error::InvalidPath(path.to_owned()));
    }
    prepare(Connection::open(path)?)
}

fn prepare(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(Duration::from_millis(500))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format != FORMAT {
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             DROP TABLE IF EXISTS runs;
             CREATE TABLE runs (
                 name TEXT PRIMARY KEY, stamp BLOB NOT NULL, row TEXT NOT NULL, digest BLOB NOT NULL
             ) WITHOUT ROWID;
             PRAGMA user_version = {FORMAT};
             COMMIT;"
        ))?;
    }
    // A table that is not ours fails here, before it is relied on.
    connection.prepare_cached(SELECT)?;
    Ok(connection)
}

fn read_all(connection: &Connection) -> rusqlite::Result<HashMap<String, (StampText, RunRow)>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let mut found = HashMap::new();
    while let Some(row) = rows.next()? {
        let (Ok(name), Ok(text)) = (row.get_ref(0)?.as_str(), row.get_ref(2)?.as_str()) else { continue };
        let (Ok(stamp), Ok(digest)) = (row.get_ref(1)?.as_blob(), row.get_ref(3)?.as_blob()) else {
            continue;
        };
        if digest != digest_of(name, stamp, text) {
            continue;
        }
        if let (Some(stamp), Ok(row)) = (stamp_from(stamp), serde_json::from_str(text)) {
            found.insert(name.to_owned(), (stamp, row));
        }
    }
    Ok(found)
}

fn write_all(
    connection: &Connection,
    fresh: &[(StampText, RunRow)],
    gone: impl Iterator<Item = String>,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    {
        let mut insert = transaction.prepare_cached(
            "INSERT OR REPLACE INTO runs (name, stamp, row, digest) VALUES (?1, ?2, ?3, ?4)",
        )?;
        let mut delete = transaction.prepare_cached("DELETE FROM runs WHERE name = ?1")?;
        for (stamp, row) in fresh {
            let stamp: Vec<u8> = stamp.iter().flat_map(|part| part.to_le_bytes()).collect();
            let text = serde_json::to_string(row).expect("a row always serialises");
            insert.execute(params![row.name, stamp, text, digest_of(&row.name, &stamp, &text)])?;
        }
        for name in gone {
            delete.execute([name])?;
        }
    }
    transaction.commit()
}

fn stamp_from(bytes: &[u8]) -> Option<StampText> {
    let mut stamp = StampText::default();
    if bytes.len() != size_of_val(&stamp) {
        return None;
    }
    for (part, bytes) in stamp.iter_mut().zip(bytes.chunks_exact(8)) {
        *part = i64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(stamp)
}

/// The stamp has a fixed length and a name holds no zero byte, so the parts
/// can't be mistaken for one another.
fn digest_of(name: &str, stamp: &[u8], text: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(name.as_bytes()).update(&[0]).update(stamp).update(text.as_bytes());
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    // "Unknown" is what a table of another shape gives: no such column.
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | Unknown))
}

fn remove_files(path: &Path) {
    for end in ["", "-journal", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        drop(RealFs.remove_file(Path::new(&name)));
    }
}
