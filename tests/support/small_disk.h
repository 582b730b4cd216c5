#pragma once

#include <filesystem>
#include <string>

namespace winnow {

// A separate file system in memory, of a few MiB, mounted in a new temporary folder; removed with the object.
class SmallDisk {
 public:
  explicit SmallDisk(int64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Whether this process may mount one. If not, it is only a folder.
  bool mounted() const { return mounted_; }
  std::string folder() const { return folder_.string(); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // Uses every free byte.
  void Fill();
  // Releases what Fill used.
  void Clear();

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

}  // namespace winnow
