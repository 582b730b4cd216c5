#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "artifact/files.h"
#include "artifact/folder.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// What the programs of a trial have reported, in a file beside the trial's checkpoint, which may be ahead of
// what the server has heard. If the worker is killed, or the server has given it up, what it has not sent is
// lost with it; then the next attempt that goes on from the checkpoint sends it. A file that cannot be read
// or written has no other effect. It is not flushed to disk: it outlives the worker, not the host.
class KeptReports {
 public:
  // `trial`: the folder that has the checkpoint's, in which the trainer's user cannot change names.
  explicit KeptReports(const FolderName& trial);

  // Returns what earlier attempts added, of levels above `from` and, unless it is 0, up to `to`: a report for
  // each level, in order, with the first value of each metric. It stays kept; anything else that they added
  // is forgotten with the first Add.
  std::vector<v1::Report> Find(int64_t from, int64_t to);
  // `report`: without the assignment's id and the time.
  void Add(const v1::Report& report);

 private:
  void Open(const std::filesystem::path& path);
  void Write(const std::string& bytes);
  void Fail(const absl::Status& status);

  const std::filesystem::path path_;
  std::optional<OpenFile> file_;  // once something was added
  bool failed_ = false;
};

}  // namespace winnow
