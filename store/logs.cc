#include "store/logs.h"

#include <algorithm>

namespace winnow {

LogTable::LogTable(Database& database)
    : append_(database,
              "INSERT OR IGNORE INTO logs (assignment, stream, offset, data, truncated, received_us)"
              " VALUES (?1, ?2, ?3, CAST(?4 AS BLOB), ?5, ?6)"),
      read_(database,
            "SELECT offset, data FROM logs WHERE assignment = ?1 AND stream = ?2"
            " AND offset + LENGTH(data) > ?3 ORDER BY offset"),
      times_(database,
             "SELECT offset, received_us FROM logs WHERE assignment = ?1 AND stream = ?2"
             " AND offset + LENGTH(data) > ?3 ORDER BY offset"),
      truncated_(database,
                 "SELECT truncated FROM logs WHERE assignment = ?1 AND stream = ?2"
                 " ORDER BY offset DESC LIMIT 1") {}

absl::Status LogTable::Append(int64_t assignment, int stream, int64_t offset, std::string_view data,
                              bool truncated, int64_t received_us) {
  int64_t room = std::max<int64_t>(0, kMaxLogBytes - offset);
  if (static_cast<int64_t>(data.size()) > room) {
    data = data.substr(0, room);
    truncated = true;
    offset = std::min(offset, kMaxLogBytes);
  }
  return append_.Bind(assignment, int64_t{stream}, offset, data, truncated, received_us).RunLater();
}

absl::StatusOr<LogPart> LogTable::Read(int64_t assignment, int stream, int64_t offset, int64_t limit) {
  LogPart part;
  part.next_offset = offset;
  read_.Bind(assignment, int64_t{stream}, offset);
  while (static_cast<int64_t>(part.data.size()) < limit) {
    absl::StatusOr<bool> row = read_.Next();
    if (!row.ok()) return row.status();
    if (!*row) break;
    int64_t start = read_.Int(0);
    if (start > part.next_offset) break;  // a gap: later bytes are not shown before it is filled
    std::string data = read_.Text(1);
    if (start + static_cast<int64_t>(data.size()) <= part.next_offset) continue;
    part.data.append(data, part.next_offset - start, limit - static_cast<int64_t>(part.data.size()));
    part.next_offset = offset + static_cast<int64_t>(part.data.size());
  }
  read_.Reset();
  absl::StatusOr<bool> row = truncated_.Bind(assignment, int64_t{stream}).Next();
  if (!row.ok()) return row.status();
  part.truncated = *row && truncated_.Int(0) != 0;
  truncated_.Reset();
  return part;
}

absl::StatusOr<std::vector<LogTime>> LogTable::Times(int64_t assignment, int stream, int64_t offset) {
  std::vector<LogTime> times;
  const absl::Status status = times_.Bind(assignment, int64_t{stream}, offset).ForEach([&] {
    times.push_back({times_.Int(0), times_.Int(1)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return times;
}

}  // namespace winnow
