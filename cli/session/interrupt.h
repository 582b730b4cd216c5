#pragma once

namespace winnow::cli {

// While one lives, Ctrl-C (SIGINT) is noted instead of ending the process. At most one at a time.
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
