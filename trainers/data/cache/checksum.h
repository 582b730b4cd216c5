#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace winnow {

// Returns 64 bits that change with any damage to `content`: four chains of multiplications, so that gigabytes
// take a fraction of a second. No protection against deliberate changes.
uint64_t ContentChecksum(std::span<const std::byte> content);

}  // namespace winnow
