//! What this CPU can do, and loops compiled for it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether AVX-512 is left unused although the CPU has it.
static WITHOUT_AVX512: AtomicBool = AtomicBool::new(false);

/// Whether this CPU has 256-bit vectors with fused multiply-add.
#[inline]
pub fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether this CPU has 512-bit vectors, and the 256-bit ones with as many registers.
#[inline]
pub fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return has_avx2()
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether 512-bit vectors are in use: where the CPU has them, unless [`without_avx512`] was called.
#[inline]
pub fn uses_avx512() -> bool {
    has_avx512() && !WITHOUT_AVX512.load(Ordering::Relaxed)
}

/// Leaves AVX-512 unused from now on, so that a benchmark can compare.
#[doc(hidden)]
pub fn without_avx512() {
    WITHOUT_AVX512.store(true, Ordering::Relaxed);
}

/// Defines a function three times, for the plain CPU, for AVX2 and for AVX-512, and
/// chooses between them where it runs. The body is the same and nothing is fused,
/// so the results are too.
#[macro_export]
macro_rules! vectorised {
    ($(#[$attribute:meta])* $visible:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        $visible fn $name($($argument: $kind),*) $(-> $result)? {
            #[inline(always)]
            fn body($($argument: $kind),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($argument: $kind),*) $(-> $result)? {
                    body($($argument),*)
                }
                #[target_feature(enable = "avx2,avx512f,avx512dq,avx512vl")]
                fn widest($($argument: $kind),*) $(-> $result)? {
                    body($($argument),*)
                }
                if $crate::cpu::uses_avx512() {
                    // SAFETY: the CPU was just found to have AVX-512.
                    return unsafe { widest($($argument),*) };
                }
                if $crate::cpu::has_avx2() {
                    // SAFETY: the CPU was just found to have AVX2.
                    return unsafe { wide($($argument),*) };
                }
            }
            body($($argument),*)
        }
    };
}
