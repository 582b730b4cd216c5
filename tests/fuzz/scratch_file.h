#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/fuzz/fuzz.h"

namespace winnow::fuzz {

// A file in memory, where the host has such a place, for parsers that take a path.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& ending = "") {
    const std::string folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path_ = folder + "/winnow-fuzz-XXXXXX" + ending;
    file_ = mkstemps(path_.data(), static_cast<int>(ending.size()));
    Require(file_ >= 0, "there is a folder for a scratch file");
  }
  ~ScratchFile() {
    close(file_);
    unlink(path_.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& Hold(std::string_view content) {
    const bool held = ftruncate(file_, 0) == 0 && pwrite(file_, content.data(), content.size(), 0) ==
                                                      static_cast<ssize_t>(content.size());
    Require(held, "the scratch file can be written");
    return path_;
  }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace winnow::fuzz
