// What turns an HTTP request into a call: the first line is "VERB TARGET", the second the cookie, the third
// the host, the rest the body.

#include "json/message_json.h"
#include "server/http/call_message.h"
#include "server/http/errors.h"
#include "server/http/origin.h"
#include "server/http/page_files.h"
#include "server/http/routes.h"
#include "server/http/target.h"
#include "tests/fuzz/fuzz.h"

namespace winnow {
namespace {

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

void CheckCall(const RouteMatch& match, const HttpTarget& target, const std::string& body) {
  MessagePtr request;
  const grpc::Status status = ReadCall(match, target.parameters, body, request);
  fuzz::Require(status.ok() == (request != nullptr), "a request is there if nothing is wrong, and only then");
  if (!status.ok()) {
    fuzz::Require(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT, "what is wrong is the argument");
    fuzz::Require(ErrorJson(status).find("\"field\"") != std::string::npos, "what is wrong names a field");
    return;
  }
  for (const auto& [field, text] : match.fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) continue;
    std::string scratch;
    fuzz::Require(request->GetReflection()->GetStringReference(*request, field, &scratch) == text,
                  "the path holds");
  }
  const std::string json = MessageJson(*request, JsonLayout::kOneLine);
  fuzz::Require(json.find('\n') == std::string::npos, "JSON stands on one line");
}

}  // namespace
}  // namespace winnow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view first = TakeLine(rest);
  HttpRequest request;
  request.headers["cookie"] = std::string(TakeLine(rest));
  request.headers["host"] = std::string(TakeLine(rest));
  request.headers["origin"] = "http://" + request.headers["host"];
  request.headers["accept-encoding"] = request.headers["cookie"];
  const std::string authorization = AuthorizationOf(request);
  for (char c : authorization) fuzz::Require(c >= 0x20 && c <= 0x7e, "metadata is printable");
  fuzz::Require(!FromAnotherSite(request) || request.headers["host"].find("://") != std::string::npos,
                "a page of ours is of our site");
  (void)HostIsLoopback(request.headers["host"]);

  const size_t blank = std::min(first.find(' '), first.size());
  const std::string_view verb = first.substr(0, blank);
  const std::optional<HttpTarget> target = ParseTarget(first.substr(std::min(blank + 1, first.size())));
  if (!target) return 0;
  fuzz::Require(target->parameters.size() <= kMostParameters, "as many parameters as may be");
  std::string path;
  for (const std::string& segment : target->segments) {
    fuzz::Require(segment != ".." && segment.find('\0') == std::string::npos, "a path leads down");
    path += (path.empty() ? "" : "/") + segment;
  }
  fuzz::Require(AnswerPage(PageFiles(), path, request).status != 500, "a path is a page or none");
  const RouteMatch match = HttpRoutes::OfServer().Find(verb, target->segments);
  if (match.route != nullptr) CheckCall(match, *target, std::string(rest));
  return 0;
}
