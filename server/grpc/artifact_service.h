#pragma once

#include <atomic>

#include "base/task_threads.h"
#include "server/engine/coordinator.h"
#include "server/grpc/blob_turns.h"
#include "server/grpc/guard.h"
#include "server/host/artifact_store.h"
#include "server/reads/reads.h"
#include "winnow/v1/artifact.grpc.pb.h"

namespace winnow {

// The gRPC side of the artifact store. Blobs pass through memory whole, at most 4 MiB each and a limited
// number at a time; further calls wait. Without a store every method answers FAILED_PRECONDITION. REQUIRES:
// the arguments outlive the gRPC server.
class ArtifactService final : public v1::ArtifactService::CallbackService {
 public:
  ArtifactService(Coordinator& coordinator, Reader& reader, Authority& authority, ArtifactStore* store);

  grpc::ServerUnaryReactor* FindMissingBlobs(grpc::CallbackServerContext* context,
                                             const v1::FindMissingBlobsRequest* request,
                                             v1::FindMissingBlobsResponse* response) override;
  grpc::ServerReadReactor<v1::BlobPart>* PutBlob(grpc::CallbackServerContext* context,
                                                 v1::PutBlobResponse* response) override;
  grpc::ServerWriteReactor<v1::BlobPart>* GetBlob(grpc::CallbackServerContext* context,
                                                  const v1::GetBlobRequest* request) override;
  grpc::ServerUnaryReactor* PutArtifact(grpc::CallbackServerContext* context,
                                        const v1::PutArtifactRequest* request,
                                        v1::PutArtifactResponse* response) override;
  grpc::ServerUnaryReactor* GetArtifact(grpc::CallbackServerContext* context,
                                        const v1::GetArtifactRequest* request,
                                        v1::Artifact* response) override;

 private:
  class Upload;
  class Download;

  // OK: the call may continue, and counts until EndBlob.
  grpc::Status BeginBlob();
  void EndBlob(bool had_turn);

  Coordinator& coordinator_;
  Reader& reader_;
  Guard guard_;
  ArtifactStore* const store_;
  std::atomic<int> calls_ = 0;  // with blobs, in progress
  BlobTurns turns_;
  TaskThreads threads_;
};

}  // namespace winnow
