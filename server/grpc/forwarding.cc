#include "server/grpc/forwarding.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <set>
#include <utility>

#include "base/check.h"
#include "rpc/channel.h"
#include "server/grpc/guard.h"

namespace winnow {
namespace {

using grpc::ByteBuffer;
using grpc::StatusCode;

// A call that has it came from a standby: it is not forwarded again.
constexpr char kForwarded[] = "winnow-forwarded";
// How long a look at the connection may take.
constexpr std::chrono::milliseconds kConnecting{50};
// Our own metadata; the rest is gRPC's.
constexpr std::string_view kOurs = "winnow-";

const std::set<std::string_view>& AnsweredFromStore() {
  static const std::set<std::string_view> kMethods = {
      "winnow.v1.AdminService.GetCaller",        "winnow.v1.TuningService.DescribeTuningJob",
      "winnow.v1.TuningService.ListTuningJobs",  "winnow.v1.TuningService.ListTrials",
      "winnow.v1.TuningService.DescribeTrial",   "winnow.v1.TuningService.QueryMetrics",
      "winnow.v1.TuningService.GetParetoFront",  "winnow.v1.TuningService.GetSchedule",
      "winnow.v1.TuningService.GetAnalytics",    "winnow.v1.TuningService.PreviewTuningJob",
      "winnow.v1.TuningService.WatchTuningJob",  "winnow.v1.TuningService.GetLogs",
      "winnow.v1.TuningService.ReplayTuningJob",
  };
  return kMethods;
}

// One call: what the caller sends is passed on to the leader, and its answers back, a message at a time each
// way. The call to the leader is held open by each way until it has ended.
class ForwardedCall final : public grpc::ServerGenericBidiReactor {
 public:
  ForwardedCall(grpc::GenericCallbackServerContext& near, LeaderLink::Leader leader)
      : near_(near), leader_(std::move(leader)), far_(*this) {
    far_context_.set_deadline(near.deadline());
    far_context_.AddMetadata(kForwarded, "1");
    const auto token = near.client_metadata().find(kAuthorization);
    if (token != near.client_metadata().end())
      far_context_.AddMetadata(kAuthorization, {token->second.data(), token->second.size()});
    grpc::GenericStub stub(leader_.channel);
    stub.PrepareBidiStreamingCall(&far_context_, near.method(), {}, &far_);
    far_.AddMultipleHolds(2);
    far_.StartCall();
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    {
      MutexLock lock(mutex_);
      if (up_ == Up::kEnded) return;
      up_ = ok ? Up::kSending : Up::kEnded;
    }
    if (ok) return far_.StartWrite(&request_);
    far_.StartWritesDone();
    far_.RemoveHold();
  }

  void OnSendInitialMetadataDone(bool ok) override { Answered(ok); }
  void OnWriteDone(bool ok) override { Answered(ok); }
  void OnCancel() override { far_context_.TryCancel(); }
  void OnDone() override { delete this; }

 private:
  // The caller's messages: one is waited for, one is being sent to the leader, or no more are taken.
  enum class Up { kReceiving, kSending, kEnded };

  class Far final : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
   public:
    explicit Far(ForwardedCall& call) : call_(call) {}
    void OnReadInitialMetadataDone(bool ok) override { call_.Opened(ok); }
    void OnWriteDone(bool ok) override { call_.Sent(ok); }
    void OnReadDone(bool ok) override { ok ? call_.StartWrite(&call_.answer_) : call_.EndAnswers(); }
    void OnDone(const grpc::Status& status) override { call_.End(status); }

   private:
    ForwardedCall& call_;
  };

  void Sent(bool ok) {
    {
      MutexLock lock(mutex_);
      up_ = ok && !answers_ended_ ? Up::kReceiving : Up::kEnded;
      ok = up_ == Up::kReceiving;
    }
    ok ? StartRead(&request_) : far_.RemoveHold();
  }

