#include "cli/commands/artifact_calls.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "artifact/manifest.h"
#include "artifact/refusals.h"
#include "artifact/transfers.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kBlobPatience = absl::Minutes(2);  // 4 MiB at 35 KiB/s
constexpr int kBlobTries = 5;
constexpr auto kBetweenTries = std::chrono::milliseconds(300);
constexpr size_t kMostDigests = 10'000;

void SetCallDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
}

}  // namespace

absl::StatusOr<v1::Artifact> ArtifactCalls::Get(const v1::GetArtifactRequest& request, bool may_come) {
  const absl::Time until = absl::Now() + timeout_;
  while (true) {
    grpc::ClientContext context;
    SetCallDeadline(context, timeout_);
    v1::Artifact artifact;
    const grpc::Status answer = stub_->GetArtifact(&context, request, &artifact);
    if (answer.ok()) return artifact;
    const bool waits = answer.error_code() == grpc::StatusCode::NOT_FOUND &&
                       (may_come || answer.error_details() == kModelComes);
    if (!waits || absl::Now() > until) return client_.Explain(answer);
    std::this_thread::sleep_for(kBetweenTries);
  }
}

absl::Status ArtifactCalls::OfBlob(const grpc::Status& status) {
  if (status.error_details() != kArtifactsAway) return client_.Explain(status);
  return absl::UnavailableError("the server cannot reach its artifacts now: " +
                                Clean(status.error_message()));
}

absl::StatusOr<std::string> ArtifactCalls::Blob(const v1::BlobName& blob) {
  for (int tried = 1;; ++tried) {
    absl::StatusOr<std::string> bytes = BlobOnce(blob);
    if (bytes.ok() || !IsLoss(bytes.status()) || tried == kBlobTries) return bytes;
    std::this_thread::sleep_for(kBetweenTries);
  }
}

absl::StatusOr<std::string> ArtifactCalls::BlobOnce(const v1::BlobName& blob) {
  grpc::ClientContext context;
  SetCallDeadline(context, kBlobPatience);
  v1::GetBlobRequest request;
  request.set_digest(blob.digest());
  const auto reader = stub_->GetBlob(&context, request);
  std::string bytes;
  for (v1::BlobPart part; reader->Read(&part);) {
    bytes += part.data();
    if (static_cast<int64_t>(bytes.size()) > blob.size()) context.TryCancel();
  }
  const absl::Status status = OfBlob(reader->Finish());
  if (!status.ok()) return status;
  return bytes;
}

absl::Status ArtifactCalls::PutBlob(const v1::BlobName& blob, const std::string& bytes) {
  for (int tried = 1;; ++tried) {
    grpc::ClientContext context;
    SetCallDeadline(context, kBlobPatience);
    v1::PutBlobResponse response;
    const auto writer = stub_->PutBlob(&context, &response);
    ForEachPart(blob.digest(), bytes, [&](const v1::BlobPart& part) { return writer->Write(part); });
    writer->WritesDone();
    absl::Status status = OfBlob(writer->Finish());
    if (status.ok() || !IsLoss(status) || tried == kBlobTries) return status;
    std::this_thread::sleep_for(kBetweenTries);
  }
}

absl::Status ArtifactCalls::Send(const v1::Manifest& manifest, const fs::path& root) {
  const std::vector<v1::BlobName> blobs = BlobsOf(manifest);
  std::set<std::string> missing;
  for (size_t begin = 0; begin < blobs.size(); begin += kMostDigests) {
    v1::FindMissingBlobsRequest request;
    for (size_t i = begin; i < std::min(blobs.size(), begin + kMostDigests); ++i)
      request.add_digests(blobs[i].digest());
    grpc::ClientContext context;
    SetCallDeadline(context, timeout_);
    v1::FindMissingBlobsResponse response;
    const grpc::Status answer = stub_->FindMissingBlobs(&context, request, &response);
    if (!answer.ok()) return client_.Explain(answer);
    missing.insert(response.digests().begin(), response.digests().end());
  }
  const std::vector<BlobPiece> pieces = PiecesOf(manifest, std::move(missing));
  // The server writes each to its disk before it answers.
  return ForEachTransfer(SizesOf(pieces), [&](size_t i) -> absl::Status {
    const BlobPiece& piece = pieces[i];
    const absl::StatusOr<OpenFile> open = OpenFile::Open(root / piece.file->path(), O_RDONLY | O_NONBLOCK);
    const absl::StatusOr<std::string> bytes = open.ok() ? open->ReadAt(piece.begin, piece.blob->size())
                                                        : absl::StatusOr<std::string>(open.status());
    if (!bytes.ok() || DigestOf(*bytes) != piece.blob->digest()) {
      return absl::FailedPreconditionError(
          fmt::format("trainer.source: {} changed while it was sent; expected files at rest: submit again",
                      Clean(piece.file->path())));
    }
    return PutBlob(*piece.blob, *bytes);
  });
}

absl::Status CheckDownloadFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return absl::OkStatus();
  const fs::path working_folder = fs::current_path(error);
  if (!error && fs::equivalent(folder, working_folder, error)) {
    return absl::FailedPreconditionError(
        fmt::format("{} is the working directory, which cannot be replaced; choose another with --download",
                    Clean(folder)));
  }
  if (fs::is_directory(folder, error) && fs::is_empty(folder, error)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{} exists and is not an empty directory; choose another with --download", folder));
}

std::string SourceText(const v1::Source& source) {
  std::string text = fmt::format("{}, {} of {}", Clean(source.digest()), Count(source.files(), "file"),
                                 BytesText(source.size()));
  if (source.git_commit().empty()) return text + ", not in a git repository";
  return text + fmt::format(", git commit {}{}", Clean(source.git_commit()),
                            source.git_dirty() ? " with changes" : "");
}

std::string BytesText(int64_t bytes) {
  if (bytes < 10'000) return Count(bytes, "byte");
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace winnow::cli
