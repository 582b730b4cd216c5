#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/host/pools/kubernetes/access.h"
#include "server/host/pools/kubernetes/connection.h"
#include "server/host/pools/kubernetes/event_stream.h"

namespace winnow {

struct ApiTimes {
  std::chrono::milliseconds answer{30'000};  // within which a call must be answered, with all its repetitions
  std::chrono::milliseconds first_pause{
      500};  // before a call is repeated that was answered "too many requests"
  std::chrono::milliseconds access_age{30'000};  // after which tokens and certificates are read again
  std::chrono::milliseconds watch{300'000};      // after which the server ends a watch
  std::chrono::milliseconds watch_silent{
      90'000};  // a watch without a byte counts as lost; bookmarks come each minute
};

struct ApiList {
  std::string version;  // resourceVersion: a watch begins after it
  std::vector<nlohmann::json> items;
};

// The REST API of a Kubernetes server, as far as a pool needs it. Collections are paths such as
// "/apis/batch/v1/namespaces/N/jobs". Errors are those of ApiError, UNAVAILABLE without an answer, CANCELLED
// after Stop, and FAILED_PRECONDITION if the access cannot be read. A call that is answered 429, or 5xx with
// Retry-After, is repeated after the time that the answer names while `answer` lasts. A call that is answered
// 401 is repeated once with an access that is read again. Thread-safe.
class ApiClient {
 public:
  explicit ApiClient(KubernetesAccessSource source, ApiTimes times = {});

  absl::StatusOr<nlohmann::json> Get(const std::string& path);
  absl::StatusOr<nlohmann::json> Create(const std::string& collection, const nlohmann::json& object);
  absl::StatusOr<nlohmann::json> Replace(const std::string& path, const nlohmann::json& object);
  // `options` is a DeleteOptions. Gone already: OK.
  absl::Status Delete(const std::string& path, const nlohmann::json& options);
  // `query`: as in a URL, "labelSelector=…"; "": all.
  absl::StatusOr<ApiList> List(const std::string& collection, const std::string& query);
  // Calls `opened` once the server has accepted the watch, `receiver` for each event after `version`, both on
  // this thread. OK: the server ended it, as it does now and then. Errors are also those of EventStream.
  absl::Status Watch(const std::string& collection, const std::string& query, const std::string& version,
                     const std::function<void()>& opened, const EventStream::Receiver& receiver);

  // The namespace of the access.
  absl::StatusOr<std::string> NameSpace();
  // Waits for that time. False: stopped.
  bool Sleep(std::chrono::milliseconds time);
  // Ends pending calls, and those that follow.
  void Stop();

  int64_t calls() const;  // sent so far, for metrics

 private:
  class Loan;
  absl::StatusOr<KubernetesAccess> Access(bool read_again);
  absl::StatusOr<nlohmann::json> Call(const std::string& method, const std::string& target,
                                      const nlohmann::json* object);
  absl::StatusOr<ApiResponse> SendOnce(const ApiRequest& request, const BodyReceiver& receiver);

  const KubernetesAccessSource source_;
  const ApiTimes times_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<ApiConnection>> idle_ ABSL_GUARDED_BY(mutex_);
  std::set<ApiConnection*> busy_ ABSL_GUARDED_BY(mutex_);
  KubernetesAccess access_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point access_read_ ABSL_GUARDED_BY(mutex_) = {};
};

// Encodes what stands in a URL's query as a value.
std::string QueryValue(const std::string& text);

}  // namespace winnow