  void Opened(bool ok) {
    if (!ok) return far_.StartRead(&answer_);  // fails, and so ends the answers
    for (const auto& [key, value] : far_context_.GetServerInitialMetadata()) {
      const std::string_view name(key.data(), key.size());
      if (name.starts_with(kOurs)) near_.AddInitialMetadata(std::string(name), {value.data(), value.size()});
    }
    StartSendInitialMetadata();
  }

  // Something was sent to the caller.
  void Answered(bool ok) {
    if (ok) return far_.StartRead(&answer_);
    far_context_.TryCancel();
    EndAnswers();
  }

  void EndAnswers() {
    bool waits = false;
    {
      MutexLock lock(mutex_);
      answers_ended_ = true;
      waits = up_ == Up::kReceiving;  // for a message that nobody will take
      if (waits) up_ = Up::kEnded;
    }
    if (waits) far_.RemoveHold();
    far_.RemoveHold();
  }

  void End(const grpc::Status& status) {
    if (status.error_code() != StatusCode::UNAVAILABLE) return Finish(status);
    Finish({StatusCode::UNAVAILABLE,
            fmt::format("the winnow-server that leads, at {}: {}", leader_.address, status.error_message())});
  }

  grpc::GenericCallbackServerContext& near_;
  const LeaderLink::Leader leader_;
  grpc::ClientContext far_context_;
  Far far_;
  ByteBuffer request_, answer_;
  Mutex mutex_;
  Up up_ ABSL_GUARDED_BY(mutex_) = Up::kReceiving;
  bool answers_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::vector<int> ForwardedMethods(std::string_view service) {
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(std::string(service));
  WINNOW_CHECK(descriptor != nullptr, "a service is in the contract");
  std::vector<int> forwarded;
  for (int i = 0; i < descriptor->method_count(); ++i) {
    if (!AnsweredFromStore().contains(descriptor->method(i)->full_name())) forwarded.push_back(i);
  }
  return forwarded;
}

absl::Status LeaderLink::Set(const std::string& address) {
  MutexLock lock(mutex_);
  if (address == leader_.address) return absl::OkStatus();
  leader_ = {};
  if (address.empty()) return absl::OkStatus();
  // A server's own certificate also makes a client use TLS; the leader may ask for it.
  const Endpoint endpoint{address, ca_file_, tls_.cert, tls_.key, ""};
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = Connect(endpoint);
  if (!channel.ok()) return channel.status();
  leader_ = {address, *std::move(channel)};
  return absl::OkStatus();
}

bool LeaderLink::Connected() {
  const Leader leader = Current();
  if (leader.channel == nullptr) return false;
  if (leader.channel->GetState(true) == GRPC_CHANNEL_READY) return true;
  // gRPC connects while somebody waits for it.
  return leader.channel->WaitForConnected(std::chrono::system_clock::now() + kConnecting);
}

LeaderLink::Leader LeaderLink::Current() {
  MutexLock lock(mutex_);
  return leader_;
}

grpc::ServerGenericBidiReactor* Forwarding::CreateReactor(grpc::GenericCallbackServerContext* context) {
  using Refused = RefusedCall<grpc::ServerGenericBidiReactor>;
  const std::string& path = context->method();  // "/SERVICE/METHOD"
  const size_t slash = path.find('/', 1);
  if (slash != std::string::npos) {
    // A caller that this standby does not admit may be one that it does not know yet: the leader decides.
    const absl::StatusOr<std::string> admitted = authority_.Admit(
        path.substr(1, slash - 1), path.substr(slash + 1), OriginOf(*context, authority_.relay_key()));
    if (admitted.ok()) authority_.Admitted(context->peer());
    if (absl::IsResourceExhausted(admitted.status()))
      return new Refused({StatusCode::RESOURCE_EXHAUSTED, std::string(admitted.status().message())});
  }
  LeaderLink::Leader leader = link_.Current();
  if (leader.channel == nullptr || context->client_metadata().contains(kForwarded)) {
    return new Refused({StatusCode::UNAVAILABLE,
                        "no winnow-server leads this database now, and this one is a standby, which answers "
                        "reads alone; try again"});
  }
  return new ForwardedCall(*context, std::move(leader));
}

}  // namespace winnow
