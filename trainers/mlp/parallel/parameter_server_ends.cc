#include "trainers/mlp/parallel/parameter_server_ends.h"

#include "absl/status/statusor.h"
#include "fmt/format.h"

namespace winnow::mlp {
namespace {

absl::Status SendTo(Messenger* messenger, int rank, uint32_t tag, const std::string& message) {
  return messenger->Send(rank, tag, std::as_bytes(std::span<const char>(message)));
}

template <typename Values>
auto RunOf(Values values, Part run) {
  return values.subspan(static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.end - run.begin));
}

// One epoch of a server.
class Service {
 public:
  Service(Messenger* messenger, int64_t staleness_bound, ServerShard* shard)
      : messenger_(messenger),
        shard_(shard),
        gate_(messenger->size(), staleness_bound),
        unanswered_(static_cast<std::size_t>(messenger->size())),
        next_step_(static_cast<std::size_t>(messenger->size()), -1),
        gradient_(shard->parameters().size()) {}

  bool done() const { return gate_.AllLeft(); }

  absl::Status Take(const Message& message, Profile* profile, int profile_thread) {
    const int worker = message.from;
    PushHeader push;
    if (!ReadMessage(message.bytes, &push, std::span<float>(gradient_)) || !IsDue(worker, push)) {
      return absl::InternalError(
          fmt::format("rank {} sent a gradient that is not due, of {} bytes", worker, message.bytes.size()));
    }
    next_step_[worker] = push.step + 1;
    {
      ProfileScope scope(profile, Phase::kUpdate, push.step, profile_thread);
      shard_->Push(worker, push.step, push.epoch_steps, gradient_);
    }
    if (push.last == 1) {
      gate_.Leave(worker);
    } else {
      gate_.Advance(worker);
      unanswered_[worker] = true;
    }
    return Answer();
  }

 private:
  // Each worker sends one push after another, each computed at the parameters of its last answer.
  bool IsDue(int worker, const PushHeader& push) const {
    return !gate_.left(worker) && !unanswered_[worker] && push.version == shard_->pulled_version(worker) &&
           push.step >= 0 && (next_step_[worker] < 0 || push.step == next_step_[worker]) &&
           push.epoch_steps > 0 && (push.last == 0 || push.last == 1);
  }

  absl::Status Answer() {
    for (int worker = 0; worker < messenger_->size(); ++worker) {
      if (!unanswered_[worker] || !gate_.MayGoOn(worker)) continue;
      unanswered_[worker] = false;
      const std::span<const float> newest = shard_->Pull(worker);
      const std::string message = MessageBytes(PullHeader{shard_->version()}, newest);
      if (absl::Status status = SendTo(messenger_, worker, kPullTag, message); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  Messenger* const messenger_;
  ServerShard* const shard_;
  StalenessGate gate_;
  std::vector<bool> unanswered_;    // [worker]
  std::vector<int64_t> next_step_;  // [worker]; -1: any
  std::vector<float> gradient_;
};

}  // namespace

absl::Status ServeEpoch(Messenger* messenger, int64_t staleness_bound, ServerShard* shard, Profile* profile,
                        int profile_thread) {
  Service service(messenger, staleness_bound, shard);
  while (!service.done()) {
    const absl::StatusOr<Message> message = messenger->ReceiveAny(kPushTag);
    if (!message.ok()) return message.status();
    absl::Status status = service.Take(*message, profile, profile_thread);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ParameterClient::Push(int64_t step, int64_t epoch_steps, bool last,
                                   std::span<const float> gradient) {
  const int size = messenger_->size();
  for (int i = 0; i < size; ++i) {
    const int server = (messenger_->rank() + 1 + i) % size;  // each worker begins with another one
    const PushHeader header{step, epoch_steps, versions_[server], last ? 1 : 0};
    absl::Status status =
        SendTo(messenger_, server, kPushTag, MessageBytes(header, RunOf(gradient, runs_[server])));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ParameterClient::Pull(std::span<float> parameters) {
  for (int server = 0; server < messenger_->size(); ++server) {
    const absl::StatusOr<Message> message = messenger_->Receive(server, kPullTag);
    if (!message.ok()) return message.status();
    PullHeader header;
    if (!ReadMessage(message->bytes, &header, RunOf(parameters, runs_[server]))) {
      return absl::InternalError(fmt::format("rank {} sent {} bytes where {} parameters are due", server,
                                             message->bytes.size(), runs_[server].end - runs_[server].begin));
    }
    versions_[server] = header.version;
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp
