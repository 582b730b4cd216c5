#include "trainers/mlp/profile/profile_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "trainers/common/whole_file.h"
#include "trainers/mlp/profile/findings.h"
#include "trainers/mlp/profile/trace.h"

namespace winnow::mlp {

absl::Status ReportProfile(const Profile& profile, const std::vector<double>& losses, Communicator* ranks,
                           const std::string& folder, std::FILE* out) {
  absl::StatusOr<std::vector<RankProfile>> all = GatherProfiles(profile, ranks);
  if (!all.ok()) return all.status();
  if (ranks->rank() != 0) return absl::OkStatus();
  const TrainingNumbers numbers{*std::move(all), losses};
  std::string text = PhaseTable(numbers.ranks);
  for (const Finding& finding : Findings(numbers)) text += finding.text + "\n";
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
  if (folder.empty()) return absl::OkStatus();
  const std::filesystem::path path(folder);
  if (absl::Status status = WriteFileWhole((path / "profile.txt").string(), text); !status.ok())
    return status;
  return WriteFileWhole((path / "trace.json").string(), ChromeTrace(numbers.ranks));
}

}  // namespace winnow::mlp
