#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "server/http/call_message.h"
#include "server/http/message.h"

namespace winnow {

// Counts the calls that gRPC has not finished. Thread-safe.
class CallCount {
 public:
  // One such call, as long as the object lives.
  class Pass {
   public:
    explicit Pass(CallCount& count);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    CallCount& count_;
  };
  void WaitForNone();

 private:
  Mutex mutex_;
  CondVar none_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The target of calls. Copied freely; its referents outlive the calls.
struct CallPath {
  std::shared_ptr<grpc::Channel> channel;  // within the process
  std::string relay_key;                   // see server/grpc/auth.h
  std::chrono::milliseconds deadline;      // of a unary call
  CallCount* count = nullptr;
};

// The client on whose behalf a call is made.
struct CallFor {
  std::string peer;           // gRPC's form
  std::string authorization;  // "Bearer …"; "": none. REQUIRES: printable ASCII
};

// Returns what to send once a call has ended.
using FinishCall = std::function<HttpAnswer(const grpc::Status&, grpc::ByteBuffer)>;

// A unary method.
std::shared_ptr<Exchange> MakeUnaryCall(const CallPath& path, const CallFor& caller,
                                        const google::protobuf::MethodDescriptor& method,
                                        const google::protobuf::Message& request, FinishCall finish);

// A method with a stream of answers, as server-sent events: each answer is an event, whose id is the answer's
// field "sequence", if any. An error before the stream is open is an answer; a later one is an event "error".
// The end is an event "end". The next answer is requested when the previous one has been taken.
std::shared_ptr<Exchange> MakeStreamCall(const CallPath& path, const CallFor& caller,
                                         const google::protobuf::MethodDescriptor& method,
                                         const google::protobuf::Message& request);

}  // namespace winnow
