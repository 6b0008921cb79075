//! The SQLite file behind the index: the only place that knows SQL.
//!
//! No error leaves this module. A cache that fails is an empty cache.

mod configs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rlxp_fs::{Fs, FsExt, Kind, RealFs};
use rusqlite::{Connection, OpenFlags, params};

use super::RunRow;
use super::stamp::{Sources, Stamped};
use configs::CREATE_CONFIGS;
pub(super) use configs::{CachedConfig, FreshConfig};

/// Counts up when the table or the meaning of a row changes; a different number
/// in the file means that it is recreated.
const FORMAT: i64 = 4;

const CREATE: [&str; 2] = [
    "CREATE TABLE runs (name TEXT PRIMARY KEY, sources TEXT NOT NULL, stamps BLOB NOT NULL, row TEXT NOT NULL, \
     checksum INTEGER NOT NULL) WITHOUT ROWID",
    CREATE_CONFIGS,
];
const SELECT: &str = "SELECT name, sources, stamps, row, checksum FROM runs ORDER BY name";

/// Work of SQLite between two looks at whether it has done too much.
const STEPS_PER_LOOK: i32 = 1_000_000;
/// Looks after which a statement is ended: a file that isn't ours may ask for
/// endless work. Half a million rows take fewer.
const MOST_LOOKS: u32 = 50;

/// A row that is to be stored, with what it was read from.
pub(super) type Fresh = (Stamped, RunRow);

/// A row as it is in the file. Looking into it is left to those that need it.
pub(super) struct Cached {
    pub(super) stamped: Stamped,
    text: String,
    checksum: u32,
}

