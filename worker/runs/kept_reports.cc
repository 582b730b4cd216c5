#include "worker/runs/kept_reports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "base/read_file.h"
#include "base/status_text.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/delimited_message_util.h"
#include "spdlog/spdlog.h"
#include "worker/runs/trial_directories.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;

// Returns the reports up to the first that is not whole: the worker was killed while it wrote it.
std::vector<v1::Report> ParseReports(const std::string& bytes) {
  std::vector<v1::Report> reports;
  pb::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  v1::Report report;
  while (pb::util::ParseDelimitedFromZeroCopyStream(&report, &stream, nullptr))
    reports.push_back(std::exchange(report, {}));
  return reports;
}

// Merges the reports of a level. Of a metric that several attempts have reported there, the first value
// stays.
std::vector<v1::Report> ByLevel(const std::vector<v1::Report>& reports, int64_t from, int64_t to) {
  std::map<int64_t, std::map<std::string, double>> levels;
  for (const v1::Report& report : reports) {
    const int64_t level = report.resource();
    if (level <= from || (to > 0 && level > to)) continue;
    for (const v1::MetricValue& metric : report.metrics())
      levels[level].emplace(metric.name(), metric.value());
  }
  std::vector<v1::Report> merged;
  for (const auto& [level, values] : levels) {
    merged.emplace_back().set_resource(level);
    for (const auto& [name, value] : values) {
      v1::MetricValue* metric = merged.back().add_metrics();
      metric->set_name(name);
      metric->set_value(value);
    }
  }
  return merged;
}

std::string Serialized(const std::vector<v1::Report>& reports) {
  std::string bytes;
  pb::io::StringOutputStream stream(&bytes);
  for (const v1::Report& report : reports) pb::util::SerializeDelimitedToZeroCopyStream(report, &stream);
  return bytes;
}

}  // namespace

KeptReports::KeptReports(const FolderName& trial) : path_((trial / kReportsFile).path()) {}

std::vector<v1::Report> KeptReports::Find(int64_t from, int64_t to) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path_, error))) return {};
  const absl::StatusOr<std::string> bytes = ReadFile(path_.string());
  if (!bytes.ok()) {
    spdlog::warn("the reports in {} are lost: {}", path_.string(), MessageOf(bytes.status()));
    return {};
  }
  std::vector<v1::Report> found = ByLevel(ParseReports(*bytes), from, to);
  if (found.empty()) return found;
  // They stay kept, whatever happens meanwhile.
  const fs::path draft = path_.string() + ".new";
  Open(draft);
  Write(Serialized(found));
  if (!failed_ && rename(draft.c_str(), path_.c_str()) != 0)
    Fail(FileError(path_, "cannot be replaced", errno));
  return found;
}

void KeptReports::Add(const v1::Report& report) {
  if (!file_.has_value()) Open(path_);
  Write(Serialized({report}));
}

void KeptReports::Open(const fs::path& path) {
  if (failed_) return;
  auto file = OpenFile::Open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (!file.ok()) return Fail(file.status());
  file_.emplace(*std::move(file));
}

void KeptReports::Write(const std::string& bytes) {
  if (failed_) return;
  if (absl::Status status = file_->Write(bytes); !status.ok()) Fail(status);
}

void KeptReports::Fail(const absl::Status& status) {
  failed_ = true;
  spdlog::warn("reports are not kept beside the checkpoint: {}", MessageOf(status));
}

}  // namespace winnow
