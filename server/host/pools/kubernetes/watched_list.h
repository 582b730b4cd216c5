#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/host/pools/kubernetes/api_client.h"

namespace winnow {

// The objects of a collection as they are now: listed once, then followed by watches, on a thread of its own.
// When the server has forgotten where a watch was, the collection is listed anew. Thread-safe.
class WatchedList {
 public:
  struct Options {
    std::string collection;
    std::string query;                           // "labelSelector=…"
    std::chrono::milliseconds first_pause{200};  // between attempts to reach the server; doubles
    std::chrono::milliseconds last_pause{10'000};
  };

  // REQUIRES: `client` outlives this, and is stopped before this is destroyed.
  WatchedList(ApiClient& client, Options options);
  ~WatchedList();

  // The objects, by name. Waits for the first list, `patience` at most. UNAVAILABLE or the error of the
  // client: the server cannot be asked at present, so that what is known may be old.
  absl::StatusOr<std::vector<nlohmann::json>> Items(std::chrono::milliseconds patience);
  // Takes what this client has created, so that Items has it at once.
  void Put(const nlohmann::json& object);
  // Counts the lists that were made so far.
  int64_t lists() const;

 private:
  void Run();
  absl::Status MakeList();
  absl::Status Follow();
  void Take(const WatchEvent& event);
  void Finish(const absl::Status& status);

  ApiClient& client_;
  const Options options_;
  mutable Mutex mutex_;
  CondVar changed_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("the API server was not asked yet");
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t lists_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t puts_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string version_ ABSL_GUARDED_BY(mutex_);  // "": a list is needed
  std::map<std::string, nlohmann::json> items_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> deleted_ ABSL_GUARDED_BY(mutex_);  // uids, since the last list
  std::thread thread_;
};

}  // namespace winnow
