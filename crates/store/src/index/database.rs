//! The SQLite file behind the index: the only place that knows SQL.
//!
//! No error leaves this module. A cache that fails is an empty cache.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rlxp_fs::{Fs, FsExt, Kind, RealFs};
use rlxp_types::Digest;
use rusqlite::{Connection, params};

use super::RunRow;

/// Counts up when the table or the meaning of a row changes; another number in
/// the file means that it is made anew.
const FORMAT: i64 = 1;

const SELECT: &str = "SELECT name, stamp, row, digest FROM runs";

/// A cached row and what it was made from.
pub(super) struct Cached {
    pub(super) stamp: String,
    /// Whether the stamp tells of every change.
    pub(super) settled: bool,
    pub(super) row: RunRow,
}

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
    pub(super) fn load(&self) -> BTreeMap<String, Cached> {
        self.connection.as_ref().and_then(|connection| read_all(connection).ok()).unwrap_or_default()
    }

    /// Stores new rows and forgets removed ones, all or none.
    pub(super) fn store<'a>(
        &self,
        fresh: &BTreeMap<String, Cached>,
        gone: impl ExactSizeIterator<Item = &'a String>,
    ) {
        if fresh.values().any(|cached| cached.settled) || gone.len() > 0 {
            let Some(connection) = &self.connection else { return };
            // An unwritable cache only costs time; a damaged one goes, so that
            // the next to open it starts anew.
            if write_all(connection, fresh, gone).is_err_and(|error| is_damage(&error)) {
                remove_files(&self.path);
            }
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
                 name TEXT PRIMARY KEY, stamp TEXT NOT NULL, row TEXT NOT NULL, digest TEXT NOT NULL
             ) WITHOUT ROWID;
             PRAGMA user_version = {FORMAT};
             COMMIT;"
        ))?;
    }
    // A table that is not ours fails here, before it is relied on.
    connection.prepare_cached(SELECT)?;
    Ok(connection)
}

fn read_all(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Cached>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let stamp: String = row.get(1)?;
        let text: String = row.get(2)?;
        let digest: String = row.get(3)?;
        if digest_of(&name, &stamp, &text) != digest {
            continue;
        }
        if let Ok(row) = serde_json::from_str::<RunRow>(&text) {
            found.insert(name, Cached { stamp, settled: true, row });
        }
    }
    Ok(found)
}

fn write_all<'a>(
    connection: &Connection,
    fresh: &BTreeMap<String, Cached>,
    gone: impl Iterator<Item = &'a String>,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    {
        let mut insert = transaction.prepare_cached(
            "INSERT OR REPLACE INTO runs (name, stamp, row, digest) VALUES (?1, ?2, ?3, ?4)",
        )?;
        let mut delete = transaction.prepare_cached("DELETE FROM runs WHERE name = ?1")?;
        for (name, cached) in fresh {
            if !cached.settled {
                continue;
            }
            let text = serde_json::to_string(&cached.row).expect("a row always serialises");
            insert.execute(params![name, cached.stamp, text, digest_of(name, &cached.stamp, &text)])?;
        }
        for name in gone {
            delete.execute([name])?;
        }
    }
    transaction.commit()
}

fn digest_of(name: &str, stamp: &str, text: &str) -> String {
    Digest::of(format!("{name}\0{stamp}\0{text}").as_bytes()).short()
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
