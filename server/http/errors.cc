#include "server/http/errors.h"

#include <nlohmann/json.hpp>

#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

const char* NameOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
      return "CANCELLED";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case grpc::StatusCode::NOT_FOUND:
      return "NOT_FOUND";
    case grpc::StatusCode::ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case grpc::StatusCode::ABORTED:
      return "ABORTED";
    case grpc::StatusCode::OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case grpc::StatusCode::INTERNAL:
      return "INTERNAL";
    case grpc::StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    case grpc::StatusCode::DATA_LOSS:
      return "DATA_LOSS";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "UNAUTHENTICATED";
    default:
      return "UNKNOWN";
  }
}

}  // namespace

int HttpStatusOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return 200;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return 400;
    case grpc::StatusCode::UNAUTHENTICATED:
      return 401;
    case grpc::StatusCode::PERMISSION_DENIED:
      return 403;
    case grpc::StatusCode::NOT_FOUND:
      return 404;
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
      return 409;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return 429;
    case grpc::StatusCode::CANCELLED:
      return 499;
    case grpc::StatusCode::UNIMPLEMENTED:
      return 501;
    case grpc::StatusCode::UNAVAILABLE:
      return 503;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return 504;
    default:
      return 500;
  }
}

std::string ErrorJson(const grpc::Status& status) {
  nlohmann::ordered_json json = {{"code", NameOf(status.error_code())},
                                 {"message", status.error_message()},
                                 {"violations", nlohmann::json::array()}};
  v1::BadRequest bad;
  if (bad.ParseFromString(status.error_details())) {
    for (const auto& violation : bad.violations()) {
      json["violations"].push_back({{"field", violation.field()}, {"description", violation.description()}});
    }
  }
  // A message may quote arbitrary bytes of a request.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HttpAnswer ErrorAnswer(int http_status, const grpc::Status& status) {
  HttpAnswer answer = JsonAnswer(http_status, ErrorJson(status));
  if (http_status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

HttpAnswer ErrorAnswer(const grpc::Status& status) {
  return ErrorAnswer(HttpStatusOf(status.error_code()), status);
}

namespace {

// Replaces invalid UTF-8 by U+FFFD.
std::string AsUtf8(const std::string& text) {
  return nlohmann::json::parse(
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

grpc::Status FieldError(const std::string& name, const std::string& what) {
  const std::string field = AsUtf8(name);
  const std::string description = AsUtf8(what);
  v1::BadRequest bad;
  bad.add_violations()->set_field(field);
  bad.mutable_violations(0)->set_description(description);
  return {grpc::StatusCode::INVALID_ARGUMENT, field + ": " + description, bad.SerializeAsString()};
}

HttpAnswer NotAllowed(const std::string& method, const std::string& allowed) {
  HttpAnswer answer = ErrorAnswer(
      405, {grpc::StatusCode::UNIMPLEMENTED, method + " is not allowed for this path; allowed: " + allowed});
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

}  // namespace winnow
