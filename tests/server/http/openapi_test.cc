// /v1/openapi.json describes the server's behaviour, path by path.

#include "server/http/openapi.h"

#include <algorithm>
#include <set>

#include "server/http/routes.h"
#include "tests/server/http/http_play.h"

namespace winnow {
namespace {

using nlohmann::json;

const json& Api() {
  static const json kApi = json::parse(OpenApiJson());
  return kApi;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// All references within a document.
void CollectReferences(const json& node, std::set<std::string>& found) {
  if (node.is_object() && node.contains("$ref")) found.insert(node["$ref"].get<std::string>());
  if (node.is_structured()) {
    for (const json& child : node) CollectReferences(child, found);
  }
}

// A path with something in the place of each field.
std::string Filled(std::string path) {
  for (size_t begin; (begin = path.find('{')) != std::string::npos;) {
    path.replace(begin, path.find('}') - begin + 1, "1");
  }
  return path;
}

TEST_CASE("OpenApi: each path and method that it names is answered, and no other method", "[http]") {
  HttpServerOptions options;
  options.metrics = [](const auto&) { return "up 1\n"; };
  HttpPlay play(options);
  for (const auto& [path, operations] : Api()["paths"].items()) {
    for (const std::string method : {"get", "post", "delete", "put", "patch"}) {
      HttpClient client(play.port());
      client.Send(
          RequestText(Upper(method), Filled(path), method == "get" || method == "delete" ? "" : "{}", {}));
      const HttpReply reply = client.Read();
      INFO(method << " " << path << ": " << reply.status << " " << reply.body);
      // /login is a page of the page, too.
      const bool known = operations.contains(method) || (path == "/login" && method == "get");
      CHECK((reply.status == 405) == !known);
      CHECK(reply.body.find("no method has this path") == std::string::npos);
      CHECK(reply.status != 501);
      CHECK(reply.status != 500);
    }
  }
}

TEST_CASE("OpenApi: everything that the server takes stands in it, once", "[http]") {
  size_t operations = 0;
  std::set<std::string> ids;
  for (const auto& [path, methods] : Api()["paths"].items()) {
    for (const json& operation : methods) {
      ++operations;
      CHECK(ids.insert(operation["operationId"]).second);
      CHECK(operation["responses"].contains("200"));
    }
  }
  for (const HttpRoute& route : HttpRoutes::OfServer().all()) {
    INFO(route.verb << " " << route.path);
    CHECK(ids.contains(route.method->name()));
  }
  CHECK(operations ==
        HttpRoutes::OfServer().all().size() + 6);  // login, logout, health, readiness, metrics, itself
}

TEST_CASE("OpenApi: every reference leads somewhere, and every schema is used", "[http]") {
  std::set<std::string> references;
  CollectReferences(Api(), references);
  CHECK(references.size() > 40);
  for (const std::string& reference : references) {
    INFO(reference);
    CHECK(Api().contains(json::json_pointer(reference.substr(1))));
  }
  for (const auto& [name, schema] : Api()["components"]["schemas"].items()) {
    INFO(name);
    CHECK(references.contains("#/components/schemas/" + name));
  }
}

TEST_CASE("OpenApi: parameters are those of the method, with the words of the contract", "[http]") {
  const json& list = Api()["paths"]["/v1/tuning-jobs/{job_id}/trials"]["get"];
  std::set<std::string> names;
  for (const json& parameter : list["parameters"]) names.insert(parameter["name"]);
  CHECK(names == std::set<std::string>{"job_id", "page_size", "page_token", "order_by", "states", "tags"});
  const json& describe = Api()["paths"]["/v1/tuning-jobs/{id}"]["get"];
  CHECK_THAT(describe["description"].get<std::string>(), Catch::Contains("NOT_FOUND for an unknown job"));
  const json& job = Api()["components"]["schemas"]["TuningJobSpec"]["properties"];
  CHECK(job["seed"]["allOf"][0]["$ref"] == "#/components/schemas/UInt64");
  CHECK(job["channels"]["additionalProperties"]["$ref"] == "#/components/schemas/Channel");
  // Fields that a query cannot express are in no query.
  for (const HttpRoute& route : HttpRoutes::OfServer().all()) {
    if (route.verb == "POST") continue;
    for (int i = 0; i < route.method->input_type()->field_count(); ++i) {
      const auto* type = route.method->input_type()->field(i)->message_type();
      INFO(route.method->full_name());
      CHECK((type == nullptr || type->full_name() == "google.protobuf.Duration" ||
             type->full_name() == "google.protobuf.Timestamp"));
    }
  }
}

// Whether a value matches a schema, as far as our schemas restrict it; `at` is its position.
void CheckFits(const json& value, const json& schema, const std::string& at) {
  INFO(at << ": " << value.dump().substr(0, 200) << " against " << schema.dump().substr(0, 200));
  if (schema.contains("$ref")) {
    return CheckFits(value, Api().at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))), at);
  }
  if (schema.contains("allOf")) return CheckFits(value, schema["allOf"][0], at);
  if (schema.contains("anyOf")) {
    const bool number = value.is_number();
    for (const json& one : schema["anyOf"]) {
      const std::string type = one["type"];
      if (number ? type == "number" || (type == "integer" && value.is_number_integer()) : type == "string")
        return;
    }
    FAIL_CHECK("no alternative fits");
    return;
  }
  const std::string type = schema["type"];
  if (type == "object") {
    REQUIRE(value.is_object());
    for (const auto& [name, field] : value.items()) {
      if (schema.contains("additionalProperties")) {
        CheckFits(field, schema["additionalProperties"], at + "." + name);
      } else {
        INFO(name);
        REQUIRE(schema["properties"].contains(name));
        CheckFits(field, schema["properties"][name], at + "." + name);
      }
    }
  } else if (type == "array") {
    REQUIRE(value.is_array());
    for (const json& element : value) CheckFits(element, schema["items"], at + "[]");
  } else {
    CHECK((type == "string"    ? value.is_string()
           : type == "boolean" ? value.is_boolean()
                               : type == "integer" && value.is_number_integer()));
    if (schema.contains("enum")) {
      const json& words = schema["enum"];
      CHECK(std::find(words.begin(), words.end(), value) != words.end());
    }
  }
}

TEST_CASE("OpenApi: an answer has the fields and the types of its schema and no others", "[http]") {
  HttpPlay play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(HyperbandJob(9));
  PlayToEnd(play, id, {&worker});
  const auto check = [&](const std::string& target, const char* schema) {
    const json answer = play.Ask("GET", target).json();
    CHECK(answer.size() > 0);
    CheckFits(answer, Api()["components"]["schemas"][schema], target);
  };
  check("/v1/tuning-jobs/" + id, "TuningJob");
  check("/v1/tuning-jobs/" + id + "/analytics", "GetAnalyticsResponse");
  check("/v1/tuning-jobs/" + id + "/trials/1", "DescribeTrialResponse");
  check("/v1/workers", "ListWorkersResponse");
}

}  // namespace
}  // namespace winnow
