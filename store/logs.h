#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "store/database.h"

namespace winnow {

// At most this many bytes of a stream are kept.
inline constexpr int64_t kMaxLogBytes = 1 << 20;

struct LogPart {
  std::string data;
  int64_t next_offset = 0;
  bool truncated = false;  // some of the output was not kept
};

// The output of processes: by assignment, stream (0: standard output, 1: standard error) and offset.
class LogTable {
 public:
  explicit LogTable(Database& database);

  // Accepts the same chunk again. Cuts bytes beyond kMaxLogBytes and marks the stream as truncated.
  absl::Status Append(int64_t assignment, int stream, int64_t offset, std::string_view data, bool truncated);
  // At most `limit` bytes from `offset` on.
  absl::StatusOr<LogPart> Read(int64_t assignment, int stream, int64_t offset, int64_t limit);

 private:
  Statement append_, read_, truncated_;
};

}  // namespace winnow
