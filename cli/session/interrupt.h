#pragma once

namespace winnow::cli {

// While an instance lives, Ctrl-C (SIGINT) is recorded and does not end the process. At most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int fd() const;  // readable (poll) once it is raised
  bool raised() const;
};

}  // namespace winnow::cli
