#pragma once

#include <cstdint>
#include <string_view>

namespace winnow {

// All events of a run, as a hash that two runs of one seed share, and on request as text.
class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  void Note(int64_t now_us, std::string_view what, std::string_view who = "", int64_t one = 0,
            int64_t two = 0);
  bool prints() const { return print_; }
  uint64_t hash() const { return hash_; }

 private:
  void Mix(uint64_t value);
  void Mix(std::string_view text);

  const bool print_;
  uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace winnow
