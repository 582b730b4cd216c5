#pragma once

#include <cstddef>

namespace winnow {

// Asks the kernel for huge pages for about the next `bytes` that this process takes from its heap. For arrays
// that are long and soon written: a huge page is cleared and mapped at once, where 512 pages cost 512 page
// faults, which a process that trains one short part pays each time. Nothing happens for less than a huge
// page, and where the heap or the kernel cannot do it.
void PreferHugePages(std::size_t bytes);

}  // namespace winnow
