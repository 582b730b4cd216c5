#include "server/sagemaker/wire/aws_call.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/bounded_json.h"
#include "base/status_text.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "server/sagemaker/wire/xml.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kCborPath[] = "/service/";
constexpr size_t kMostFormDepth = 16;
constexpr int kMostDepth = 32;  // of a body that is JSON or CBOR

AwsProtocol ProtocolOf(const HttpRequest& request, const std::string& service) {
  if (request.target.starts_with(kCborPath)) return AwsProtocol::kCbor;
  const bool has_target = !request.header("x-amz-target").empty();
  const bool form = service == "sts" || service == "iam" || service == "monitoring";
  return form && !has_target ? AwsProtocol::kQuery : AwsProtocol::kJson;
}

bool IsTime(const std::string& name) {
  return name == "Timestamp" || name == "Timestamps" || name == "CreateDate";
}

// ---- forms

// "a.member.1.b=x" is {"a": {"member": {"1": {"b": "x"}}}} so far; this makes lists of what is named
// "member".
json WithLists(const json& value) {
  if (!value.is_object()) return value;
  if (value.size() == 1 && value.begin().key() == "member" && value.begin().value().is_object()) {
    std::map<int64_t, json> sorted;
    for (const auto& [number, each] : value.begin().value().items()) {
      int64_t at = 0;
      if (absl::SimpleAtoi(number, &at)) sorted[at] = WithLists(each);
    }
    json list = json::array();
    for (auto& [at, each] : sorted) list.push_back(std::move(each));
    return list;
  }
  json object = json::object();
  for (const auto& [name, each] : value.items()) object[name] = WithLists(each);
  return object;
}

json FromForm(const std::string& body) {
  json nested = json::object();
  // A form writes a blank as a plus.
  for (const auto& [name, value] : ParseAwsTarget("?" + absl::StrReplaceAll(body, {{"+", "%20"}})).query) {
    const std::vector<std::string> parts = SplitAt(name, '.');
    json* at = parts.size() > kMostFormDepth ? nullptr : &nested;
    for (const std::string& part : parts) {
      if (at != nullptr) at = at->is_object() || at->is_null() ? &(*at)[part] : nullptr;
    }
    if (at != nullptr && at->is_null()) *at = value;
  }
  return WithLists(nested);
}

