#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

// One input: libFuzzer and replay.cc call it. Returns 0; a finding ends the process.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace winnow::fuzz {

// A property of a parser's answer for every input.
inline void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what.c_str());
  std::abort();
}

// Takes values from the front of an input; zeros and empty texts when it is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  template <typename T = uint8_t>
  T Number() {
    static_assert(std::is_arithmetic_v<T>);
    T number{};
    const size_t size = std::min(sizeof number, rest_.size());
    std::memcpy(&number, rest_.data(), size);
    rest_.remove_prefix(size);
    return number;
  }
  // One of 0 … below - 1.
  uint32_t Below(uint32_t below) { return Number<uint8_t>() % below; }
  bool Flag() { return (Number<uint8_t>() & 1) != 0; }
  // At most 255 bytes; the first byte gives their number.
  std::string_view Text() { return Take(Number<uint8_t>()); }
  std::string_view Take(size_t most) {
    const std::string_view text = rest_.substr(0, most);
    rest_.remove_prefix(text.size());
    return text;
  }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace winnow::fuzz
