#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "server/http/call_message.h"
#include "server/http/exchange.h"

namespace winnow {

// Counts the calls that gRPC has not finished with. Thread-safe.
class CallCount {
 public:
  // One of them, as long as it lives.
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
  std::mutex mutex_;
  std::condition_variable none_;
  int calls_ = 0;  // guarded by mutex_
};

// Where calls go. Copied freely; what it refers to outlives the calls.
struct CallPath {
  std::shared_ptr<grpc::Channel> channel;  // within the process
  std::string relay_key;                   // see server/grpc/auth.h
  std::chrono::milliseconds deadline;      // of a call with one answer
  CallCount* count = nullptr;
};

// On whose behalf a call is made.
struct CallFor {
  std::string peer;           // as gRPC writes it
  std::string authorization;  // "Bearer …"; "": none. REQUIRES printable ASCII
};

// What is to be sent once a call has ended.
using FinishCall = std::function<HttpAnswer(const grpc::Status&, grpc::ByteBuffer)>;

// A method with one answer.
std::shared_ptr<Exchange> MakeUnaryCall(const CallPath& path, const CallFor& caller,
                                        const google::protobuf::MethodDescriptor& method,
                                        const google::protobuf::Message& request, FinishCall finish);

// A method with a stream of answers, as server-sent events: each is one event, whose id is the answer's field
// "sequence" if there is one. An error that comes before the stream is open is an answer; a later one is an
// event "error". The end is an event "end". The next answer is asked for when the one before has been taken.
std::shared_ptr<Exchange> MakeStreamCall(const CallPath& path, const CallFor& caller,
                                         const google::protobuf::MethodDescriptor& method,
                                         const google::protobuf::Message& request);

}  // namespace winnow
