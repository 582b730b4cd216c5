#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace winnow {

// 64 bits that change with any damage to `content`: four chains of multiplications, so that gigabytes take a fraction of
// a second. It is no protection against those who mean harm.
uint64_t ContentChecksum(std::span<const std::byte> content);

}  // namespace winnow
