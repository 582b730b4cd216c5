#include "tests/simulation/trace.h"

#include <fmt/format.h>

#include <cstdio>

namespace winnow {

// A step of FNV-1a over words instead of bytes.
void Trace::Mix(uint64_t value) {
  hash_ = (hash_ ^ value) * 0x100000001b3ULL;
  hash_ ^= hash_ >> 29;
}

void Trace::Mix(std::string_view text) {
  for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  Mix(text.size());
}

void Trace::Note(int64_t now_us, std::string_view what, std::string_view who, int64_t one, int64_t two) {
  Mix(static_cast<uint64_t>(now_us));
  Mix(what);
  Mix(who);
  Mix(static_cast<uint64_t>(one));
  Mix(static_cast<uint64_t>(two));
  if (print_) {
    fmt::print("{:>12.6f} {:<28} {} {} {}\n", static_cast<double>(now_us) / 1e6, what, who, one, two);
    std::fflush(stdout);
  }
}

}  // namespace winnow
