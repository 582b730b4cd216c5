#include "server/grpc/roles.h"

#include <map>
#include <utility>

namespace winnow {
namespace {

constexpr unsigned Bit(v1::Role role) { return 1u << role; }

constexpr unsigned kAdmins = Bit(v1::ADMIN);
constexpr unsigned kSubmitters = Bit(v1::SUBMITTER) | kAdmins;
constexpr unsigned kReaders = Bit(v1::VIEWER) | kSubmitters;
constexpr unsigned kWorkers = Bit(v1::WORKER) | kAdmins;
constexpr unsigned kSubmittersAndWorkers = kSubmitters | kWorkers;
constexpr unsigned kReadersAndWorkers = kReaders | kWorkers;

constexpr bool kAudited = true;

constexpr std::string_view kTuning = "winnow.v1.TuningService";
constexpr std::string_view kWorker = "winnow.v1.WorkerService";
constexpr std::string_view kArtifact = "winnow.v1.ArtifactService";
constexpr std::string_view kUsage = "winnow.v1.UsageService";
constexpr std::string_view kInsight = "winnow.v1.InsightService";
constexpr std::string_view kAdmin = "winnow.v1.AdminService";
constexpr std::string_view kPool = "winnow.v1.PoolService";
constexpr std::string_view kWebhook = "winnow.v1.WebhookService";
constexpr std::string_view kAudit = "winnow.v1.AuditService";

}  // namespace

const std::vector<MethodRule>& MethodRules() {
  static const std::vector<MethodRule> kRules = {
      {kTuning, "CreateTuningJob", kSubmitters, "submit jobs", kAudited},
      {kTuning, "DescribeTuningJob", kReaders, "see jobs"},
      {kTuning, "ListTuningJobs", kReaders, "see jobs"},
      {kTuning, "StopTuningJob", kSubmitters, "stop jobs", kAudited},
      {kTuning, "ChangeTuningJob", kSubmitters, "change jobs", kAudited},
      {kTuning, "DeleteTuningJob", kSubmitters, "delete jobs", kAudited},
      {kTuning, "Annotate", kSubmitters, "annotate jobs", kAudited},
      {kTuning, "GetParetoFront", kReaders, "see trials"},
      {kTuning, "GetSchedule", kReaders, "see trials"},
      {kTuning, "ListTrials", kReaders, "see trials"},
      {kTuning, "DescribeTrial", kReaders, "see trials"},
      {kTuning, "QueryMetrics", kReaders, "see metrics"},
      {kTuning, "GetAnalytics", kReaders, "see trials"},
      {kTuning, "PreviewTuningJob", kReaders, "preview jobs"},
      {kTuning, "WatchTuningJob", kReaders, "watch jobs"},
      {kTuning, "ListWorkers", kReaders, "see workers"},
      {kTuning, "GetLogs", kReaders, "read logs"},
      {kTuning, "ReplayTuningJob", kReaders, "replay jobs"},
      {kTuning, "SuggestTrials", kSubmitters, "ask for trials"},
      {kTuning, "ReportMetrics", kSubmitters, "report metrics"},
      {kTuning, "CompleteTrial", kSubmitters, "complete trials"},

      {kInsight, "GetProgress", kReaders, "see jobs"},
      {kInsight, "GetSieve", kReaders, "see jobs"},
      {kInsight, "GetLearningCurves", kReaders, "see metrics"},
      {kInsight, "GetParallelCoordinates", kReaders, "see trials"},
      {kInsight, "GetImportance", kReaders, "see trials"},
      {kInsight, "GetSlice", kReaders, "see trials"},
      {kInsight, "GetContour", kReaders, "see trials"},
      {kInsight, "GetScatter", kReaders, "see metrics"},
      {kInsight, "GetObjectives", kReaders, "see trials"},
      {kInsight, "QueryTrials", kReaders, "see trials"},
      {kInsight, "GetNeighbours", kReaders, "see trials"},
      {kInsight, "Compare", kReaders, "compare jobs"},

      {kWorker, "Sync", kWorkers, "run trials as a worker"},

      // Readers of a job may read its models. Submitters store the sources of their jobs, workers the rest. A
      // source is read by its owner and by workers: GetArtifact alone tells which blobs it has.
      {kArtifact, "FindMissingBlobs", kSubmittersAndWorkers, "store sources, checkpoints and models"},
      {kArtifact, "PutBlob", kSubmittersAndWorkers, "store sources, checkpoints and models"},
      {kArtifact, "GetBlob", kReadersAndWorkers, "download models"},
      {kArtifact, "PutArtifact", kWorkers, "store checkpoints and models"},
      {kArtifact, "GetArtifact", kReadersAndWorkers, "download models"},

      {kUsage, "GetWorkerUsage", kReaders, "see workers' usage"},
      {kUsage, "GetTrialUsage", kReaders, "see trials' usage"},

      {kPool, "ListPools", kReaders, "see pools"},
      {kPool, "RenderPool", kReaders, "see pools"},

      {kAdmin, "CreateToken", kAdmins, "create tokens", kAudited},
      {kAdmin, "ListTokens", kAdmins, "list tokens"},
      {kAdmin, "RevokeToken", kAdmins, "revoke tokens", kAudited},
      {kAdmin, "SetWorkerScheduling", kAdmins, "cordon or drain workers", kAudited},
      {kAdmin, "Backup", kAdmins, "back up the database", kAudited},
      {kAdmin, "GetCaller", kReadersAndWorkers, "see who it is"},

      {kWebhook, "ListWebhooks", kAdmins, "see webhooks"},
      {kWebhook, "ListDeliveries", kAdmins, "see deliveries"},
      {kWebhook, "TestWebhook", kAdmins, "test webhooks", kAudited},

      {kAudit, "ListAuditEntries", kAdmins, "read the audit log"},
  };
  return kRules;
}

namespace {

const MethodRule* RuleOf(std::string_view service, std::string_view method) {
  static const auto kByName = [] {
    std::map<std::pair<std::string_view, std::string_view>, const MethodRule*> by_name;
    for (const MethodRule& rule : MethodRules()) by_name[{rule.service, rule.method}] = &rule;
    return by_name;
  }();
  const auto rule = kByName.find({service, method});
  return rule == kByName.end() ? nullptr : rule->second;
}

}  // namespace

bool MayCall(v1::Role role, std::string_view service, std::string_view method) {
  const MethodRule* rule = RuleOf(service, method);
  return rule != nullptr && role != v1::ROLE_UNSPECIFIED && (rule->roles & Bit(role)) != 0;
}

bool IsAudited(std::string_view service, std::string_view method) {
  const MethodRule* rule = RuleOf(service, method);
  return rule != nullptr && rule->audited;
}

std::string WhyNot(v1::Role role, std::string_view service, std::string_view method) {
  const MethodRule* rule = RuleOf(service, method);
  if (rule == nullptr) return std::string(method) + ": no role may call this method";
  std::string allowed;
  for (const v1::Role other : {v1::VIEWER, v1::SUBMITTER, v1::WORKER, v1::ADMIN}) {
    if ((rule->roles & Bit(other)) != 0)
      allowed += (allowed.empty() ? "" : " or ") + std::string(RoleName(other));
  }
  return "role " + std::string(RoleName(role)) + " may not " + std::string(rule->what) +
         "; expected a token of role " + allowed;
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
