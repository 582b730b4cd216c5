#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace winnow {

// The trainer's side of the control socket (docs/trainer-contract.md): a program that has ended a part says
// so, waits, and is told to go on or to end.
class Control {
 public:
  // The socket that WINNOW_CONTROL_FD names. Without one, or if it names none, is_open() is false.
  Control();
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  bool is_open() const { return fd_ >= 0; }
  // Says that the program has trained to `level`, has reported it, and only saves now.
  void Saves(int64_t level) const;
  // Says that the program has trained to `level` and saved, and waits. Returns the level to train to now (0:
  // to the trainer's own end). Absent: end; also if the worker is gone or a signal came.
  std::optional<int64_t> Wait(int64_t level);

 private:
  int fd_ = -1;
  std::string said_;  // the beginning of a line
};

}  // namespace winnow
