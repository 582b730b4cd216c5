#include <fmt/core.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "artifact/manifest.h"
#include "artifact/refusals.h"
#include "artifact/restore.h"
#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "winnow/v1/artifact.grpc.pb.h"

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kBlobPatience = absl::Minutes(2);  // 4 MiB at 35 KiB/s
constexpr int kBlobTries = 5;
constexpr auto kBetweenTries = std::chrono::milliseconds(300);

// The server's calls for a download.
class Source {
 public:
  Source(Client& client, std::shared_ptr<grpc::Channel> channel, absl::Duration timeout)
      : client_(client), stub_(v1::ArtifactService::NewStub(std::move(channel))), timeout_(timeout) {}

  // Waits, up to a call's time limit, while the server fetches the artifact, and with `may_come` if it is
  // missing.
  absl::StatusOr<v1::Artifact> Get(const v1::GetArtifactRequest& request, bool may_come) {
    const absl::Time until = absl::Now() + timeout_;
    while (true) {
      grpc::ClientContext context;
      SetDeadline(context, timeout_);
      v1::Artifact artifact;
      const grpc::Status answer = stub_->GetArtifact(&context, request, &artifact);
      if (answer.ok()) return artifact;
      const bool waits = answer.error_code() == grpc::StatusCode::NOT_FOUND &&
                         (may_come || answer.error_details() == kModelComes);
      if (!waits || absl::Now() > until) return client_.Explain(answer);
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

  absl::StatusOr<std::string> Blob(const v1::BlobName& blob) {
    for (int tried = 1;; ++tried) {
      absl::StatusOr<std::string> bytes = BlobOnce(blob);
      if (bytes.ok() || !IsLoss(bytes.status()) || tried == kBlobTries) return bytes;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

 private:
  static void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
  }

  absl::StatusOr<std::string> BlobOnce(const v1::BlobName& blob) {
    grpc::ClientContext context;
    SetDeadline(context, kBlobPatience);
    v1::GetBlobRequest request;
    request.set_digest(blob.digest());
    const auto reader = stub_->GetBlob(&context, request);
    std::string bytes;
    for (v1::BlobPart part; reader->Read(&part);) {
      bytes += part.data();
      if (static_cast<int64_t>(bytes.size()) > blob.size()) context.TryCancel();
    }
    const absl::Status status = client_.Explain(reader->Finish());
    if (!status.ok()) return status;
    return bytes;
  }

  Client& client_;
  const std::unique_ptr<v1::ArtifactService::Stub> stub_;
  const absl::Duration timeout_;
};

absl::Status CheckFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return absl::OkStatus();
  if (fs::is_directory(folder, error) && fs::is_empty(folder, error)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{} exists and is not an empty directory; choose another with --download", folder));
}

// The model of a trial that has just ended may be in transfer now.
bool MayCome(const v1::TuningJob& job) {
  return !job.has_end_time() ||
         absl::Now() - absl::FromUnixSeconds(job.end_time().seconds()) < absl::Minutes(1);
}

std::string BytesText(int64_t bytes) {
  if (bytes < 10'000) return Count(bytes, "byte");
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string Json(const v1::Artifact& artifact, const std::string& kind, const std::string& folder) {
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
  if (absl::Status status = CheckFolder(options.folder); !status.ok()) return status;
  const auto job = session.client().Describe(options.job);
  if (!job.ok()) return job.status();
  if (HasFront(job->spec()) && options.trial == 0) {
    return UsageError(
        fmt::format("--trial: is missing; {} has several objectives: expected a trial of its front, see {}",
                    job->id(), session.Hint(fmt::format("best {} --front", job->id()))));
  }
  auto channel = session.client().channel();
  if (!channel.ok()) return channel.status();
  Source source(session.client(), *std::move(channel), session.timeout);
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
  const absl::Status status = RestoreFolder(artifact->manifest(), options.folder,
                                            [&](const v1::BlobName& blob) { return source.Blob(blob); });
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(
        fmt::format("the {} was replaced or deleted while being fetched; try again", kind));
  }
  if (!status.ok()) return status;
  if (session.output == Output::kJson) {
    session.out.Print(Json(*artifact, kind, options.folder));
    return kSuccess;
  }
  session.out.Print(fmt::format("{} of trial {} of {}: {}, {} in {}\n", kind, artifact->trial(),
                                artifact->job_id(), Count(artifact->manifest().files_size(), "file"),
                                BytesText(BytesOf(artifact->manifest())), Clean(options.folder)));
  return kSuccess;
}

}  // namespace winnow::cli
