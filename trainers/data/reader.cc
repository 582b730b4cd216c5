#include "trainers/data/reader.h"

#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/file_source.h"
#include "trainers/data/part_reading.h"
#include "trainers/data/shard.h"

namespace winnow {
namespace {

absl::Status CheckOption(const char* name, const std::string& value,
                         const std::vector<std::string>& allowed) {
  for (const std::string& each : allowed) {
    if (value == each) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("{} is \"{}\"; expected one of \"{}\"", name, value, fmt::join(allowed, "\", \"")));
}

absl::Status CheckOptions(const DataOptions& options) {
  if (absl::Status status = CheckOption("format", options.format, {"auto", "csv", "libsvm"}); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckOption("header", options.header, {"auto", "yes", "no"}); !status.ok())
    return status;
  if (absl::Status status = CheckOption("separator", options.separator, {"auto", ",", ";", "\t", "|", " "});
      !status.ok()) {
    return status;
  }
  if (options.max_levels < 1) {
    return absl::InvalidArgumentError(
        fmt::format("max_levels is {}; expected 1 or more", options.max_levels));
  }
  return absl::OkStatus();
}

// `first` is the first file of the table; `paths` are all its files or a part of them.
absl::StatusOr<DataSet> ReadFiles(const std::vector<std::string>& paths, const std::string& first,
                                  const PartReading& reading) {
  const absl::StatusOr<SourceFile> head = ReadTextHead(first);
  if (!head.ok()) return head.status();
  const std::string& format = reading.options.format;
  const bool libsvm = format == "libsvm" || (format == "auto" && LooksLikeLibsvm(*head));
  return libsvm ? ReadLibsvm(paths, reading) : ReadCsv(paths, *head, reading);
}

}  // namespace

absl::StatusOr<DataSet> ReadDataSet(const std::string& path, const DataOptions& options,
                                    const DataSchema* like, int threads, TableForm form) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const absl::StatusOr<std::vector<std::string>> files = ListFiles(path);
  if (!files.ok()) return files.status();
  return ReadFiles(*files, files->front(), {options, like, threads, path, 0, ExchangeAlone, form});
}

absl::StatusOr<DataSet> ReadShard(const std::string& path, const DataOptions& options, const DataSchema* like,
                                  int rank, int size, const Exchange& exchange, int threads, TableForm form) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const absl::StatusOr<std::vector<std::string>> all = ListFiles(path), mine = ShardFiles(path, rank, size);
  if (!all.ok()) return all.status();
  if (!mine.ok()) return mine.status();
  return ReadFiles(*mine, all->front(), {options, like, threads, path, rank, exchange, form});
}

}  // namespace winnow