void AddXml(const std::string& name, const json& value, bool is_time, XmlWriter& xml) {
  if (value.is_structured()) {
    xml.Open(name);
    for (const auto& [member, each] : value.items())
      AddXml(value.is_array() ? "member" : member, each, value.is_array() ? is_time : IsTime(member), xml);
    xml.Close();
  } else if (is_time) {
    xml.Add(name,
            absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(std::llround(value.get<double>())),
                             absl::UTCTimeZone()));
  } else {
    xml.Add(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

std::string NamespaceOf(const std::string& service) {
  if (service == "sts") return "https://sts.amazonaws.com/doc/2011-06-15/";
  if (service == "iam") return "https://iam.amazonaws.com/doc/2010-05-08/";
  return "http://monitoring.amazonaws.com/doc/2010-08-01/";
}

std::string XmlOf(const std::string& service, const std::string& operation, const json& answer,
                  const std::string& request_id) {
  XmlWriter xml(operation + "Response", NamespaceOf(service));
  AddXml(operation + "Result", answer, false, xml);
  xml.Open("ResponseMetadata");
  xml.Add("RequestId", request_id);
  xml.Close();
  return xml.Finish();
}

std::string XmlErrorOf(const std::string& service, const std::string& code, const std::string& message,
                       const std::string& request_id) {
  XmlWriter xml("ErrorResponse", NamespaceOf(service));
  xml.Open("Error");
  xml.Add("Type", "Sender");
  xml.Add("Code", code);
  xml.Add("Message", message);
  xml.Close();
  xml.Add("RequestId", request_id);
  return xml.Finish();
}

// ---- JSON and CBOR

// The same items without their tags: json::from_cbor does not know that of times. Absent: they are nested
// deeper than kMostDepth; json::from_cbor is recursive and has no limit. What is no CBOR stays as it is,
// so that json::from_cbor finds that.
std::optional<std::string> WithoutTags(std::string_view bytes) {
  std::vector<uint64_t> left;  // items that are missing in each open list, map and tag
  std::string kept;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t begin = at;
    const auto head = static_cast<unsigned char>(bytes[at++]);
    const int major = head >> 5;
    const int info = head & 31;
    uint64_t length = static_cast<uint64_t>(info);
    if (info >= 24 && info <= 27) {
      const size_t size = size_t{1} << (info - 24);
      if (bytes.size() - at < size) return std::string(bytes);
      length = 0;
      for (size_t i = 0; i < size; ++i) length = length << 8 | static_cast<unsigned char>(bytes[at++]);
    }
    const bool endless = info == 31;
    bool opens = false;
    if (head == 0xff) {  // the end of what has no length
      if (left.empty()) return std::string(bytes);
      left.pop_back();
    } else if ((major == 2 || major == 3) && !endless) {
      if (length > bytes.size() - at) return std::string(bytes);
      at += length;
    } else if (major >= 2 && major <= 6) {
      const uint64_t items = endless ? UINT64_MAX : major == 5 ? 2 * length : major == 6 ? 1 : length;
      if (items > 0) {
        if (left.size() == size_t{kMostDepth}) return std::nullopt;
        left.push_back(items);
        opens = true;
      }
    }
    if (major != 6 || endless) kept.append(bytes.substr(begin, at - begin));
    if (opens) continue;
    while (!left.empty() && left.back() != UINT64_MAX && --left.back() == 0) left.pop_back();
  }
  return kept;
}

// The first bytes of an item: its major type, and a length below 2^32.
void AddCborHead(int major, size_t length, std::string& bytes) {
  const auto type = static_cast<unsigned char>(major << 5);
  if (length < 24) {
    bytes += static_cast<char>(type | length);
    return;
  }
  bytes += static_cast<char>(type | 26);
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(length >> shift & 0xff);
}

// As json::to_cbor, which cannot tag times.
void AddCbor(const json& value, bool is_time, std::string& bytes) {
  if (value.is_object()) {
    AddCborHead(5, value.size(), bytes);
    for (const auto& [name, each] : value.items()) {
      AddCbor(json(name), false, bytes);
      AddCbor(each, IsTime(name), bytes);
    }
  } else if (value.is_array()) {
    AddCborHead(4, value.size(), bytes);
    for (const json& each : value) AddCbor(each, is_time, bytes);
  } else {
    if (is_time) AddCborHead(6, 1, bytes);
    const std::vector<uint8_t> scalar = json::to_cbor(value);
    bytes.append(scalar.begin(), scalar.end());
  }
}

// ---- errors

// The member that each kind of error has in the services' models.
const char* MessageMember(const std::string& code) {
  const bool modelled =
      code == "ResourceNotFound" || code == "ResourceInUse" || code == "ResourceLimitExceeded";
  return modelled ? "Message" : "message";
}

// The name of an error's shape in the services' models: CloudWatch's differ from the codes in forms, which
// clients of the other protocols find in a header.
std::string ShapeOf(const std::string& code, const std::string& service) {
  if (service != "monitoring") return code;
  if (code == "InvalidParameterValue" || code == "InvalidParameterCombination") return code + "Exception";
  return code == "MissingParameter" ? "MissingRequiredParameterException" : code;
}

HttpAnswer ErrorOf(AwsProtocol protocol, const std::string& service, const absl::Status& status,
                   const std::string& request_id) {
  const std::string code = AwsCodeOf(status);
  const std::string message = MessageOf(status);
  HttpAnswer answer;
  answer.status = HttpStatusOfAwsCode(code);
  answer.headers = {{"x-amzn-RequestId", request_id}};
  const json body = {{"__type", ShapeOf(code, service)}, {MessageMember(code), message}};
  switch (protocol) {
    case AwsProtocol::kJson:
      answer.headers.emplace_back("Content-Type", "application/x-amz-json-1.1");
      answer.headers.emplace_back("x-amzn-ErrorType", code);
      answer.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
      break;
    case AwsProtocol::kQuery:
      answer.headers.emplace_back("Content-Type", "text/xml");
      answer.body = XmlErrorOf(service, code, message, request_id);
      break;
    case AwsProtocol::kCbor:
      answer.headers.emplace_back("Content-Type", "application/cbor");
      answer.headers.emplace_back("smithy-protocol", "rpc-v2-cbor");
      AddCbor(body, false, answer.body);
      break;
  }
  if (service == "monitoring") answer.headers.emplace_back("x-amzn-query-error", code + ";Sender");
  return answer;
}

std::string OperationOf(const HttpRequest& request, AwsProtocol protocol, const json& body) {
  if (protocol == AwsProtocol::kCbor) return request.target.substr(request.target.rfind('/') + 1);
  if (protocol == AwsProtocol::kQuery) {
    const auto action = body.find("Action");
    return action != body.end() && action->is_string() ? action->get<std::string>() : "";
  }
  const std::string target(request.header("x-amz-target"));
  const size_t dot = target.rfind('.');
  return dot == std::string::npos ? "" : target.substr(dot + 1);
}

}  // namespace

