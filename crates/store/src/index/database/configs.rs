//! The table of configs: the values of each run's config, under the digest of the run's name.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::stamp::{Sources, Stamped};
use super::checksum_of;
use crate::run::CONFIG_FILE;

/// A row is too long for a table that is sorted by text, so its place is a number that follows from the name.
pub(super) const CREATE_CONFIGS: &str = "CREATE TABLE configs (place INTEGER PRIMARY KEY, stamps BLOB NOT NULL, \
                                         text TEXT NOT NULL, checksum INTEGER NOT NULL)";

/// Rows of runs that were removed are left in the table until there are this many for each run, and these more.
const MOST_PER_RUN: usize = 2;
const MOST_MORE: usize = 1000;

/// A config as it is in the file.
pub(in crate::index) struct CachedConfig {
    pub(in crate::index) stamped: Stamped,
    text: String,
    checksum: u32,
}

impl CachedConfig {
    /// The text, if it is what was stored for the run `name` by this `maker`.
    pub(in crate::index) fn text(self, name: &str, maker: &str) -> Option<String> {
        (self.checksum
            == checksum_of([name.as_bytes(), maker.as_bytes(), &self.stamped.stamps, self.text.as_bytes()]))
        .then_some(self.text)
    }
}

/// A config that is to be stored: the run's name, the stamp of its file and the text.
pub(in crate::index) type FreshConfig<'a> = (&'a str, &'a Stamped, &'a str);

/// Two runs with the same place would take turns; their checksums tell them apart.
fn place(name: &str) -> i64 {
    let mut bytes = [0; 8];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut bytes);
    i64::from_le_bytes(bytes)
}

/// Looks up the configs in the order of the file.
pub(super) fn read(
    connection: Option<&Connection>,
    names: &[&str],
    take: &mut dyn FnMut(usize, Option<CachedConfig>),
) {
    let mut order: Vec<(i64, usize)> =
        names.iter().enumerate().map(|(index, name)| (place(name), index)).collect();
    order.sort_unstable();
    // Otherwise each look would lock the file and check for changes of it, which takes longer than the look.
    let together = connection.and_then(|connection| connection.unchecked_transaction().ok());
    let mut select = together.as_ref().and_then(|together| {
        together.prepare_cached("SELECT stamps, text, checksum FROM configs WHERE place = ?1").ok()
    });
    for (place, index) in order {
        let row = |row: &rusqlite::Row<'_>| {
            let (stamps, text, checksum) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(CachedConfig {
                stamped: Stamped { sources: Sources::from_text(CONFIG_FILE), stamps },
                text,
                checksum,
            })
        };
        let cached = select.as_mut().and_then(|select| select.query_row([place], row).optional().ok()?);
        take(index, cached);
    }
}

pub(super) fn write(
    connection: &Connection,
    fresh: &[FreshConfig<'_>],
    maker: &str,
    runs: usize,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    {
        let known: i64 = transaction.query_row("SELECT count(*) FROM configs", [], |row| row.get(0))?;
        if usize::try_from(known).unwrap_or_default() > MOST_PER_RUN * runs + MOST_MORE {
            transaction.execute("DELETE FROM configs", [])?;
        }
        let mut insert = transaction.prepare_cached(
            "INSERT OR REPLACE INTO configs (place, stamps, text, checksum) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for (name, Stamped { stamps, .. }, text) in fresh {
            let checksum = checksum_of([name.as_bytes(), maker.as_bytes(), stamps, text.as_bytes()]);
            insert.execute(params![place(name), stamps, text, checksum])?;
        }
    }
    transaction.commit()
}

/// Forgets the config of a run.
pub(super) fn forget(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM configs WHERE place = ?1")?.execute([place(name)]).map(drop)
}
