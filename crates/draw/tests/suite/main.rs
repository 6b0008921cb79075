//! Drawings from outside: every chart and every environment, judged on the result.

mod charts;
mod environments;
mod settings;
