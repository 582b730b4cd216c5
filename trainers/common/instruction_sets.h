#pragma once

// Compiles a function once per instruction set; the widest that the processor has is called. The results have
// the same bits on all, because these files are compiled with -ffp-contract=off.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WINNOW_EACH_INSTRUCTION_SET __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define WINNOW_EACH_INSTRUCTION_SET
#endif