impl Cached {
    /// The row, if it is what was stored.
    pub(super) fn row(&self, name: &str) -> Option<RunRow> {
        let Self { stamped: Stamped { sources, stamps }, text, checksum } = self;
        let is_whole = *checksum
            == checksum_of([name.as_bytes(), sources.as_text().as_bytes(), stamps, text.as_bytes()]);
        let row: Option<RunRow> = if is_whole { serde_json::from_str(text).ok() } else { None };
        row.filter(|row| row.name == name)
    }
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
                // A locked or unreadable file is in use by another process.
                if !is_damage(&error) {
                    return Err(error);
                }
                remove_files(path);
                connect(path)
            })
            .or_else(|_| Connection::open_in_memory().and_then(prepare));
        Self { path: path.to_owned(), connection: connection.ok() }
    }

    /// Hands out every row in the file, in the order of the names; where it is
    /// damaged, those before.
    pub(super) fn each(&self, take: &mut dyn FnMut(&str, Cached)) {
        if let Some(connection) = &self.connection {
            drop(read_all(connection, take));
        }
    }

    /// Stores new rows and forgets removed ones, all or none.
    pub(super) fn store(&self, fresh: &[Fresh], gone: &[String]) {
        if !fresh.is_empty() || !gone.is_empty() {
            self.write(|connection| write_all(connection, fresh, gone));
        }
    }

    /// Hands out the cached config of each run, or nothing where there is none, and the place of its name.
    pub(super) fn each_config(&self, names: &[&str], take: &mut dyn FnMut(usize, Option<CachedConfig>)) {
        configs::read(self.connection.as_ref(), names, take);
    }

    /// Stores the configs of some of `runs` runs, all or none.
    pub(super) fn store_configs(&self, fresh: &[FreshConfig<'_>], maker: &str, runs: usize) {
        if !fresh.is_empty() {
            self.write(|connection| configs::write(connection, fresh, maker, runs));
        }
    }

    /// An unwritable cache only costs time; a damaged one goes, so that the
    /// next process to open it recreates it.
    fn write(&self, write: impl FnOnce(&Connection) -> rusqlite::Result<()>) {
        let Some(connection) = &self.connection else { return };
        if write(connection).is_err_and(|error| is_damage(&error)) {
            remove_files(&self.path);
        }
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let invalid = || rusqlite::Error::InvalidPath(path.to_owned());
    // SQLite would follow a symlink and write wherever it points, and wait for
    // a pipe for ever.
    if matches!(RealFs.metadata_if_any(path), Ok(Some(meta)) if meta.kind != Kind::File) {
        return Err(invalid());
    }
    // rlx keeps its journal in memory, so one beside the file isn't its own. It
    // may name other files to read and remove: it goes, with what it is of.
    if files(path)[1..].iter().any(|file| !matches!(RealFs.metadata_if_any(file), Ok(None))) {
        remove_files(path);
        if files(path).iter().any(|file| !matches!(RealFs.metadata_if_any(file), Ok(None))) {
            return Err(invalid());
        }
    }
    // The folder may be reached through links; the file itself must not be one.
    let folder = path.parent().and_then(|folder| RealFs.canonicalize(folder).ok()).ok_or_else(invalid)?;
    let real = folder.join(path.file_name().ok_or_else(invalid)?);
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    prepare(Connection::open_with_flags(real, flags)?)
}

/// The database and what SQLite keeps beside it.
fn files(path: &Path) -> [PathBuf; 4] {
    ["", "-journal", "-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}

fn prepare(mut connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(Duration::from_millis(500))?;
    let mut looks = 0;
    connection.progress_handler(
        STEPS_PER_LOOK,
        Some(move || {
            looks += 1;
            looks > MOST_LOOKS
        }),
    )?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // What a kill leaves half-written is found by the rows' checksums.
    connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format != FORMAT {
        // Whatever else is in the file is not ours, and an older table is of no use.
        if !schema(&connection)?.is_empty() {
            return Err(not_ours());
        }
        let tables = CREATE.join("; ");
        connection
            .execute_batch(&format!("BEGIN IMMEDIATE; {tables}; PRAGMA user_version = {FORMAT}; COMMIT;"))?;
    }
    // A view or a trigger of the same name would do what it likes.
    if schema(&connection)? != CREATE {
        return Err(not_ours());
    }
    Ok(connection)
}

/// How everything in the file was made.
fn schema(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT coalesce(sql, '') FROM sqlite_schema LIMIT 10")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

fn not_ours() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
    rusqlite::Error::SqliteFailure(code, None)
}

fn read_all(connection: &Connection, take: &mut dyn FnMut(&str, Cached)) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (Ok(name), Ok(sources)) = (row.get_ref(0)?.as_str(), row.get_ref(1)?.as_str()) else { continue };
        let (Ok(stamps), Ok(text)) = (row.get_ref(2)?.as_blob(), row.get_ref(3)?.as_str()) else { continue };
        let Ok(checksum) = row.get(4) else { continue };
        let stamped = Stamped { sources: Sources::from_text(sources), stamps: stamps.to_vec() };
        take(name, Cached { stamped, text: text.to_owned(), checksum });
    }
    Ok(())
}

fn write_all(connection: &Connection, fresh: &[Fresh], gone: &[String]) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    {
        let mut insert = transaction.prepare_cached(
            "INSERT OR REPLACE INTO runs (name, sources, stamps, row, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let mut delete = transaction.prepare_cached("DELETE FROM runs WHERE name = ?1")?;
        for (Stamped { sources, stamps }, row) in fresh {
            let (sources, text) =
                (sources.as_text(), serde_json::to_string(row).expect("a row always serialises"));
            let checksum = checksum_of([row.name.as_bytes(), sources.as_bytes(), stamps, text.as_bytes()]);
            insert.execute(params![row.name, sources, stamps, text, checksum])?;
        }
        for name in gone {
            delete.execute([name])?;
            configs::forget(&transaction, name)?;
        }
    }
    transaction.commit()
}

/// Finds what a kill or the disk damaged. Each part is preceded by its length,
/// so that none can be mistaken for another.
fn checksum_of(parts: [&[u8]; 4]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    // "Unknown" is what a table of another shape gives: no such column.
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | Unknown))
}

fn remove_files(path: &Path) {
    for file in files(path) {
        drop(RealFs.remove_file(&file));
    }
}
