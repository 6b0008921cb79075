//! One function per verb: typed request in, typed report out
