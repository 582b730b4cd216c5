#include "worker/runs/kept_reports.h"

#include <fcntl.h>

#include <string>
#include <utility>

#include "base/read_file.h"
#include "base/status_text.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/delimited_message_util.h"
#include "spdlog/spdlog.h"

namespace winnow {
namespace {

namespace pb = google::protobuf;

constexpr char kReportsFile[] = "reports";

// Returns the reports up to the first that is not whole: the worker was killed while it wrote it.
std::vector<v1::Report> ParseReports(const std::string& bytes) {
  std::vector<v1::Report> reports;
  pb::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  v1::Report report;
  while (pb::util::ParseDelimitedFromZeroCopyStream(&report, &stream, nullptr))
    reports.push_back(std::exchange(report, {}));
  return reports;
}

}  // namespace

KeptReports::KeptReports(const FolderName& trial) : path_((trial / kReportsFile).path()) {}

std::vector<v1::Report> KeptReports::Find(int64_t from, int64_t to) {
  const absl::StatusOr<std::string> bytes = ReadFile(path_.string());
  if (!bytes.ok()) return {};
  std::vector<v1::Report> found = ParseReports(*bytes);
  std::erase_if(found, [from, to](const v1::Report& report) {
    return report.resource() <= from || (to > 0 && report.resource() > to);
  });
  if (!found.empty()) Write(found);
  return found;
}

void KeptReports::Add(const v1::Report& report) { Write({report}); }

void KeptReports::Open() {
  if (file_.has_value() || failed_) return;
  auto file = OpenFile::Open(path_, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file.ok()) {
    file_.emplace(*std::move(file));
  } else {
    failed_ = true;
    spdlog::warn("reports are not kept beside the checkpoint: {}", MessageOf(file.status()));
  }
}

void KeptReports::Write(const std::vector<v1::Report>& reports) {
  Open();
  if (failed_) return;
  std::string bytes;
  {
    pb::io::StringOutputStream stream(&bytes);
    for (const v1::Report& report : reports) pb::util::SerializeDelimitedToZeroCopyStream(report, &stream);
  }
  if (const absl::Status status = file_->Write(bytes); !status.ok()) {
    failed_ = true;
    spdlog::warn("reports are no longer kept beside the checkpoint: {}", MessageOf(status));
  }
}

}  // namespace winnow
