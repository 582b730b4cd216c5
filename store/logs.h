#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// At most this many bytes of a stream are kept. Workers send its first MiB, and at most 255 KiB of its end.
inline constexpr int64_t kMaxLogBytes = (1 << 20) + (256 << 10);

struct LogPart {
  std::string data;
  int64_t next_offset = 0;
  bool truncated = false;  // some of the output was not kept
};

// When the output from `offset` on, up to the next one's, was received.
struct LogTime {
  int64_t offset = 0;
  int64_t received_us = 0;  // 0: by an older version of the server
};

// The output of processes: by assignment, stream (0: standard output, 1: standard error) and offset.
class LogTable {
 public:
  explicit LogTable(Database& database);

  // Accepts the same chunk again. Cuts bytes beyond kMaxLogBytes and marks the stream as truncated.
  absl::Status Append(int64_t assignment, int stream, int64_t offset, std::string_view data, bool truncated,
                      int64_t received_us);
  // At most `limit` bytes from `offset` on.
  absl::StatusOr<LogPart> Read(int64_t assignment, int stream, int64_t offset, int64_t limit);
  // The times of the chunks that have bytes behind `offset`, in order.
  absl::StatusOr<std::vector<LogTime>> Times(int64_t assignment, int stream, int64_t offset);

 private:
  Statement append_, read_, times_, truncated_;
};

}  // namespace winnow
