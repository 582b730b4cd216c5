#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace winnow {

// How a request of a service other than S3 is written, and so its answer.
enum class AwsProtocol {
  kJson,   // x-amz-target, and JSON
  kQuery,  // a form, and XML
  kCbor,   // smithy-rpc-v2-cbor
};

// An operation of a service, whatever the protocol.
struct AwsCall {
  AwsProtocol protocol = AwsProtocol::kJson;
  std::string service;  // as it is signed for: "sagemaker", "monitoring"
  std::string operation;
  nlohmann::json body;  // an object; of forms all values are texts
};

// SerializationException: the body is not of its protocol. UnknownOperationException: it names no operation.
absl::StatusOr<AwsCall> ReadAwsCall(const HttpRequest& request, const std::string& service);

// The answer or the error in the protocol of the request, which need not be one that ReadAwsCall accepts.
// `operation`: of the call; "" for an error. Null is an empty body. Members named Timestamp, Timestamps and
// CreateDate are times in seconds.
HttpAnswer WriteAwsAnswer(const HttpRequest& request, const std::string& service,
                          const std::string& operation, const absl::StatusOr<nlohmann::json>& answer,
                          const std::string& request_id);

// A member as a number, also if it is the text of one, or of a time as ISO 8601 has it (then in seconds).
double NumberIn(const nlohmann::json& object, const char* member, double otherwise);

}  // namespace winnow
