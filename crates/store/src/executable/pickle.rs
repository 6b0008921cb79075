//! The opcodes of pickles, read in order as an unpickler would, with the height of its stack and nothing else.
//!
//! An unpickler runs code as it reads: it calls what an earlier opcode imported. So a pickle counts as soon as an opcode
//! that calls is reached with enough on the stack, whatever follows. An import alone counts in a pickle that says its
//! protocol, or that is valid up to its end: without that, a text that begins with a `c` would be one.

use super::source::{Source, Stop};
use super::{Budget, Look};

/// Bytes read at once.
const PIECE: u64 = 64 << 10;
/// The longest name of something that is imported.
const LONGEST_NAME: usize = 1024;
/// Marks on the stack; a pickle with more is not looked through.
const MOST_MARKS: usize = 1 << 20;

/// Looks at pickles that follow each other from the start on.
pub(super) fn look(source: &Source<'_>, budget: &mut Budget) -> Result<Look, Stop> {
    let texts = Default::default();
    let mut reader = Reader { source, at: 0, piece: Vec::new(), start: 0, texts, budget };
    loop {
        match one(&mut reader)? {
            End::Stop => {}
            End::Invalid => return Ok(Look::Clean),
            End::Cut => return Ok(source.end_of(Look::Clean)),
            End::Runs(why) => return Ok(Look::Runs(why)),
        }
    }
}

/// How a pickle ends.
enum End {
    /// With its last opcode, without importing anything.
    Stop,
    /// With something that no pickle has there.
    Invalid,
    /// With the last byte, before its last opcode.
    Cut,
    Runs(String),
}

/// The height of an unpickler's stack above each mark.
struct Stack {
    above: Vec<u64>,
}

impl Stack {
    fn top(&mut self) -> &mut u64 {
        self.above.last_mut().expect("the lowest part is never removed")
    }

    fn push(&mut self) {
        *self.top() += 1;
    }

    /// Takes `taken` and puts `put`; `None` without that many.
    fn swap(&mut self, taken: u64, put: u64) -> Option<()> {
        let top = self.top();
        *top = top.checked_sub(taken)? + put;
        Some(())
    }

    /// Whether there are this many.
    fn has(&mut self, count: u64) -> Option<()> {
        self.swap(count, count)
    }

    /// Takes everything above the last mark, and the mark; returns how many.
    fn take_to_mark(&mut self) -> Option<u64> {
        if self.above.len() < 2 { None } else { self.above.pop() }
    }
}

/// What an opcode did.
enum Step {
    Next,
    Stop,
    Imports(String),
    /// Calls what was imported.
    Calls,
}

fn one(reader: &mut Reader<'_, '_>) -> Result<End, Stop> {
    let mut stack = Stack { above: vec![0] };
    let (mut says_protocol, mut imported) = (false, None::<String>);
    let mut is_first = true;
    loop {
        let Some(opcode) = reader.byte()? else { return Ok(End::Cut) };
        says_protocol |= is_first && opcode == 0x80;
        is_first = false;
        let step = match step(opcode, reader, &mut stack)? {
            Ok(step) => step,
            Err(end) => return Ok(end),
        };
        let runs = |imported: Option<String>| {
            let what = imported.map(|name| format!(" that uses {name}")).unwrap_or_default();
            End::Runs(format!("contains a pickle{what}"))
        };
        match step {
            Step::Next if stack.above.len() > MOST_MARKS => {
                return Ok(End::Runs("contains a pickle that is too deep to be searched".to_owned()));
            }
            Step::Next => {}
            Step::Calls => return Ok(runs(imported)),
            Step::Imports(name) if says_protocol => return Ok(runs(Some(name))),
            Step::Imports(name) => imported = Some(name),
            Step::Stop if imported.is_some() => return Ok(runs(imported)),
            Step::Stop => return Ok(End::Stop),
        }
    }
}