absl::StatusOr<AwsCall> ReadAwsCall(const HttpRequest& request, const std::string& service) {
  AwsCall call;
  call.service = service;
  call.protocol = ProtocolOf(request, service);
  switch (call.protocol) {
    case AwsProtocol::kJson:
      call.body = request.body.empty() ? json::object() : ParseBoundedJson(request.body, kMostDepth);
      break;
    case AwsProtocol::kQuery:
      call.body = FromForm(request.body);
      break;
    case AwsProtocol::kCbor:
      if (request.body.empty()) {
        call.body = json::object();
      } else if (const std::optional<std::string> items = WithoutTags(request.body)) {
        call.body = json::from_cbor(*items, true, false);
      }
      break;
  }
  if (call.body.is_discarded() || !call.body.is_object())
    return AwsError(
        "SerializationException",
        fmt::format("The body is not an object of the request's protocol, nested at most {} deep.",
                    kMostDepth));
  call.operation = OperationOf(request, call.protocol, call.body);
  if (call.operation.empty()) return AwsError("UnknownOperationException", "The request names no operation.");
  return call;
}

HttpAnswer WriteAwsAnswer(const HttpRequest& request, const std::string& service,
                          const std::string& operation, const absl::StatusOr<json>& answer,
                          const std::string& request_id) {
  const AwsProtocol protocol = ProtocolOf(request, service);
  if (!answer.ok()) return ErrorOf(protocol, service, answer.status(), request_id);
  HttpAnswer written;
  written.headers = {{"x-amzn-RequestId", request_id}};
  switch (protocol) {
    case AwsProtocol::kJson:
      written.headers.emplace_back("Content-Type", service == "monitoring" ? "application/x-amz-json-1.0"
                                                                           : "application/x-amz-json-1.1");
      if (!answer->is_null()) written.body = answer->dump(-1, ' ', false, json::error_handler_t::replace);
      break;
    case AwsProtocol::kQuery:
      written.headers.emplace_back("Content-Type", "text/xml");
      written.body = XmlOf(service, operation, *answer, request_id);
      break;
    case AwsProtocol::kCbor:
      written.headers.emplace_back("Content-Type", "application/cbor");
      written.headers.emplace_back("smithy-protocol", "rpc-v2-cbor");
      AddCbor(*answer, false, written.body);
      break;
  }
  return written;
}

double NumberIn(const json& object, const char* member, double otherwise) {
  const auto found = object.find(member);
  if (found == object.end()) return otherwise;
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return otherwise;
  const auto& text = found->get_ref<const std::string&>();
  double number = 0;
  if (absl::SimpleAtod(text, &number)) return number;
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return otherwise;
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

}  // namespace winnow
