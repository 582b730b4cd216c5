#include "trainers/common/csv_output.h"

#include <cstdio>

#include "trainers/common/whole_file.h"

namespace winnow {

std::string CsvQuoted(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

absl::Status WriteOutput(const std::string& path, const std::string& text) {
  if (!path.empty()) return WriteFileWhole(path, text);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? absl::OkStatus() : absl::UnavailableError("standard output: cannot write");
}

}  // namespace winnow
