#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace winnow::fuzz {

// A folder in memory, where the host has such a place.
class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = access("/dev/shm", W_OK) == 0 ? "/dev/shm/winnow-fuzz-XXXXXX" : "/tmp/winnow-fuzz-XXXXXX";
    Require(mkdtemp(path_.data()) != nullptr, "there is a place for a scratch folder");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  void Empty() {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove_all(entry.path());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace winnow::fuzz
