#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The bytes of an IDX file: type 8 is bytes, 13 floats, as the format numbers them.
inline std::string Idx(uint8_t type, const std::vector<uint32_t>& shape, std::string_view content) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (const uint32_t size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes.append(content);
}

}  // namespace winnow
