//! Statistics and curves: pure functions of their inputs
