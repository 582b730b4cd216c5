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

// The server's artifact store. Calls block; CANCELLED if their Cancellation was. Thread-safe.
class ArtifactClient {
 public:
  explicit ArtifactClient(const std::shared_ptr<grpc::Channel>& channel);

  // Sends what the server does not have of the request's manifest, whose files are in `folder`, and makes it
  // the trial's newest. `progress` is called after every step. ABORTED: the folder's files are not the
  // manifest's (any more); FAILED_PRECONDITION: the server does not want it; else the server's.
  absl::Status Upload(const v1::PutArtifactRequest& request, const FolderName& folder,
                      Cancellation& cancellation, const std::function<void()>& progress);

  absl::StatusOr<std::string> GetBlob(const v1::BlobName& blob, Cancellation& cancellation);

 private:
  // True: it is done; false: a blob is missing.
  absl::StatusOr<bool> Put(const v1::PutArtifactRequest& request, Cancellation& cancellation);
  absl::StatusOr<std::vector<std::string>> FindMissing(const v1::Manifest& manifest,
                                                       Cancellation& cancellation);
  absl::Status PutBlob(const std::string& digest, const std::string& bytes, Cancellation& cancellation);

  const std::unique_ptr<v1::ArtifactService::Stub> stub_;
};

}  // namespace winnow
