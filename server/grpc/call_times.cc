#include "server/grpc/call_times.h"

#include <grpcpp/support/server_interceptor.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/engine/metrics.h"
#include "server/grpc/roles.h"

namespace winnow {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kCodes = grpc::StatusCode::UNAUTHENTICATED + 1;

// The histograms of one method, each made at the first call with its code. Thread-safe.
class MethodTimes {
 public:
  MethodTimes(Metrics& metrics, const MethodRule& rule)
      : metrics_(metrics), service_(rule.service.substr(rule.service.rfind('.') + 1)), method_(rule.method) {}

  void Observe(grpc::StatusCode code, double seconds) {
    const auto given = static_cast<size_t>(code);
    const size_t number = given < kCodes ? given : static_cast<size_t>(grpc::StatusCode::UNKNOWN);
    prometheus::Histogram* times = times_[number].load(std::memory_order_acquire);
    if (times == nullptr) {
      const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(number));
      times = &metrics_.Calls(service_, method_, name);  // concurrent callers get the same histogram
      times_[number].store(times, std::memory_order_release);
    }
    times->Observe(seconds);
  }

 private:
  Metrics& metrics_;
  const std::string service_;
  const std::string method_;
  std::array<std::atomic<prometheus::Histogram*>, kCodes> times_ = {};
};

// Whether gRPC itself rejected a request that does not parse; our own errors always have a message.
bool IsUnread(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty();
}

class CallTime final : public grpc::experimental::Interceptor {
 public:
  explicit CallTime(MethodTimes& times) : times_(times) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      if (IsUnread(methods->GetSendStatus())) {
        methods->ModifySendStatus(
            {grpc::StatusCode::INVALID_ARGUMENT,
             "the request cannot be read; expected a protobuf message of this method's type"});
      }
      const std::chrono::duration<double> taken = SteadyClock::now() - begin_;
      times_.Observe(methods->GetSendStatus().error_code(), taken.count());
    }
    methods->Proceed();
  }

 private:
  MethodTimes& times_;
  const SteadyClock::time_point begin_ = SteadyClock::now();
};

class CallTimes final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallTimes(Metrics& metrics) {
    for (const MethodRule& rule : MethodRules()) {
      const std::string path = "/" + std::string(rule.service) + "/" + std::string(rule.method);
      methods_[path] = std::make_unique<MethodTimes>(metrics, rule);
    }
  }

  // Null for methods that are not ours: health, reflection.
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    const auto found = methods_.find(info->method());
    return found == methods_.end() ? nullptr : new CallTime(*found->second);
  }

 private:
  std::unordered_map<std::string, std::unique_ptr<MethodTimes>> methods_;
};

}  // namespace

void MeasureCalls(Metrics& metrics, grpc::ServerBuilder& builder) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.push_back(std::make_unique<CallTimes>(metrics));
  builder.experimental().SetInterceptorCreators(std::move(creators));
}

}  // namespace winnow
