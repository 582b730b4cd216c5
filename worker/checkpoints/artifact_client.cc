#include "worker/checkpoints/artifact_client.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "artifact/manifest.h"
#include "artifact/refusals.h"
#include "artifact/transfers.h"
#include "base/mutex.h"
#include "fmt/format.h"

namespace winnow {
namespace {

constexpr std::chrono::seconds kCallPatience(30);
constexpr std::chrono::seconds kBlobPatience(120);  // 4 MiB at 35 KiB/s
constexpr int kDigestsOfCall = 10'000;

absl::Status ToAbsl(const grpc::Status& status) {
  // gRPC and Abseil use the same numeric codes.
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

void SetPatience(grpc::ClientContext& context, std::chrono::seconds patience) {
  context.set_deadline(std::chrono::system_clock::now() + patience);
}

absl::StatusOr<std::string> ReadPiece(const OpenFile& file, const v1::BlobName& blob, int64_t at) {
  absl::StatusOr<std::string> bytes = file.ReadAt(at, blob.size());
  if (!bytes.ok() || DigestOf(*bytes) == blob.digest()) return bytes;
  return absl::AbortedError("a file changed after it was read");
}

}  // namespace

ArtifactClient::ArtifactClient(const std::shared_ptr<grpc::Channel>& channel)
    : stub_(v1::ArtifactService::NewStub(channel)) {}

absl::StatusOr<bool> ArtifactClient::Put(const v1::PutArtifactRequest& request, Cancellation& cancellation) {
  grpc::ClientContext context;
  const Cancellation::Call call(cancellation, context);
  SetPatience(context, kCallPatience);
  v1::PutArtifactResponse response;
  const grpc::Status status = stub_->PutArtifact(&context, request, &response);
  if (status.ok()) return true;
  if (status.error_details() == kMissingBlob) return false;
  return ToAbsl(status);
}

absl::StatusOr<std::vector<std::string>> ArtifactClient::FindMissing(const v1::Manifest& manifest,
                                                                     Cancellation& cancellation) {
  std::vector<std::string> missing;
  const std::vector<v1::BlobName> blobs = BlobsOf(manifest);
  for (size_t begin = 0; begin < blobs.size(); begin += kDigestsOfCall) {
    v1::FindMissingBlobsRequest request;
    for (size_t i = begin; i < std::min(blobs.size(), begin + kDigestsOfCall); ++i) {
      request.add_digests(blobs[i].digest());
    }
    grpc::ClientContext context;
    const Cancellation::Call call(cancellation, context);
    SetPatience(context, kCallPatience);
    v1::FindMissingBlobsResponse response;
    const grpc::Status status = stub_->FindMissingBlobs(&context, request, &response);
    if (!status.ok()) return ToAbsl(status);
    missing.insert(missing.end(), response.digests().begin(), response.digests().end());
  }
  return missing;
}

absl::Status ArtifactClient::PutBlob(const std::string& digest, const std::string& bytes,
                                     Cancellation& cancellation) {
  grpc::ClientContext context;
  const Cancellation::Call call(cancellation, context);
  SetPatience(context, kBlobPatience);
  v1::PutBlobResponse response;
  const auto writer = stub_->PutBlob(&context, &response);
  ForEachPart(digest, bytes, [&](const v1::BlobPart& part) { return writer->Write(part); });
  writer->WritesDone();
  return ToAbsl(writer->Finish());
}

absl::Status ArtifactClient::Upload(const v1::PutArtifactRequest& request, const FolderName& folder,
                                    Cancellation& cancellation, const std::function<void()>& progress) {
  // Put comes first, so that no unwanted data is sent.
  absl::StatusOr<bool> done = Put(request, cancellation);
  if (!done.ok() || *done) return done.status();
  progress();
  const v1::Manifest& manifest = request.artifact().manifest();
  const absl::StatusOr<std::vector<std::string>> missing = FindMissing(manifest, cancellation);
  if (!missing.ok()) return missing.status();
  const absl::StatusOr<OpenFolder> files = OpenFolder::Open(folder);
  if (!files.ok()) return absl::AbortedError(files.status().message());
  const std::vector<BlobPiece> pieces = PiecesOf(manifest, {missing->begin(), missing->end()});
  Mutex mutex;  // held during a call of `progress`
  // The server writes each to its disk before it answers.
  absl::Status sent = ForEachTransfer(SizesOf(pieces), [&](size_t i) {
    const BlobPiece& piece = pieces[i];
    const absl::StatusOr<OpenFile> open = files->OpenRegular(piece.file->path());
    if (!open.ok()) return absl::AbortedError(open.status().message());
    const absl::StatusOr<std::string> bytes = ReadPiece(*open, *piece.blob, piece.begin);
    if (!bytes.ok()) return bytes.status();
    absl::Status status = PutBlob(piece.blob->digest(), *bytes, cancellation);
    const MutexLock lock(mutex);
    if (status.ok()) progress();
    return status;
  });
  if (!sent.ok()) return sent;
  done = Put(request, cancellation);
  if (!done.ok() || *done) return done.status();
  return absl::UnavailableError("a blob disappeared from the server");
}

absl::StatusOr<v1::Manifest> ArtifactClient::GetSource(const std::string& job_id,
                                                       Cancellation& cancellation) {
  grpc::ClientContext context;
  const Cancellation::Call call(cancellation, context);
  SetPatience(context, kCallPatience);
  v1::GetArtifactRequest request;
  request.set_job_id(job_id);
  request.set_kind(v1::Artifact::SOURCE);
  v1::Artifact artifact;
  const grpc::Status status = stub_->GetArtifact(&context, request, &artifact);
  if (!status.ok()) return ToAbsl(status);
  return std::move(*artifact.mutable_manifest());
}

absl::StatusOr<std::string> ArtifactClient::GetBlob(const v1::BlobName& blob, Cancellation& cancellation) {
  grpc::ClientContext context;
  const Cancellation::Call call(cancellation, context);
  SetPatience(context, kBlobPatience);
  v1::GetBlobRequest request;
  request.set_digest(blob.digest());
  const auto reader = stub_->GetBlob(&context, request);
  std::string bytes;
  v1::BlobPart part;
  while (reader->Read(&part)) {
    bytes += part.data();
    if (static_cast<int64_t>(bytes.size()) > blob.size()) context.TryCancel();
  }
  const grpc::Status status = reader->Finish();
  if (status.ok()) return bytes;
  return ToAbsl(status);
}

}  // namespace winnow
