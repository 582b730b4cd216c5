#pragma once

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace winnow {

// A shell command whose process group cannot be ended: all that is left of it after its SIGKILL is a zombie,
// whose parent has left the group and never waits for it. The destructor ends the parent.
class Unkillable {
 public:
  // `file`: exists once the parent has left.
  explicit Unkillable(std::filesystem::path file) : file_(std::move(file)) {}
  ~Unkillable() {
    pid_t parent = 0;
    if (std::ifstream(file_) >> parent && parent > 0) kill(parent, SIGKILL);
  }
  Unkillable(const Unkillable&) = delete;
  Unkillable& operator=(const Unkillable&) = delete;

  std::string command() const {
    return "sh -c 'sleep 1000 & exec setsid sh -c \"echo $$ > " + file_.string() +
           "; exec sleep 1000\"' & wait";
  }
  const std::filesystem::path& file() const { return file_; }

 private:
  const std::filesystem::path file_;
};

}  // namespace winnow