/// Reads the rest of an opcode, and does to the stack what it does.
fn step(opcode: u8, reader: &mut Reader<'_, '_>, stack: &mut Stack) -> Result<Result<Step, End>, Stop> {
    macro_rules! or_end {
        ($value:expr, $end:expr) => {
            match $value {
                Some(value) => value,
                None => return Ok(Err($end)),
            }
        };
    }
    // How many bytes follow, and how many of those say how many more do.
    let (fixed, counted) = match opcode {
        b'K' | b'h' | b'q' | 0x80 | 0x82 => (1, 0),
        b'M' | 0x83 => (2, 0),
        b'J' | b'j' | b'r' | 0x84 => (4, 0),
        b'G' | 0x95 => (8, 0),
        b'U' | b'C' | 0x8a | 0x8c => (0, 1),
        b'T' | b'X' | b'B' | 0x8b => (0, 4),
        0x8d | 0x8e | 0x96 => (0, 8),
        _ => (0, 0),
    };
    or_end!(reader.skip(fixed)?, End::Cut);
    if counted > 0 {
        let length = or_end!(reader.number(counted)?, End::Cut);
        match opcode {
            b'X' | 0x8c if length <= LONGEST_NAME as u64 => or_end!(reader.text(length)?, End::Cut),
            _ => or_end!(reader.skip(length)?, End::Cut),
        }
    }
    let done = match opcode {
        // Values.
        b'K' | b'M' | b'J' | b'G' | b'U' | b'C' | 0x8a | 0x8b | 0x8c | b'T' | b'X' | b'B' | 0x8d | 0x8e
        | 0x96 | b'N' | b'}' | b']' | b')' | 0x88 | 0x89 | 0x8f | 0x97 | b'h' | b'j' => {
            stack.push();
            Some(())
        }
        b'F' | b'I' | b'L' | b'S' | b'V' | b'P' | b'g' => {
            or_end!(reader.line(0)?, End::Cut);
            stack.push();
            Some(())
        }
        b'(' => {
            stack.above.push(0);
            Some(())
        }
        b'.' => {
            or_end!(stack.has(1), End::Invalid);
            return Ok(Ok(Step::Stop));
        }
        b'0' => stack.swap(1, 0).or_else(|| stack.take_to_mark().map(drop)),
        b'1' => stack.take_to_mark().map(drop),
        b'2' => stack.swap(1, 2),
        b'a' => stack.has(2).and_then(|()| stack.swap(1, 0)),
        b's' => stack.has(3).and_then(|()| stack.swap(2, 0)),
        b'e' | b'u' | 0x90 => stack.take_to_mark().and_then(|_| stack.has(1)),
        b'd' | b'l' | b't' | 0x91 => stack.take_to_mark().map(|_| stack.push()),
        0x85 => stack.swap(1, 1),
        0x86 => stack.swap(2, 1),
        0x87 => stack.swap(3, 1),
        b'Q' | 0x98 => stack.swap(1, 1),
        // The memo, frames and the protocol.
        b'p' => {
            or_end!(reader.line(0)?, End::Cut);
            stack.has(1)
        }
        b'q' | b'r' | 0x94 => stack.has(1),
        0x80 | 0x95 => Some(()),
        // What is imported.
        b'c' => {
            let name = or_end!(reader.name()?, End::Cut);
            let name = or_end!(name, End::Invalid);
            stack.push();
            return Ok(Ok(Step::Imports(name)));
        }
        0x93 => {
            or_end!(stack.swap(2, 1), End::Invalid);
            return Ok(Ok(Step::Imports(reader.last_name())));
        }
        0x82..=0x84 => {
            stack.push();
            return Ok(Ok(Step::Imports("an extension".to_owned())));
        }
        // What calls.
        b'i' => {
            let name = or_end!(reader.name()?, End::Cut);
            or_end!(name, End::Invalid);
            or_end!(stack.take_to_mark(), End::Invalid);
            return Ok(Ok(Step::Calls));
        }
        b'o' => {
            let count = or_end!(stack.take_to_mark(), End::Invalid);
            or_end!((count > 0).then_some(()), End::Invalid);
            return Ok(Ok(Step::Calls));
        }
        b'R' | b'b' | 0x81 => {
            or_end!(stack.has(2), End::Invalid);
            return Ok(Ok(Step::Calls));
        }
        0x92 => {
            or_end!(stack.has(3), End::Invalid);
            return Ok(Ok(Step::Calls));
        }
        _ => None,
    };
    Ok(done.map(|()| Step::Next).ok_or(End::Invalid))
}

