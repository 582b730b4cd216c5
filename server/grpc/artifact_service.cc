#include "server/grpc/artifact_service.h"

#include <fmt/format.h>
#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "artifact/refusals.h"
#include "base/mutex.h"
#include "server/engine/artifacts.h"
#include "server/grpc/blob_access.h"
#include "server/grpc/errors.h"

namespace winnow {
namespace {

// Cancels a streaming call after a time limit, so that a stalled peer does not hold resources for ever.
class CallLimit {
 public:
  CallLimit(grpc::CallbackServerContext* context, std::chrono::seconds longest)
      : call_(std::make_shared<Call>()) {
    call_->context = context;
    alarm_.Set(std::chrono::system_clock::now() + longest, [call = call_](bool) {
      MutexLock lock(call->mutex);
      if (call->context != nullptr) call->context->TryCancel();
    });
  }
  // The call is done: its context is not used any more.
  ~CallLimit() {
    {
      MutexLock lock(call_->mutex);
      call_->context = nullptr;
    }
    alarm_.Cancel();
  }

 private:
  struct Call {
    Mutex mutex;
    grpc::CallbackServerContext* context ABSL_GUARDED_BY(mutex) = nullptr;  // null once the call is done
  };
  std::shared_ptr<Call> call_;
  grpc::Alarm alarm_;
};

using CallContext = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

constexpr int kMaxDigests = 10'000;  // in one FindMissingBlobs
constexpr int kMaxCalls = 64;        // with blobs, at a time
constexpr int kBlobsInMemory = 12;   // of them, of 4 MiB each; so many slow peers do not stop the others
constexpr std::chrono::minutes kBlobPatience(5);

grpc::Status Invalid(const std::string& what) { return ToGrpc(absl::InvalidArgumentError(what)); }

absl::Status NoBlob(const std::string& digest) {
  return absl::NotFoundError(fmt::format("there is no blob {}", digest));
}

absl::Status NoStore() { return absl::FailedPreconditionError("this server stores no artifacts"); }

// Adds the kind of refusal to the status's details.
grpc::Status WithDetails(const absl::Status& status, const char* kind) {
  const grpc::Status plain = ToGrpc(status);
  return status.GetPayload(kind) ? grpc::Status(plain.error_code(), plain.error_message(), kind) : plain;
}

grpc::Status OfBlob(const absl::Status& status) {
  const grpc::Status plain = ToGrpc(status);
  if (plain.error_code() != grpc::StatusCode::UNAVAILABLE) return plain;
  return {plain.error_code(), plain.error_message(), kArtifactsAway};
}

}  // namespace

// Receives a blob, then has it written.
class ArtifactService::Upload final : public grpc::ServerReadReactor<v1::BlobPart> {
 public:
  Upload(ArtifactService& service, CallContext* context, Requester by)
      : service_(service), by_(std::move(by)), limit_(context, kBlobPatience) {
    service_.turns_.Await([this] { StartRead(&part_); });
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Store();
    } else if (const grpc::Status status = Take(); !status.ok()) {
      Finish(status);
    } else if (there_) {
      Finish(grpc::Status::OK);  // the blob exists already
    } else {
      StartRead(&part_);
    }
  }
  void OnDone() override {
    ArtifactService& service = service_;
    delete this;
    service.EndBlob(true);
  }

 private:
  grpc::Status Take() {
    if (digest_.empty()) {
      if (!IsDigest(part_.digest()))
        return Invalid("digest: expected 64 hexadecimal digits in the first part");
      if (part_.size() < 1 || part_.size() > kBlobBytes) {
        return Invalid(fmt::format("size: {} is not valid; expected 1 to {}", part_.size(), kBlobBytes));
      }
      digest_ = part_.digest();
      size_ = part_.size();
      // Who sees some projects' jobs only is not told that there is a blob, and shows that they have its
      // bytes.
      there_ = service_.store_->Has(digest_) && !service_.guard_.authority().VisibleTo(by_);
    }
    if (static_cast<int64_t>(part_.data().size()) > kMaxPartBytes ||
        bytes_.size() + static_cast<int64_t>(part_.data().size()) > size_) {
      return Invalid(
          fmt::format("data: more than a part's {} bytes, or than the blob's size", kMaxPartBytes));
    }
    if (bytes_.Append(part_.data())) return grpc::Status::OK;
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the server has no memory for a blob"};
  }

