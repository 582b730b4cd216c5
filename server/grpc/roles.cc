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
constexpr std::string_view kProject = "winnow.v1.ProjectService";
constexpr std::string_view kWebhook = "winnow.v1.WebhookService";
constexpr std::string_view kAudit = "winnow.v1.AuditService";
constexpr std::string_view kLogs = "winnow.v1.LogService";

}  // namespace

const std::vector<MethodRule>& MethodRules() {
  static const std::vector<MethodRule> kRules = {
      {kTuning, "CreateTuningJob", kSubmitters, "submit jobs", "spec.warm_start.jobs", kAudited},
      {kTuning, "DescribeTuningJob", kReaders, "see jobs", "id"},
      {kTuning, "ListTuningJobs", kReaders, "see jobs", kLeavesOut},
      {kTuning, "StopTuningJob", kSubmitters, "stop jobs", "id", kAudited},
      {kTuning, "ChangeTuningJob", kSubmitters, "change jobs", "id", kAudited},
      {kTuning, "DeleteTuningJob", kSubmitters, "delete jobs", "id", kAudited},
      {kTuning, "Annotate", kSubmitters, "annotate jobs", "job_id", kAudited},
      {kTuning, "GetParetoFront", kReaders, "see trials", "job_id"},
      {kTuning, "GetSchedule", kReaders, "see trials", "job_id"},
      {kTuning, "ListTrials", kReaders, "see trials", "job_id"},
      {kTuning, "DescribeTrial", kReaders, "see trials", "job_id"},
      {kTuning, "QueryMetrics", kReaders, "see metrics", "job_id"},
      {kTuning, "GetAnalytics", kReaders, "see trials", "job_id"},
      {kTuning, "PreviewTuningJob", kReaders, "preview jobs", "spec.warm_start.jobs"},
      {kTuning, "WatchTuningJob", kReaders, "watch jobs", "id"},
      {kTuning, "ListWorkers", kReaders, "see workers", kLeavesOut},
      {kTuning, "GetLogs", kReaders, "read logs", "job_id"},
      {kTuning, "ReplayTuningJob", kReaders, "replay jobs", "id"},
      {kTuning, "SuggestTrials", kSubmitters, "ask for trials", "job_id"},
      {kTuning, "ReportMetrics", kSubmitters, "report metrics", "job_id"},
      {kTuning, "CompleteTrial", kSubmitters, "complete trials", "job_id"},

      {kInsight, "GetProgress", kReaders, "see jobs", "job_ids"},
      {kInsight, "GetSieve", kReaders, "see jobs", "job_id"},
      {kInsight, "GetLearningCurves", kReaders, "see metrics", "job_id"},
      {kInsight, "GetParallelCoordinates", kReaders, "see trials", "job_id"},
      {kInsight, "GetImportance", kReaders, "see trials", "job_id"},
      {kInsight, "GetSlice", kReaders, "see trials", "job_id"},
      {kInsight, "GetContour", kReaders, "see trials", "job_id"},
      {kInsight, "GetScatter", kReaders, "see metrics", "job_id"},
      {kInsight, "GetObjectives", kReaders, "see trials", "job_id"},
      {kInsight, "QueryTrials", kReaders, "see trials", "job_id"},
      {kInsight, "GetNeighbours", kReaders, "see trials", "job_id"},
      {kInsight, "Compare", kReaders, "compare jobs", "job_ids"},

      {kWorker, "Sync", kWorkers, "run trials as a worker", kLeavesOut},

      // Readers of a job may read its models. Submitters store the sources of their jobs, workers the rest. A
      // source is read by its owner and by workers: GetArtifact alone tells which blobs it has.
      {kArtifact, "FindMissingBlobs", kSubmittersAndWorkers, "store sources, checkpoints and models",
       kLeavesOut},
      {kArtifact, "PutBlob", kSubmittersAndWorkers, "store sources, checkpoints and models", kLeavesOut},
      {kArtifact, "GetBlob", kReadersAndWorkers, "download models", kLeavesOut},
      {kArtifact, "PutArtifact", kWorkers, "store checkpoints and models", "artifact.job_id"},
      {kArtifact, "GetArtifact", kReadersAndWorkers, "download models", "job_id"},

      {kUsage, "GetWorkerUsage", kReaders, "see workers' usage", kNoJobs},
      {kUsage, "GetTrialUsage", kReaders, "see trials' usage", "job_id"},

      {kPool, "ListPools", kReaders, "see pools", kNoJobs},
      {kPool, "RenderPool", kReaders, "see pools", kNoJobs},

      {kAdmin, "CreateToken", kAdmins, "create tokens", kForAdmins, kAudited},
      {kAdmin, "ListTokens", kAdmins, "list tokens", kForAdmins},
      {kAdmin, "RevokeToken", kAdmins, "revoke tokens", kForAdmins, kAudited},
      {kAdmin, "SetWorkerScheduling", kAdmins, "cordon or drain workers", kForAdmins, kAudited},
      {kAdmin, "Backup", kAdmins, "back up the database", kForAdmins, kAudited},
      {kAdmin, "GetCaller", kReadersAndWorkers, "see who it is", kNoJobs},

      {kProject, "ListProjects", kReaders, "see projects", kLeavesOut},
      {kProject, "CreateProject", kAdmins, "create projects", kForAdmins, kAudited},
      {kProject, "GetProject", kReaders, "see projects", kNoJobs},
      {kProject, "SetProject", kSubmitters, "change the quotas of projects", kNoJobs, kAudited},
      {kProject, "DeleteProject", kAdmins, "delete projects", kForAdmins, kAudited},
      {kProject, "AddMember", kSubmitters, "change the members of projects", kNoJobs, kAudited},
      {kProject, "RemoveMember", kSubmitters, "change the members of projects", kNoJobs, kAudited},

      {kWebhook, "ListWebhooks", kAdmins, "see webhooks", kForAdmins},
      {kWebhook, "ListDeliveries", kAdmins, "see deliveries", kForAdmins},
      {kWebhook, "TestWebhook", kAdmins, "test webhooks", kForAdmins, kAudited},

      {kAudit, "ListAuditEntries", kAdmins, "read the audit log", kForAdmins},

      {kLogs, "GetLogTimes", kReaders, "read logs", "job_id"},
  };
  return kRules;
}

const MethodRule* RuleOf(std::string_view service, std::string_view method) {
  static const auto kByName = [] {
    std::map<std::pair<std::string_view, std::string_view>, const MethodRule*> by_name;
    for (const MethodRule& rule : MethodRules()) by_name[{rule.service, rule.method}] = &rule;
    return by_name;
  }();
  const auto rule = kByName.find({service, method});
  return rule == kByName.end() ? nullptr : rule->second;
}

bool MayCall(v1::Role role, std::string_view service, std::string_view method) {
  const MethodRule* rule = RuleOf(service, method);
  return rule != nullptr && role != v1::ROLE_UNSPECIFIED && (rule->roles & Bit(role)) != 0;
}

bool IsAudited(std::string_view service, std::string_view method) {
  const MethodRule* rule = RuleOf(service, method);
  return rule != nullptr && rule->audited;
}

bool MayChangeSomething(const MethodRule& rule) {
  const bool to_look = (rule.roles & Bit(v1::VIEWER)) != 0 || rule.roles == kAdmins;
  return rule.audited || !to_look;
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
