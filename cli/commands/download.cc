#include <fmt/core.h>
#include <grpcpp/channel.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "artifact/restore.h"
#include "base/status_text.h"
#include "cli/commands/actions.h"
#include "cli/commands/artifact_calls.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "winnow/v1/artifact.grpc.pb.h"

namespace winnow::cli {
namespace {

// The model of a trial that has just ended may be in transfer now.
bool MayCome(const v1::TuningJob& job) {
  return !job.has_end_time() ||
         absl::Now() - absl::FromUnixSeconds(job.end_time().seconds()) < absl::Minutes(1);
}

const char* KindOf(const v1::GetArtifactRequest& request) {
  return request.kind() == v1::Artifact::CHECKPOINT ? "checkpoint" : "model";
}

// What is in `folder` now.
absl::StatusOr<v1::Artifact> Fetch(ArtifactCalls& source, const v1::GetArtifactRequest& request, bool waits,
                                   const std::string& folder) {
  absl::StatusOr<v1::Artifact> artifact = source.Get(request, waits);
  if (!artifact.ok()) return artifact;
  if (artifact->manifest().files().empty()) {
    return absl::NotFoundError(
        fmt::format("trial {} of {} has no {}: its trainer wrote no file into {}", artifact->trial(),
                    artifact->job_id(), KindOf(request),
                    request.kind() == v1::Artifact::CHECKPOINT ? "WINNOW_CHECKPOINT_DIR" : "SM_MODEL_DIR"));
  }
  std::atomic<bool> blob_is_gone = false;  // NOT_FOUND of RestoreFolder may also be its folder's
  const absl::Status status = RestoreFolder(artifact->manifest(), folder, [&](const v1::BlobName& blob) {
    absl::StatusOr<std::string> bytes = source.Blob(blob);
    if (absl::IsNotFound(bytes.status())) blob_is_gone = true;
    return bytes;
  });
  if (blob_is_gone) {
    return absl::NotFoundError(
        fmt::format("the {} was replaced or deleted while being fetched; try again", KindOf(request)));
  }
  if (!status.ok()) return status;
  return artifact;
}

nlohmann::ordered_json DownloadJson(const v1::Artifact& artifact, const std::string& kind,
                                    const std::string& folder) {
  nlohmann::ordered_json json;
  json["job_id"] = artifact.job_id();
  json["trial"] = artifact.trial();
  json["kind"] = kind;
  if (artifact.kind() == v1::Artifact::CHECKPOINT) json["resource"] = artifact.resource();
  json["folder"] = folder;
  json["bytes"] = BytesOf(artifact.manifest());
  json["files"] = nlohmann::json::array();
  for (const v1::ArtifactFile& file : artifact.manifest().files()) {
    json["files"].push_back({{"path", file.path()}, {"size", file.size()}});
  }
  return json;
}

void PrintJson(Session& session, const nlohmann::ordered_json& json) {
  session.out.Print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void PrintDownload(Session& session, const v1::Artifact& artifact, const std::string& kind,
                   const std::string& folder) {
  session.out.Print(fmt::format("{} of trial {} of {}: {}, {} in {}\n", kind, artifact.trial(),
                                artifact.job_id(), Count(artifact.manifest().files_size(), "file"),
                                BytesText(BytesOf(artifact.manifest())), Clean(folder)));
}

// Each trial's files into a directory of its own.
Exit DownloadFront(Session& session, const DownloadOptions& options, const v1::TuningJob& job,
                   ArtifactCalls& source, v1::GetArtifactRequest request) {
  const auto front = session.client().Front(job.id());
  if (!front.ok()) return front.status();
  if (front->trials().empty()) return absl::NotFoundError(fmt::format("{} has no front yet", job.id()));
  nlohmann::ordered_json all;
  all["trials"] = nlohmann::json::array();
  std::string missing;
  for (const v1::FrontTrial& member : front->trials()) {
    request.set_trial(member.trial().number());
    const std::string folder = fmt::format("{}/{}", options.folder, member.trial().number());
    const absl::StatusOr<v1::Artifact> artifact = Fetch(source, request, false, folder);
    if (absl::IsNotFound(artifact.status()) || absl::IsFailedPrecondition(artifact.status())) {
      missing += fmt::format("\n{}", MessageOf(artifact.status()));
      continue;
    }
    if (!artifact.ok()) return artifact.status();
    if (session.output == Output::kJson) {
      all["trials"].push_back(DownloadJson(*artifact, KindOf(request), folder));
    } else {
      PrintDownload(session, *artifact, KindOf(request), folder);
    }
  }
  if (session.output == Output::kJson) PrintJson(session, all);
  if (const int64_t unnamed = front->total_size() - front->trials_size(); unnamed > 0) {
    missing +=
        fmt::format("\n{} of the {} trials of the front: an answer of the server has no more than {}",
                    Thousands(unnamed), Thousands(front->total_size()), Thousands(front->trials_size()));
  }
  if (missing.empty()) return kSuccess;
  return absl::NotFoundError("what is on the front and was not downloaded:" + missing);
}

}  // namespace

Exit Download(Session& session, const DownloadOptions& options) {
  if (absl::Status status = CheckDownloadFolder(options.folder); !status.ok()) return status;
  const auto job = session.client().Describe(options.job);
  if (!job.ok()) return job.status();
  if (HasFront(job->spec()) && options.trial == 0 && !options.front) {
    return UsageError(
        fmt::format("--trial: is missing; {} has several objectives: expected --front for the models of its "
                    "whole front, or a trial of it, see {}",
                    job->id(), session.Hint(fmt::format("best {} --front", job->id()))));
  }
  auto channel = session.client().channel();
  if (!channel.ok()) return channel.status();
  ArtifactCalls source(session.client(), *std::move(channel), session.timeout);
  v1::GetArtifactRequest request;
  request.set_job_id(job->id());
  request.set_kind(options.checkpoint ? v1::Artifact::CHECKPOINT : v1::Artifact::MODEL);
  if (options.front) return DownloadFront(session, options, *job, source, std::move(request));
  // The server may still be recording which it chose; it has told which.
  const bool expected = job->spec().objective().selection() == v1::ObjectiveSpec::EXPECTED;
  request.set_trial(options.trial == 0 && expected ? job->best().trial() : options.trial);
  const bool waits = !options.checkpoint && job->has_best() && MayCome(*job) &&
                     (options.trial == 0 || options.trial == job->best().trial());
  const absl::StatusOr<v1::Artifact> artifact = Fetch(source, request, waits, options.folder);
  if (!artifact.ok()) return artifact.status();
  if (session.output == Output::kJson) {
    PrintJson(session, DownloadJson(*artifact, KindOf(request), options.folder));
  } else {
    PrintDownload(session, *artifact, KindOf(request), options.folder);
  }
  return kSuccess;
}

Exit DownloadSource(Session& session, const std::string& name, const std::string& folder) {
  if (absl::Status status = CheckDownloadFolder(folder); !folder.empty() && !status.ok()) return status;
  const auto job = session.client().Describe(name);
  if (!job.ok()) return job.status();
  if (!job->has_source()) {
    return absl::NotFoundError(
        fmt::format("{} has no source: its job file has no trainer.source", job->id()));
  }
  if (folder.empty()) {
    if (session.output == Output::kJson) {
      session.out.Print(ToJson(job->source()));
    } else {
      session.out.Print(SourceText(job->source()) + "\n");
    }
    return kSuccess;
  }
  auto channel = session.client().channel();
  if (!channel.ok()) return channel.status();
  ArtifactCalls calls(session.client(), *std::move(channel), session.timeout);
  v1::GetArtifactRequest request;
  request.set_job_id(job->id());
  request.set_kind(v1::Artifact::SOURCE);
  const absl::StatusOr<v1::Artifact> artifact = calls.Get(request, false);
  if (!artifact.ok()) return artifact.status();
  const absl::Status status =
      RestoreFolder(artifact->manifest(), folder, [&](const v1::BlobName& blob) { return calls.Blob(blob); });
  if (!status.ok()) return status;
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(job->source()));
  } else {
    session.out.Print(
        fmt::format("source of {}: {} in {}\n", job->id(), SourceText(job->source()), Clean(folder)));
  }
  return kSuccess;
}

}  // namespace winnow::cli
