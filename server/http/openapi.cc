#include "server/http/openapi.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <string>

#include "base/check.h"
#include "server/http/origin.h"
#include "server/http/routes.h"
#include "server/http/schemas.h"

namespace winnow {

// The files of the contract with their comments, from protoc: a serialized FileDescriptorSet.
std::string_view ContractDescriptors();

namespace {

namespace pb = google::protobuf;
using Json = Schemas::Json;

// All of them, with comments.
const pb::DescriptorPool& ContractPool() {
  static const pb::DescriptorPool& kPool = *[] {
    auto* pool = new pb::DescriptorPool;  // never destroyed, like its descriptors
    pb::FileDescriptorSet files;
    const std::string_view bytes = ContractDescriptors();
    WINNOW_CHECK(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), "protoc wrote them");
    for (const pb::FileDescriptorProto& file : files.file())
      WINNOW_CHECK(pool->BuildFile(file) != nullptr,
                   "imports precede the files that import them: " + file.name());
    return pool;
  }();
  return kPool;
}

Json ContentOf(const char* type, Json schema) { return {{type, {{"schema", std::move(schema)}}}}; }

Json WithError(Json good) {
  return {{"200", std::move(good)}, {"default", {{"$ref", "#/components/responses/Error"}}}};
}

Json ParameterJson(const pb::FieldDescriptor& field, const std::string& name, bool in_path,
                   Schemas& schemas) {
  Json parameter = {{"name", name},
                    {"in", in_path ? "path" : "query"},
                    {"required", in_path},
                    {"schema", schemas.Of(field)}};
  if (const std::string comment = CommentOf(field); !comment.empty()) parameter["description"] = comment;
  return parameter;
}

Json OperationOf(const HttpRoute& route, Schemas& schemas) {
  const pb::MethodDescriptor& method = *route.method;
  Json operation = {{"operationId", method.name()}, {"tags", {method.service()->name()}}};
  if (const std::string comment = CommentOf(method); !comment.empty()) operation["description"] = comment;
  Json parameters = Json::array();
  const auto in_path = [&](const pb::FieldDescriptor* field) {
    return std::any_of(route.segments.begin(), route.segments.end(),
                       [&](const auto& s) { return s.field == field; });
  };
  for (const HttpRoute::Segment& segment : route.segments) {
    if (segment.field != nullptr) {
      parameters.push_back(ParameterJson(*segment.field, segment.field->name(), true, schemas));
    }
  }
  if (route.verb == "POST") {
    operation["requestBody"] = {{"content", ContentOf("application/json", schemas.Of(*method.input_type()))}};
  } else {
    for (int i = 0; i < method.input_type()->field_count(); ++i) {
      const pb::FieldDescriptor* field = method.input_type()->field(i);
      if (!in_path(field)) parameters.push_back(ParameterJson(*field, field->name(), false, schemas));
    }
  }
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  const Json answer = schemas.Of(*method.output_type());
  operation["responses"] =
      WithError(method.server_streaming()
                    ? Json{{"description",
                            "Server-sent events: the data of each is a message in JSON; an event \"end\" "
                            "or \"error\" is the last. "
                            "Last-Event-ID continues after that event."},
                           {"content", ContentOf("text/event-stream", answer)}}
                    : Json{{"description", "OK"}, {"content", ContentOf("application/json", answer)}});
  return operation;
}

// The paths that are not methods.
void AddOwnPaths(Json& paths) {
  const auto json_object = ContentOf("application/json", {{"type", "object"}});
  const Json login = {
      {"type", "object"}, {"required", {"token"}}, {"properties", {{"token", {{"type", "string"}}}}}};
  paths["/login"]["post"] = {
      {"operationId", "Login"},
      {"description", "Sets a cookie with the token, for browsers; the response is that of GetCaller."},
      {"security", Json::array()},
      {"requestBody", {{"required", true}, {"content", ContentOf("application/json", login)}}},
      {"responses",
       WithError({{"description", "OK"},
                  {"content", ContentOf("application/json", {{"$ref", "#/components/schemas/Caller"}})}})}};
  paths["/logout"]["post"] = {{"operationId", "Logout"},
                              {"description", "Clears the cookie."},
                              {"security", Json::array()},
                              {"responses", WithError({{"description", "OK"}, {"content", json_object}})}};
  paths["/healthz"]["get"] = {
      {"operationId", "Health"},
      {"description", "Whether the server can read and write its database: 503 if not, or while it stops."},
      {"security", Json::array()},
      {"responses",
       {{"200", {{"description", "OK"}, {"content", json_object}}},
        {"503", {{"description", "It cannot."}, {"content", json_object}}}}}};
  Json ready = paths["/healthz"]["get"];
  ready["operationId"] = "Ready";
  ready["description"] = "As /healthz, of the server that leads: 503 from a standby.";
  paths["/readyz"]["get"] = std::move(ready);
  paths["/metrics"]["get"] = {
      {"operationId", "Metrics"},
      {"description", "The server's metrics, in Prometheus' text format."},
      {"responses",
       WithError({{"description", "OK"}, {"content", ContentOf("text/plain", {{"type", "string"}})}})}};
  paths["/v1/openapi.json"]["get"] = {
      {"operationId", "OpenApi"},
      {"description", "All methods and messages as OpenAPI 3."},
      {"responses", WithError({{"description", "OK"}, {"content", json_object}})}};
}

Json ErrorSchema() {
  const Json text = {{"type", "string"}};
  const Json violation = {{"type", "object"}, {"properties", {{"field", text}, {"description", text}}}};
  return {
      {"type", "object"},
      {"required", {"code", "message", "violations"}},
      {"properties",
       {{"code",
         {{"type", "string"}, {"description", "The name of gRPC's code."}, {"example", "INVALID_ARGUMENT"}}},
        {"message", text},
        {"violations", {{"type", "array"}, {"items", violation}}}}}};
}

std::string Make() {
  Schemas schemas;
  Json paths = Json::object();
  const HttpRoutes routes(ContractPool());
  for (const HttpRoute& route : routes.all()) {
    std::string verb = route.verb;
    std::transform(verb.begin(), verb.end(), verb.begin(),
                   [](char c) { return static_cast<char>(c - 'A' + 'a'); });
    paths[route.path][verb] = OperationOf(route, schemas);
  }
  AddOwnPaths(paths);
  Json components;
  components["schemas"] = schemas.all();
  components["schemas"]["Error"] = ErrorSchema();
  components["responses"]["Error"] = {
      {"description", "Refused, or failed: 400, 401, 403, 404, 409, 413, 415, 429, 500, 503 or 504."},
      {"content", ContentOf("application/json", {{"$ref", "#/components/schemas/Error"}})}};
  components["securitySchemes"]["token"] = {{"type", "http"}, {"scheme", "bearer"}};
  components["securitySchemes"]["cookie"] = {{"type", "apiKey"}, {"in", "cookie"}, {"name", kTokenCookie}};
  const Json api = {
      {"openapi", "3.0.3"},
      {"info",
       {{"title", "Winnow"},
        {"version", WINNOW_VERSION},
        {"description",
         "The methods of winnow-server with their messages as JSON: names_like_this (requests "
         "may also use namesLikeThis), enums by name, integers as numbers up to 2^53 and as "
         "strings beyond, NaN and the infinities as strings. Without --require-tokens and TLS no "
         "credential is needed."}}},
      {"security", {{{"token", Json::array()}}, {{"cookie", Json::array()}}, Json::object()}},
      {"paths", std::move(paths)},
      {"components", std::move(components)}};
  return api.dump();
}

}  // namespace

std::string_view OpenApiJson() {
  static const std::string kJson = Make();
  return kJson;
}

}  // namespace winnow
