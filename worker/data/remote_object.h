#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/data/aws_access.h"

namespace winnow {

// A file that can be had over HTTP.
struct RemoteObject {
  std::string shown;                                  // its URL in messages: without a query
  std::string url;                                    // http:// or https://
  std::shared_ptr<const AwsAccess> access = nullptr;  // of an object of a bucket; else null
};

// By what a content of an object is known again.
struct ObjectVersion {
  int64_t size = -1;  // bytes; -1: the server does not say
  std::string etag;   // "": none
  std::string modified;
  // For If-Range: the ETag if it is a strong one, else the time of the change; "": none.
  std::string Validator() const;
  bool operator==(const ObjectVersion&) const = default;
};

// How long a transfer is tried again.
struct TransferPatience {
  std::chrono::milliseconds without_bytes{60'000};  // then it has failed
  std::chrono::milliseconds first_pause{200};       // doubles with each try in a row that brought nothing
  std::chrono::milliseconds last_pause{5'000};
};

// Takes an object's content, on the caller's thread.
class ObjectReceiver {
 public:
  virtual ~ObjectReceiver() = default;
  // What comes next begins at byte `from` of that version: 0, everything from before is void; or where the
  // bytes so far end. An error ends the transfer.
  virtual absl::Status Begin(const ObjectVersion& version, int64_t from) = 0;
  virtual absl::Status Add(std::string_view bytes) = 0;
  // Nothing comes, and it is tried again: which object, why, and for how long.
  virtual void Waits(const std::string& /*why*/) {}
};

// What the receiver has already.
struct ObjectKept {
  ObjectVersion version;
  int64_t bytes = 0;        // from the begin of that version
  std::string unless_etag;  // if it is still that of the object, nothing is to be sent; "": in every case
};

// Receives the whole object. A connection that breaks is made anew, and what has come already is not asked
// for again where the server can do so (Range with If-Range). Returns false if the object is still the one
// of kept.unless_etag. FAILED_PRECONDITION names the object and what was expected: it does not exist, or
// access is denied; UNAVAILABLE: nothing came for patience.without_bytes; CANCELLED; or an error of the
// receiver.
absl::StatusOr<bool> ReceiveObject(const RemoteObject& object, ObjectKept kept, ObjectReceiver& receiver,
                                   const TransferPatience& patience, const Cancellation& cancellation,
                                   bool slow_reader = false);

// The keys of a bucket that begin with `prefix`, sorted by their bytes, without those that end in '/'.
// `shown`: the URL in messages. `waits` as ObjectReceiver::Waits. Errors as of ReceiveObject;
// FAILED_PRECONDITION too if there are none.
absl::StatusOr<std::vector<std::string>> ListObjects(const std::string& shown,
                                                     const std::shared_ptr<const AwsAccess>& access,
                                                     const std::string& bucket, const std::string& prefix,
                                                     const TransferPatience& patience,
                                                     const std::function<void(const std::string&)>& waits,
                                                     const Cancellation& cancellation);

}  // namespace winnow
