#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/folder.h"
#include "winnow/v1/artifact.grpc.pb.h"
#include "worker/checkpoints/cancellation.h"

namespace winnow {

// Client of the server's artifact store. Calls block; CANCELLED after their Cancellation. Thread-safe.
class ArtifactClient {
 public:
  explicit ArtifactClient(const std::shared_ptr<grpc::Channel>& channel);

  // Sends the files in `folder` that the server lacks of the request's manifest, and makes it the trial's
  // newest. Calls `progress` after every step, one call at a time. ABORTED: the files no longer match the
  // manifest; FAILED_PRECONDITION: the server does not want it; otherwise the server's status.
  absl::Status Upload(const v1::PutArtifactRequest& request, const FolderName& folder,
                      Cancellation& cancellation, const std::function<void()>& progress);

  // The files of the job's source.
  absl::StatusOr<v1::Manifest> GetSource(const std::string& job_id, Cancellation& cancellation);
  absl::StatusOr<std::string> GetBlob(const v1::BlobName& blob, Cancellation& cancellation);

 private:
  // True: done; false: a blob is missing.
  absl::StatusOr<bool> Put(const v1::PutArtifactRequest& request, Cancellation& cancellation);
  absl::StatusOr<std::vector<std::string>> FindMissing(const v1::Manifest& manifest,
                                                       Cancellation& cancellation);
  absl::Status PutBlob(const std::string& digest, const std::string& bytes, Cancellation& cancellation);

  const std::unique_ptr<v1::ArtifactService::Stub> stub_;
};

}  // namespace winnow
