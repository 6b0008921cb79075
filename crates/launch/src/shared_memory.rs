//! Memory that a child process shares: an anonymous file that is inherited, so it has no name and nothing can be left
//! behind.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

/// A block of memory. Other processes write to it, so it is only ever copied from and to.
pub struct SharedMemory {
    file: OwnedFd,
    start: *mut u8,
    size: usize,
}

// SAFETY: the pointer is to a mapping that this value owns; every access goes through `&self` or `&mut self`.
unsafe impl Send for SharedMemory {}
// SAFETY: `&self` only copies out of the mapping, or uses atomics.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Memory without any bytes yet.
    pub fn new() -> io::Result<Self> {
        let file = rustix::fs::memfd_create("rlx", MemfdFlags::CLOEXEC)?;
        Ok(Self { file, start: std::ptr::null_mut(), size: 0 })
    }

    /// Makes it `size` bytes of zeros.
    pub fn resize(&mut self, size: usize) -> io::Result<()> {
        self.unmap();
        rustix::fs::ftruncate(&self.file, 0)?;
        rustix::fs::ftruncate(&self.file, size as u64)?;
        // SAFETY: a new mapping at an address that the kernel chooses; it overlaps nothing.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                size,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &self.file,
                0,
            )
        }?;
        (self.start, self.size) = (start.cast(), size);
        Ok(())
    }

    fn unmap(&mut self) {
        if !self.start.is_null() {
            // SAFETY: this mapping was made by `resize` and nothing refers to it.
            let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.size) };
            (self.start, self.size) = (std::ptr::null_mut(), 0);
        }
    }

    fn place(&self, offset: usize, bytes: usize) -> *mut u8 {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.size);
        assert!(inside, "{bytes} bytes from {offset} are outside of {} bytes", self.size);
        // SAFETY: the range was checked to be inside of the mapping.
        unsafe { self.start.add(offset) }
    }

    /// Copies `values` to `offset`.
    pub fn write<T: Plain>(&mut self, offset: usize, values: &[T]) {
        let bytes = std::mem::size_of_val(values);
        let place = self.place(offset, bytes);
        // SAFETY: `place` is valid for `bytes`; ours and the mapping can't overlap; any bytes are a `T`.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), place, bytes) };
    }

    /// Copies from `offset` to `values`.
    pub fn read<T: Plain>(&self, offset: usize, values: &mut [T]) {
        let bytes = std::mem::size_of_val(values);
        let place = self.place(offset, bytes);
        // SAFETY: `place` is valid for `bytes`; ours and the mapping can't overlap; any bytes are a `T`.
        unsafe { std::ptr::copy_nonoverlapping(place, values.as_mut_ptr().cast::<u8>(), bytes) };
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4), "a word is at a multiple of four bytes");
        let place = self.place(offset, 4);
        // SAFETY: inside of the mapping, which starts at a page, and aligned; lives as long as `self` isn't resized,
        // which needs `&mut`.
        unsafe { AtomicU32::from_ptr(place.cast()) }
    }

    /// The word at `offset`; everything written before it by the other side is visible after.
    pub fn load(&self, offset: usize) -> u32 {
        self.word(offset).load(Ordering::SeqCst)
    }

    /// Sets the word at `offset`, after everything written before.
    pub fn store(&self, offset: usize, value: u32) {
        self.word(offset).store(value, Ordering::SeqCst);
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.unmap();
    }
}

/// Numbers of which any bytes are a value.
pub trait Plain: Copy + private::Sealed {}

mod private {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($number:ty),*) => { $(impl private::Sealed for $number {} impl Plain for $number {})* };
}

plain!(u8, i64, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_new_size_is_zeros() {
        let mut memory = SharedMemory::new().unwrap();
        memory.resize(128).unwrap();
        memory.write(64, &[1.5_f32, -2.0]);
        memory.store(0, 7);
        let mut read = [0.0_f32; 2];
        memory.read(64, &mut read);
        assert_eq!((read, memory.load(0)), ([1.5, -2.0], 7));
        memory.resize(256).unwrap();
        memory.read(64, &mut read);
        assert_eq!((read, memory.load(0)), ([0.0, 0.0], 0));
    }

    #[test]
    #[should_panic(expected = "outside of 64 bytes")]
    fn nothing_outside_is_touched() {
        let mut memory = SharedMemory::new().unwrap();
        memory.resize(64).unwrap();
        memory.write(60, &[0_i64]);
    }
}
