#include "server/roles.h"

#include <map>
#include <utility>

namespace winnow {
namespace {

constexpr unsigned Bit(v1::Role role) { return 1u << role; }

constexpr unsigned kAdmins = Bit(v1::ADMIN);
constexpr unsigned kSubmitters = Bit(v1::SUBMITTER) | kAdmins;
constexpr unsigned kReaders = Bit(v1::VIEWER) | kSubmitters;
constexpr unsigned kWorkers = Bit(v1::WORKER) | kAdmins;
constexpr unsigned kReadersAndWorkers = kReaders | kWorkers;

constexpr std::string_view kTuning = "winnow.v1.TuningService";
constexpr std::string_view kWorker = "winnow.v1.WorkerService";
constexpr std::string_view kArtifact = "winnow.v1.ArtifactService";
constexpr std::string_view kUsage = "winnow.v1.UsageService";
constexpr std::string_view kInsight = "winnow.v1.InsightService";
constexpr std::string_view kAdmin = "winnow.v1.AdminService";

}  // namespace

const std::vector<MethodRule>& MethodRules() {
  static const std::vector<MethodRule> kRules = {
      {kTuning, "CreateTuningJob", kSubmitters},
      {kTuning, "DescribeTuningJob", kReaders},
      {kTuning, "ListTuningJobs", kReaders},
      {kTuning, "StopTuningJob", kSubmitters},
      {kTuning, "DeleteTuningJob", kSubmitters},
      {kTuning, "ListTrials", kReaders},
      {kTuning, "DescribeTrial", kReaders},
      {kTuning, "QueryMetrics", kReaders},
      {kTuning, "GetAnalytics", kReaders},
      {kTuning, "PreviewTuningJob", kReaders},
      {kTuning, "WatchTuningJob", kReaders},
      {kTuning, "ListWorkers", kReaders},
      {kTuning, "GetLogs", kReaders},
      {kTuning, "ReplayTuningJob", kReaders},
      {kTuning, "SuggestTrials", kSubmitters},
      {kTuning, "ReportMetrics", kSubmitters},
      {kTuning, "CompleteTrial", kSubmitters},

      {kInsight, "GetProgress", kReaders},
      {kInsight, "GetSieve", kReaders},
      {kInsight, "GetLearningCurves", kReaders},
      {kInsight, "GetParallelCoordinates", kReaders},
      {kInsight, "GetImportance", kReaders},
      {kInsight, "GetSlice", kReaders},
      {kInsight, "QueryTrials", kReaders},
      {kInsight, "GetNeighbours", kReaders},
      {kInsight, "Compare", kReaders},

      {kWorker, "Sync", kWorkers},

      // A model is read by those who read its job; only a trial's worker adds to the store.
      {kArtifact, "FindMissingBlobs", kWorkers},
      {kArtifact, "PutBlob", kWorkers},
      {kArtifact, "GetBlob", kReadersAndWorkers},
      {kArtifact, "PutArtifact", kWorkers},
      {kArtifact, "GetArtifact", kReadersAndWorkers},

      {kUsage, "GetWorkerUsage", kReaders},
      {kUsage, "GetTrialUsage", kReaders},

      {kAdmin, "CreateToken", kAdmins},
      {kAdmin, "ListTokens", kAdmins},
      {kAdmin, "RevokeToken", kAdmins},
      {kAdmin, "SetWorkerScheduling", kAdmins},
      {kAdmin, "Backup", kAdmins},
      {kAdmin, "GetCaller", kReadersAndWorkers},
  };
  return kRules;
}

bool MayCall(v1::Role role, std::string_view service, std::string_view method) {
  static const auto kByName = [] {
    std::map<std::pair<std::string_view, std::string_view>, unsigned> by_name;
    for (const MethodRule& rule : MethodRules()) by_name[{rule.service, rule.method}] = rule.roles;
    return by_name;
  }();
  const auto rule = kByName.find({service, method});
  return rule != kByName.end() && role != v1::ROLE_UNSPECIFIED && (rule->second & Bit(role)) != 0;
}

std::string_view RoleName(v1::Role role) {
  switch (role) {
    case v1::VIEWER:
      return "viewer";
    case v1::SUBMITTER:
      return "submitter";
    case v1::WORKER:
      return "worker";
    case v1::ADMIN:
      return "admin";
    default:
      return "";
  }
}

v1::Role RoleOf(std::string_view name) {
  for (v1::Role role : {v1::VIEWER, v1::SUBMITTER, v1::WORKER, v1::ADMIN}) {
    if (name == RoleName(role)) return role;
  }
  return v1::ROLE_UNSPECIFIED;
}

}  // namespace winnow
