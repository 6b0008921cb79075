//! The only door to files, clock and environment variables