  void Store() {
    if (digest_.empty() || bytes_.size() != size_) {
      Finish(Invalid(fmt::format("the stream ended after {} of {} bytes", bytes_.size(), size_)));
      return;
    }
    service_.threads_.Post([this] {
      const absl::Status put = service_.store_->Put(digest_, bytes_.bytes());
      if (put.ok()) service_.guard_.authority().sent_blobs().Note(by_, digest_);
      Finish(OfBlob(put));
    });
  }

  ArtifactService& service_;
  const Requester by_;
  CallLimit limit_;
  v1::BlobPart part_;
  std::string digest_;
  int64_t size_ = 0;
  BlobBuffer bytes_;
  bool there_ = false;
};

class ArtifactService::Download final : public grpc::ServerWriteReactor<v1::BlobPart> {
 public:
  Download(ArtifactService& service, CallContext* context, std::string digest, const Requester& by)
      : service_(service), limit_(context, kBlobPatience), digest_(std::move(digest)) {
    if (!service_.guard_.authority().VisibleTo(by)) {
      Read();
      return;
    }
    service_.reader_.Post([this, by](Reads& reads) {
      const auto hidden = HiddenBlobs(reads, service_.guard_.authority(), by, {digest_});
      if (hidden.ok() && hidden->empty()) return Read();
      Finish(ToGrpc(hidden.ok() ? NoBlob(digest_) : hidden.status()));
    });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::CANCELLED);
    } else if (sent_ == bytes_.bytes().size()) {
      Finish(grpc::Status::OK);
    } else {
      Send();
    }
  }
  void OnDone() override {
    ArtifactService& service = service_;
    const bool had_turn = has_turn_;
    delete this;
    service.EndBlob(had_turn);
  }

 private:
  void Read() {
    service_.turns_.Await([this] {
      has_turn_ = true;
      service_.threads_.Post([this] {
        const absl::Status status = service_.store_->Get(digest_, bytes_);
        status.ok() ? Send() : Finish(OfBlob(status));
      });
    });
  }

  void Send() {
    part_.Clear();
    if (sent_ == 0) {
      part_.set_digest(digest_);
      part_.set_size(bytes_.size());
    }
    part_.set_data(std::string(bytes_.bytes().substr(sent_, kMaxPartBytes)));
    sent_ += part_.data().size();
    StartWrite(&part_);
  }

  ArtifactService& service_;
  CallLimit limit_;
  const std::string digest_;
  BlobBuffer bytes_;
  size_t sent_ = 0;
  bool has_turn_ = false;
  v1::BlobPart part_;
};

ArtifactService::ArtifactService(Coordinator& coordinator, Reader& reader, Authority& authority,
                                 ArtifactStore* store)
    : coordinator_(coordinator),
      reader_(reader),
      guard_(authority, v1::ArtifactService::service_full_name()),
      store_(store),
      turns_(kBlobsInMemory),
      threads_(store == nullptr ? 0 : store->parallel()) {}

grpc::Status ArtifactService::BeginBlob() {
  if (store_ == nullptr) return ToGrpc(NoStore());
  if (++calls_ <= kMaxCalls) return grpc::Status::OK;
  --calls_;
  return {grpc::StatusCode::UNAVAILABLE, fmt::format("{} uploads are already running; try again", kMaxCalls)};
}

void ArtifactService::EndBlob(bool had_turn) {
  --calls_;
  if (had_turn) turns_.End();
}

