//! When rlx itself is wrong: a panic is reported with its place, in visible
//! letters, and becomes exit code 70.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};

use rlxp_ops::{Failure, Outcome};
use rlxp_types::Exit;

use crate::screen::{self, Screen};

/// From now on a panic of any thread is printed by the screen's rules: its message may hold text from outside.
pub(crate) fn report_panics() {
    set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let place = panic.location().map_or_else(|| "unknown location".to_owned(), ToString::to_string);
        screen::print_defect(&message(&place, panic.payload()));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            screen::print_defect(&trace.to_string());
        }
    }));
}

/// The exit code of `command`; a panic in it is a defect.
pub(crate) fn guarded(screen: &Screen, command: impl FnOnce() -> Outcome<Exit>) -> Exit {
    let failure = match catch_unwind(AssertUnwindSafe(command)) {
        Ok(Ok(exit)) => return exit,
        Ok(Err(failure)) => failure,
        Err(_) => {
            Failure::new(Exit::Bug, "bug", "internal error: this is a bug in rlx; see the location above")
                .hint("rlx ls    # saved runs are intact")
        }
    };
    screen.failure(&failure);
    failure.exit
}

fn message(place: &str, payload: &(dyn Any + Send)) -> String {
    let what = payload.downcast_ref::<&str>().copied();
    let what = what.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("panic at {place}: {}", what.unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Color, Global};

    fn screen() -> Screen {
        Screen::new(&Global { root: None, json: false, color: Color::Never, quiet: true })
    }

    #[test]
    fn a_panic_is_exit_code_70_and_nothing_else_is() {
        let screen = screen();
        assert_eq!(guarded(&screen, || Ok(Exit::No)), Exit::No);
        assert_eq!(guarded(&screen, || Err(Failure::usage("wrong", "wrong"))), Exit::Usage);
        assert_eq!(guarded(&screen, || panic!("a defect")), Exit::Bug);
        let text = String::from("of a thread");
        let in_thread = || {
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| panic!("{text}"));
                thread.join().unwrap()
            })
        };
        assert_eq!(guarded(&screen, in_thread), Exit::Bug);
        assert_eq!(Exit::Bug.code(), 70);
    }

    #[test]
    fn the_message_names_place_and_reason() {
        let payload: Box<dyn Any + Send> = Box::new(String::from("index out of range"));
        assert_eq!(message("src/a.rs:1:2", &*payload), "panic at src/a.rs:1:2: index out of range");
        let payload: Box<dyn Any + Send> = Box::new("text");
        assert_eq!(message("src/a.rs:1:2", &*payload), "panic at src/a.rs:1:2: text");
        let payload: Box<dyn Any + Send> = Box::new(7);
        assert_eq!(message("src/a.rs:1:2", &*payload), "panic at src/a.rs:1:2: no message");
    }
}
