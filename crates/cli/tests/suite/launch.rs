//! Governed launches on a repository that really trains: real git, real signatures, a real Python environment.

mod agreed;
mod candidates;
mod confinement;
mod crash;
mod elsewhere;
mod end_to_end;
mod extract;
mod first_time;
mod fixture;
mod full_disk;
mod hostile_code;
mod hostile_runs;
mod limits;
mod mutations;
mod older_ledger;
mod processes;
mod programs;
mod protected;
mod race;
mod repository;
mod rules;
mod shapes;
mod stale;
mod stops;
mod trace;