Unary* ArtifactService::FindMissingBlobs(CallContext* context, const v1::FindMissingBlobsRequest* request,
                                         v1::FindMissingBlobsResponse* response) {
  Requester by;
  if (auto* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  if (store_ == nullptr) {
    reactor->Finish(ToGrpc(NoStore()));
    return reactor;
  }
  const auto& digests = request->digests();
  if (digests.size() > kMaxDigests || !std::all_of(digests.begin(), digests.end(), IsDigest)) {
    reactor->Finish(
        Invalid(fmt::format("digests: expected at most {}, each of 64 hexadecimal digits", kMaxDigests)));
    return reactor;
  }
  const auto answer = [this, reactor, request, response](const std::set<std::string>& hidden) {
    const std::vector<std::string> missing =
        store_->Missing({request->digests().begin(), request->digests().end()});
    const std::set<std::string> gone(missing.begin(), missing.end());
    for (const std::string& digest : request->digests()) {
      if (gone.contains(digest) || hidden.contains(digest)) response->add_digests(digest);
    }
    reactor->Finish(grpc::Status::OK);
  };
  if (!guard_.authority().VisibleTo(by)) {
    answer({});
    return reactor;
  }
  reader_.Post([this, reactor, request, by, answer](Reads& reads) {
    const auto hidden =
        HiddenBlobs(reads, guard_.authority(), by, {request->digests().begin(), request->digests().end()});
    hidden.ok() ? answer(*hidden) : reactor->Finish(ToGrpc(hidden.status()));
  });
  return reactor;
}

grpc::ServerReadReactor<v1::BlobPart>* ArtifactService::PutBlob(CallContext* context, v1::PutBlobResponse*) {
  using Reactor = grpc::ServerReadReactor<v1::BlobPart>;
  Requester by;
  if (auto* refused = guard_.Refuse<Reactor>(context, nullptr, __func__, &by)) return refused;
  if (const grpc::Status status = BeginBlob(); !status.ok()) return new RefusedCall<Reactor>(status);
  return new Upload(*this, context, std::move(by));
}

grpc::ServerWriteReactor<v1::BlobPart>* ArtifactService::GetBlob(CallContext* context,
                                                                 const v1::GetBlobRequest* request) {
  using Reactor = grpc::ServerWriteReactor<v1::BlobPart>;
  Requester by;
  if (auto* refused = guard_.Refuse<Reactor>(context, request, __func__, &by)) return refused;
  if (!IsDigest(request->digest())) {
    return new RefusedCall<Reactor>(Invalid("digest: expected 64 hexadecimal digits"));
  }
  if (const grpc::Status status = BeginBlob(); !status.ok()) return new RefusedCall<Reactor>(status);
  return new Download(*this, context, request->digest(), by);
}

Unary* ArtifactService::PutArtifact(CallContext* context, const v1::PutArtifactRequest* request,
                                    v1::PutArtifactResponse*) {
  Requester by;
  if (auto* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  const v1::Artifact::Kind kind = request->artifact().kind();
  absl::Status status = CheckManifest(request->artifact().manifest());
  if (kind != v1::Artifact::CHECKPOINT && kind != v1::Artifact::MODEL) {
    status = absl::InvalidArgumentError("artifact.kind: expected CHECKPOINT or MODEL");
  }
  if (!status.ok()) {
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  const auto put = [this, reactor, request, by] {
    coordinator_.Call<absl::Status>(
        [request, by](Engine& engine) { return engine.PutArtifact(*request, by); },
        [reactor](const absl::Status& done) { reactor->Finish(WithDetails(done, kMissingBlob)); });
  };
  if (!guard_.authority().VisibleTo(by)) {
    put();
    return reactor;
  }
  reader_.Post([this, reactor, request, by, put](Reads& reads) {
    const absl::Status there = CheckBlobs(reads, guard_.authority(), by, request->artifact().manifest());
    there.ok() ? put() : reactor->Finish(WithDetails(there, kMissingBlob));
  });
  return reactor;
}

Unary* ArtifactService::GetArtifact(CallContext* context, const v1::GetArtifactRequest* request,
                                    v1::Artifact* response) {
  Requester by;
  if (auto* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  reader_.Post([this, reactor, request, response, by](Reads& reads) {
    absl::StatusOr<v1::Artifact> artifact = request->kind() == v1::Artifact::SOURCE
                                                ? reads.GetSource(request->job_id(), by)
                                                : reads.GetArtifact(*request);
    if (guard_.authority().read_only() && !absl::IsPermissionDenied(artifact.status()))
      return reactor->Finish(ToGrpc(NoStore()));
    if (artifact.ok()) *response = *std::move(artifact);
    const bool may_come =
        request->kind() == v1::Artifact::MODEL && artifact.status().GetPayload(kModelNotKept);
    if (!may_come) return reactor->Finish(ToGrpc(artifact.status()));
    coordinator_.Call<absl::Status>(
        [request](Engine& engine) { return engine.RequestModelFile(*request); },
        [reactor](const absl::Status& comes) { reactor->Finish(WithDetails(comes, kModelComes)); });
  });
  return reactor;
}

}  // namespace winnow