/// Reads a source from its start, in pieces.
struct Reader<'r, 's> {
    source: &'r Source<'s>,
    at: u64,
    piece: Vec<u8>,
    /// Where the piece starts.
    start: u64,
    /// The last two short texts: mostly the name of what is imported next.
    texts: [Vec<u8>; 2],
    budget: &'r mut Budget,
}

impl Reader<'_, '_> {
    fn byte(&mut self) -> Result<Option<u8>, Stop> {
        let inside = self.at.wrapping_sub(self.start);
        if self.at < self.start || inside >= self.piece.len() as u64 {
            // Most files are told by their first bytes.
            let piece = if self.at == 0 { 256 } else { PIECE };
            self.piece = self.source.read(self.at, piece, self.budget)?;
            self.start = self.at;
        }
        let inside = usize::try_from(self.at - self.start).unwrap_or(usize::MAX);
        let byte = self.piece.get(inside).copied();
        self.at += u64::from(byte.is_some());
        Ok(byte)
    }

    /// `None` where the bytes end before that.
    fn skip(&mut self, count: u64) -> Result<Option<()>, Stop> {
        let end = self.at.saturating_add(count);
        if end > self.source.length() {
            return Ok(None);
        }
        self.at = end;
        Ok(Some(()))
    }

    /// A number of this many bytes, the lowest first.
    fn number(&mut self, bytes: u32) -> Result<Option<u64>, Stop> {
        let mut number = 0;
        for index in 0..bytes {
            match self.byte()? {
                Some(byte) => number |= u64::from(byte) << (8 * index),
                None => return Ok(None),
            }
        }
        Ok(Some(number))
    }

    /// A line without its end, of which at most `kept` bytes are kept.
    fn line(&mut self, kept: usize) -> Result<Option<Vec<u8>>, Stop> {
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                None => return Ok(None),
                Some(b'\n') => return Ok(Some(line)),
                Some(byte) if line.len() < kept => line.push(byte),
                Some(_) => {}
            }
        }
    }

    /// A short text, which is remembered.
    fn text(&mut self, length: u64) -> Result<Option<()>, Stop> {
        let mut text = Vec::new();
        for _ in 0..length {
            match self.byte()? {
                Some(byte) => text.push(byte),
                None => return Ok(None),
            }
        }
        self.texts.swap(0, 1);
        self.texts[1] = text;
        Ok(Some(()))
    }

    /// What the last two texts name, if they can.
    fn last_name(&self) -> String {
        let [module, inside] = self.texts.clone().map(plain_name);
        match (module, inside) {
            (Some(module), Some(inside)) => format!("{module}.{inside}"),
            _ => "something that it imports".to_owned(),
        }
    }

    /// Two lines that name a module and something in it; the inner `None` if they can't.
    fn name(&mut self) -> Result<Option<Option<String>>, Stop> {
        let (Some(module), Some(inside)) = (self.line(LONGEST_NAME)?, self.line(LONGEST_NAME)?) else {
            return Ok(None);
        };
        Ok(Some(match (plain_name(module), plain_name(inside)) {
            (Some(module), Some(inside)) => Some(format!("{module}.{inside}")),
            _ => None,
        }))
    }
}

/// The bytes as the name of something in Python; `None` if they can't be one.
fn plain_name(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-');
    (!text.is_empty() && text.chars().all(is_plain)).then_some(text)
}
