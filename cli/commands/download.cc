#include <fmt/core.h>
#include <grpcpp/channel.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "artifact/restore.h"
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

std::string DownloadJson(const v1::Artifact& artifact, const std::string& kind, const std::string& folder) {
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
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Exit Download(Session& session, const DownloadOptions& options) {
  if (absl::Status status = CheckDownloadFolder(options.folder); !status.ok()) return status;
  const auto job = session.client().Describe(options.job);
  if (!job.ok()) return job.status();
  if (HasFront(job->spec()) && options.trial == 0) {
    return UsageError(
        fmt::format("--trial: is missing; {} has several objectives: expected a trial of its front, see {}",
                    job->id(), session.Hint(fmt::format("best {} --front", job->id()))));
  }
  auto channel = session.client().channel();
  if (!channel.ok()) return channel.status();
  ArtifactCalls source(session.client(), *std::move(channel), session.timeout);
  v1::GetArtifactRequest request;
  request.set_job_id(job->id());
  // The server may still be recording which it chose; it has told which.
  const bool expected = job->spec().objective().selection() == v1::ObjectiveSpec::EXPECTED;
  request.set_trial(options.trial == 0 && expected ? job->best().trial() : options.trial);
  request.set_kind(options.checkpoint ? v1::Artifact::CHECKPOINT : v1::Artifact::MODEL);
  const std::string kind = options.checkpoint ? "checkpoint" : "model";

  const bool waits = !options.checkpoint && job->has_best() && MayCome(*job) &&
                     (options.trial == 0 || options.trial == job->best().trial());
  absl::StatusOr<v1::Artifact> artifact = source.Get(request, waits);
  if (!artifact.ok()) return artifact.status();
  if (artifact->manifest().files().empty()) {
    return absl::NotFoundError(fmt::format("trial {} of {} has no {}: its trainer wrote no file into {}",
                                           artifact->trial(), job->id(), kind,
                                           options.checkpoint ? "WINNOW_CHECKPOINT_DIR" : "SM_MODEL_DIR"));
  }
  std::atomic<bool> blob_is_gone = false;  // NOT_FOUND of RestoreFolder may also be its folder's
  const absl::Status status =
      RestoreFolder(artifact->manifest(), options.folder, [&](const v1::BlobName& blob) {
        absl::StatusOr<std::string> bytes = source.Blob(blob);
        if (absl::IsNotFound(bytes.status())) blob_is_gone = true;
        return bytes;
      });
  if (blob_is_gone) {
    return absl::NotFoundError(
        fmt::format("the {} was replaced or deleted while being fetched; try again", kind));
  }
  if (!status.ok()) return status;
  if (session.output == Output::kJson) {
    session.out.Print(DownloadJson(*artifact, kind, options.folder));
    return kSuccess;
  }
  session.out.Print(fmt::format("{} of trial {} of {}: {}, {} in {}\n", kind, artifact->trial(),
                                artifact->job_id(), Count(artifact->manifest().files_size(), "file"),
                                BytesText(BytesOf(artifact->manifest())), Clean(options.folder)));
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
