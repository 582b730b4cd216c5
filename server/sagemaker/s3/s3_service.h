#pragma once

#include <string>

#include "server/http/message.h"
#include "server/sagemaker/s3/object_store.h"

namespace winnow {

// The methods of S3 that notebooks call, over an ObjectStore: buckets, objects with ranges and conditions,
// uploads in parts, copies. Buckets are named in the path. Thread-safe.
class S3Service {
 public:
  explicit S3Service(ObjectStore& store) : store_(store) {}

  // `account` may do everything with its own buckets, and sees no others.
  HttpAnswer Answer(const HttpRequest& request, const std::string& account, const std::string& request_id);

  // The form of an error; `head_only`: without a body.
  static HttpAnswer Error(const absl::Status& status, const std::string& resource,
                          const std::string& request_id);

 private:
  ObjectStore& store_;
};

}  // namespace winnow
