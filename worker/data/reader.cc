#include "worker/data/reader.h"

#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/data/csv_reader.h"
#include "worker/data/file_source.h"
#include "worker/data/libsvm_reader.h"

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

}  // namespace

absl::StatusOr<DataSet> ReadDataSet(const std::string& path, const DataOptions& options,
                                    const DataSchema* like) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const absl::StatusOr<std::vector<SourceFile>> files = ReadFileOrFolder(path);
  if (!files.ok()) return files.status();
  const bool libsvm =
      options.format == "libsvm" || (options.format == "auto" && LooksLikeLibsvm(files->front()));
  return libsvm ? ReadLibsvm(*files, options, like) : ReadCsv(*files, options, like);
}

}  // namespace winnow
