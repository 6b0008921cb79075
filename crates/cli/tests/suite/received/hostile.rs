//! Every command that takes a run gets a received run that is hostile in one way at a time. Each command ends within
//! limits of time and memory with a documented exit code, and nothing outside the run is read, shown or changed.

mod edit;
mod index;
#[cfg(feature = "attacks")]
mod kinds;
#[cfg(feature = "attacks")]
mod leftovers;
mod links;
mod models;
mod modes;
mod names;
#[cfg(feature = "attacks")]
mod numbers;
mod removal;
#[cfg(feature = "attacks")]
mod sizes;
#[cfg(feature = "attacks")]
mod texts;
