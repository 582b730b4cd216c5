#include "server/http/calls.h"

#include <google/protobuf/descriptor.h>

#include <optional>
#include <utility>

#include "base/mutex.h"
#include "json/message_json.h"
#include "server/grpc/auth.h"
#include "server/grpc/watch.h"
#include "server/http/errors.h"

namespace winnow {
namespace {

namespace pb = google::protobuf;
using Step = Exchange::Step;

std::string PathOf(const pb::MethodDescriptor& method) {
  return "/" + method.service()->full_name() + "/" + method.name();
}

void Prepare(grpc::ClientContext& context, const CallPath& path, const CallFor& caller) {
  context.AddMetadata(kRelayKey, path.relay_key);
  context.AddMetadata(kRelayPeer, caller.peer);
  if (!caller.authorization.empty()) context.AddMetadata("authorization", caller.authorization);
}

class UnaryCall final : public Exchange, public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(const CallPath& path, const CallFor& caller, const pb::MethodDescriptor& method,
            const pb::Message& request, FinishCall finish)
      : pass_(*path.count),
        stub_(path.channel),
        method_(PathOf(method)),
        request_(ToBytes(request)),
        finish_(std::move(finish)) {
    Prepare(context_, path, caller);
    context_.set_deadline(std::chrono::system_clock::now() + path.deadline);
  }

  void Start(std::function<void()> changed) override {
    stub_.UnaryCall(&context_, method_, {}, &request_, &response_,
                    [self = shared_from_this(), changed = std::move(changed)](grpc::Status status) {
                      {
                        MutexLock lock(self->mutex_);
                        self->status_ = std::move(status);
                      }
                      changed();
                    });
  }

  Step Next() override {
    MutexLock lock(mutex_);
    if (!status_) return {};
    return {Step::Kind::kAnswer, finish_(*status_, std::move(response_)), {}};
  }

  void Cancel() override { context_.TryCancel(); }

 private:
  const CallCount::Pass pass_;  // destroyed last
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const std::string method_;
  const grpc::ByteBuffer request_;
  const FinishCall finish_;
  grpc::ByteBuffer response_;  // gRPC's until the status is known
  Mutex mutex_;
  std::optional<grpc::Status> status_ ABSL_GUARDED_BY(mutex_);
};

// "id: 7\n" if the answer has a sequence number.
std::string EventId(const pb::Message& message) {
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName("sequence");
  if (field == nullptr || field->cpp_type() != pb::FieldDescriptor::CPPTYPE_INT64) return "";
  return "id: " + std::to_string(message.GetReflection()->GetInt64(message, field)) + "\n";
}

class StreamCall final : public Exchange,
                         public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(const CallPath& path, const CallFor& caller, const pb::MethodDescriptor& method,
             const pb::Message& request)
      : pass_(*path.count), stub_(path.channel), method_(method), request_(ToBytes(request)) {
    Prepare(context_, path, caller);
  }

  void Start(std::function<void()> changed) override {
    changed_ = std::move(changed);
    self_ = shared_from_this();
    stub_.PrepareBidiStreamingCall(&context_, PathOf(method_), {}, this);
    AddHold();  // reads are started from outside of reactions
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&incoming_);
    StartCall();
  }

  Step Next() override {
    MutexLock lock(mutex_);
    if (arrived_) {
      arrived_ = false;
      const grpc::ByteBuffer bytes = std::exchange(incoming_, {});
      lock.Unlock();
      StartRead(&incoming_);
      return Event(bytes);
    }
    if (status_ && !started_ && !status_->ok()) return {Step::Kind::kAnswer, ErrorAnswer(*status_), {}};
    if (opened_ && !started_) {
      started_ = true;
      return {Step::Kind::kOpen, {}, {}};
    }
    if (!status_) return {};
    if (std::exchange(told_end_, true)) return {Step::Kind::kEnd, {}, {}};
    started_ = true;
    if (status_->ok()) return {Step::Kind::kPart, {}, "event: end\ndata: {}\n\n"};
    return {Step::Kind::kPart, {}, "event: error\ndata: " + ErrorJson(*status_) + "\n\n"};
  }

  void Cancel() override {
    context_.TryCancel();
    bool unread = false;
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
      unread = std::exchange(arrived_, false);
    }
    if (unread) RemoveHold();  // no pending read will do so at its end
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok || context_.GetServerInitialMetadata().count(kStreamOpen) == 0) return;
    {
      MutexLock lock(mutex_);
      opened_ = true;
    }
    changed_();
  }
  void OnReadDone(bool ok) override {
    bool last = !ok;
    {
      MutexLock lock(mutex_);
      last = last || cancelled_;  // nobody will take it and read on
      arrived_ = !last;
    }
    if (last) {
      RemoveHold();
    } else {
      changed_();
    }
  }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<StreamCall> self = std::move(self_);
    {
      MutexLock lock(mutex_);
      status_ = status;
    }
    changed_();
  }

 private:
  Step Event(const grpc::ByteBuffer& bytes) {
    started_ = true;
    const MessagePtr message = NewMessage(*method_.output_type());
    if (!FromBytes(bytes, *message)) {
      const grpc::Status status{grpc::StatusCode::INTERNAL,
                                "an event is no " + method_.output_type()->name()};
      return {Step::Kind::kPart, {}, "event: error\ndata: " + ErrorJson(status) + "\n\n"};
    }
    const std::string json = MessageJson(*message, JsonLayout::kOneLine);
    return {Step::Kind::kPart, {}, EventId(*message) + "data: " + json + "\n\n"};
  }

  const CallCount::Pass pass_;  // destroyed last
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const pb::MethodDescriptor& method_;
  const grpc::ByteBuffer request_;
  std::function<void()> changed_;
  std::shared_ptr<StreamCall> self_;  // until gRPC is done with the call
  grpc::ByteBuffer incoming_;         // gRPC's while a read is pending
  bool started_ = false;              // Next has returned a part of the stream
  bool told_end_ = false;

  Mutex mutex_;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  bool arrived_ ABSL_GUARDED_BY(mutex_) = false;  // incoming_ has a message, and no read is pending
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

CallCount::Pass::Pass(CallCount& count) : count_(count) {
  MutexLock lock(count_.mutex_);
  ++count_.calls_;
}

CallCount::Pass::~Pass() {
  MutexLock lock(count_.mutex_);
  if (--count_.calls_ == 0) count_.none_.NotifyAll();
}

void CallCount::WaitForNone() {
  MutexLock lock(mutex_);
  while (calls_ > 0) none_.Wait(mutex_);
}

std::shared_ptr<Exchange> MakeUnaryCall(const CallPath& path, const CallFor& caller,
                                        const pb::MethodDescriptor& method, const pb::Message& request,
                                        FinishCall finish) {
  return std::make_shared<UnaryCall>(path, caller, method, request, std::move(finish));
}

std::shared_ptr<Exchange> MakeStreamCall(const CallPath& path, const CallFor& caller,
                                         const pb::MethodDescriptor& method, const pb::Message& request) {
  return std::make_shared<StreamCall>(path, caller, method, request);
}

}  // namespace winnow
