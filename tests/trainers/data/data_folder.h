#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/data/data_set.h"

namespace winnow {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A new empty folder in the system's temporary folder, removed with its content at the end.
class DataFolder {
 public:
  DataFolder();
  ~DataFolder();
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  std::string path(const std::string& name = "") const {
    return name.empty() ? root_.string() : (root_ / name).string();
  }
  // Writes a file, making folders as needed; returns its path.
  std::string Write(const std::string& name, std::string_view bytes) const;

  // Returns the table of a file "t.csv" with `bytes`. Fails the test if it cannot be read.
  DataSet Read(std::string_view bytes, const DataOptions& options = {},
               const DataSchema* like = nullptr) const;
  // Returns the error for a file "t.csv" with `bytes`. Fails the test if it can be read.
  std::string ReadError(std::string_view bytes, const DataOptions& options = {},
                        const DataSchema* like = nullptr) const;

 private:
  std::filesystem::path root_;
};

// Returns `bytes` as one gzip member.
std::string Gzip(std::string_view bytes);

// Options with this label.
DataOptions Label(const std::string& label);

// The values of the feature of that name. Fails the test if there is none.
std::vector<float> Feature(const DataSet& data, const std::string& name);

// Whether both hold the same numbers, NaN being equal to NaN.
bool Same(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace winnow
