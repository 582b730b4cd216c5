#pragma once

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aws/aws_role.h"
#include "aws/requests.h"
#include "base/mutex.h"
#include "server/host/blobs/blob_buffer.h"

namespace winnow {

struct BucketSettings {
  std::string bucket;
  std::string endpoint;          // http(s)://HOST[:PORT], perhaps with "{bucket}"; "": AWS
  std::string region;            // "": of the environment, else us-east-1
  std::string credentials_file;  // "": the environment's, else those of the role of this container or machine
  std::string tls_ca;            // PEM; "": the system's authorities
  // A request that has failed in a passing way is tried again for so long, with growing pauses.
  std::chrono::milliseconds patience{5'000};
};

// The objects of a bucket of an S3-compatible service. A method sends its request, and again after passing
// failures, and returns within the settings' patience and the time that one transfer takes; while the service
// is known to be away, it tries once, and at most every two seconds. NOT_FOUND: there is no such object.
// UNAVAILABLE: the service is away; FAILED_PRECONDITION: it refuses, or is none, as with wrong settings. Both
// name the bucket, the endpoint and the reason, never a secret. Thread-safe.
class Bucket {
 public:
  // FAILED_PRECONDITION: there are no credentials, their file is wrong or not private, or the region is no
  // name.
  static absl::StatusOr<std::unique_ptr<Bucket>> Open(BucketSettings settings);

  // `sha256`: of the bytes, in hexadecimal digits; the service checks it. OK: the object is there, whole.
  absl::Status Put(const std::string& key, std::string_view bytes, const std::string& sha256);
  // Replaces what is in `into` by the object, by at most `most` bytes of it.
  absl::Status Get(const std::string& key, int64_t most, BlobBuffer& into);
  // OK also if there is no such object.
  absl::Status Delete(const std::string& key);
  // Calls `found` for each object whose key begins with `prefix`.
  absl::Status List(const std::string& prefix,
                    const std::function<void(const std::string& key, int64_t size)>& found);

  // Writes an object, reads it and deletes it. Tries for some seconds only.
  absl::Status Probe(const std::string& key);

  // Requests that wait end with UNAVAILABLE, now and later.
  void EndWaits();

  // "bucket NAME at ENDPOINT".
  std::string name() const;

 private:
  struct Request {
    const char* method = "GET";
    std::string url;
    std::string_view body = {};
    std::string sha256 = kEmptySha256;
    int64_t most = 1 << 20;      // bytes of the answer that are kept
    BlobBuffer* into = nullptr;  // for an object; null: the answer's body is kept
    std::chrono::milliseconds patience{};
  };
  struct Answer {
    int status = 0;
    std::string region;  // of the bucket, if the service says so
    std::string body;    // but for an object
  };
  struct EndHandle {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  using Handle = std::unique_ptr<CURL, EndHandle>;

  explicit Bucket(BucketSettings settings);
  std::string UrlOf(const std::string& key) const;
  Request To(const char* method, std::string url) const;
  absl::StatusOr<AwsCredentials> FindCredentials();
  // Reads them anew. True: they differ from those before.
  absl::StatusOr<bool> ReadCredentials();
  // Sends it until it is answered with other than a passing failure.
  absl::StatusOr<Answer> Send(const Request& request);
  absl::StatusOr<Answer> SendOnce(const Request& request);
  absl::Status Refusal(const Answer& answer) const;
  absl::Status Away(const std::string& reason) const;
  absl::Status Wrong(const std::string& reason) const;
  Handle TakeHandle();
  // Waits; false: this object ends.
  bool Sleep(std::chrono::milliseconds pause);

  BucketSettings settings_;
  AwsRole role_;
  std::atomic<bool> is_of_role_ = false;  // the credentials are: they are asked for before each request
  mutable Mutex mutex_;
  CondVar ending_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  AwsCredentials credentials_ ABSL_GUARDED_BY(mutex_);
  std::vector<Handle> idle_ ABSL_GUARDED_BY(mutex_);  // with their connections
  absl::Status away_ ABSL_GUARDED_BY(mutex_);         // why the last request failed for good; OK: it did not
  std::chrono::steady_clock::time_point asked_ ABSL_GUARDED_BY(mutex_);  // while it is away
};

}  // namespace winnow
