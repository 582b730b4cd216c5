#include "server/http/routes.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "winnow/v1/admin.pb.h"
#include "winnow/v1/artifact.pb.h"
#include "winnow/v1/audit.pb.h"
#include "winnow/v1/http.pb.h"
#include "winnow/v1/insight.pb.h"
#include "winnow/v1/logs.pb.h"
#include "winnow/v1/pools.pb.h"
#include "winnow/v1/projects.pb.h"
#include "winnow/v1/tuning.pb.h"
#include "winnow/v1/usage.pb.h"
#include "winnow/v1/webhooks.pb.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {
namespace {

namespace pb = google::protobuf;

[[noreturn]] void Broken(const pb::MethodDescriptor& method, const std::string& what) {
  WINNOW_UNREACHABLE(method.full_name() + ": its option http: " + what);
}

HttpRoute RouteOf(const pb::MethodDescriptor& method) {
  const v1::HttpRule& rule = method.options().GetExtension(v1::http);
  HttpRoute route;
  route.method = &method;
  for (const auto& [verb, path] :
       {std::pair("GET", rule.get()), std::pair("POST", rule.post()), std::pair("DELETE", rule.delete_())}) {
    if (path.empty()) continue;
    if (!route.verb.empty()) Broken(method, "has two verbs");
    route.verb = verb;
    route.path = path;
  }
  if (!route.path.starts_with("/v1/")) Broken(method, "\"" + route.path + "\" does not begin with /v1/");
  for (size_t begin = 1; begin <= route.path.size();) {
    const size_t end = std::min(route.path.find('/', begin), route.path.size());
    std::string part = route.path.substr(begin, end - begin);
    begin = end + 1;
    if (!part.starts_with('{')) {
      route.segments.push_back({std::move(part), nullptr});
      continue;
    }
    const pb::FieldDescriptor* field = method.input_type()->FindFieldByName(part.substr(1, part.size() - 2));
    if (field == nullptr || field->is_repeated() || field->message_type() != nullptr) {
      Broken(method, "\"" + part + "\" is no single field of the request");
    }
    route.segments.push_back({"", field});
  }
  return route;
}

// Returns the path with placeholders for fields: two routes of one shape would be ambiguous.
std::string ShapeOf(const HttpRoute& route) {
  std::string shape = route.verb;
  for (const HttpRoute::Segment& segment : route.segments)
    shape += segment.field ? "/{}" : "/" + segment.word;
  return shape;
}

long Words(const HttpRoute& route) {
  return std::count_if(route.segments.begin(), route.segments.end(),
                       [](const HttpRoute::Segment& segment) { return segment.field == nullptr; });
}

bool Leads(const HttpRoute& route, const std::vector<std::string>& segments) {
  if (route.segments.size() != segments.size()) return false;
  for (size_t i = 0; i < segments.size(); ++i) {
    const HttpRoute::Segment& segment = route.segments[i];
    if (segment.field == nullptr ? segment.word != segments[i] : segments[i].empty()) return false;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& ContractFiles() {
  static const std::vector<std::string> kFiles = [] {
    std::vector<std::string> files;
    // Naming a message of each file links the file in.
    for (const pb::Descriptor* message :
         {v1::Caller::descriptor(), v1::Artifact::descriptor(), v1::AuditEntry::descriptor(),
          v1::HttpRule::descriptor(), v1::Sieve::descriptor(), v1::GetLogTimesRequest::descriptor(),
          v1::ListPoolsResponse::descriptor(), v1::Project::descriptor(), v1::TuningJob::descriptor(),
          v1::UsageSample::descriptor(), v1::Webhook::descriptor(), v1::SyncRequest::descriptor()}) {
      files.push_back(message->file()->name());
    }
    return files;
  }();
  return kFiles;
}

HttpRoutes::HttpRoutes(const pb::DescriptorPool& pool) {
  std::set<std::string> shapes;
  for (const std::string& name : ContractFiles()) {
    const pb::FileDescriptor* file = pool.FindFileByName(name);
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const pb::MethodDescriptor& method = *file->service(s)->method(m);
        if (!method.options().HasExtension(v1::http)) continue;
        if (method.client_streaming()) Broken(method, "a client's stream cannot be sent");
        routes_.push_back(RouteOf(method));
        if (!shapes.insert(ShapeOf(routes_.back())).second) Broken(method, "leads where another does");
      }
    }
  }
  std::stable_sort(routes_.begin(), routes_.end(),
                   [](const HttpRoute& a, const HttpRoute& b) { return Words(a) > Words(b); });
}

const HttpRoutes& HttpRoutes::OfServer() {
  static const HttpRoutes kRoutes(*pb::DescriptorPool::generated_pool());
  return kRoutes;
}

RouteMatch HttpRoutes::Find(std::string_view verb, const std::vector<std::string>& segments) const {
  RouteMatch match;
  for (const HttpRoute& route : routes_) {
    if (!Leads(route, segments)) continue;
    if (std::find(match.verbs.begin(), match.verbs.end(), route.verb) == match.verbs.end()) {
      match.verbs.push_back(route.verb);
    }
    if (match.route != nullptr || route.verb != verb) continue;
    match.route = &route;
    for (size_t i = 0; i < segments.size(); ++i) {
      if (route.segments[i].field != nullptr) match.fields.emplace_back(route.segments[i].field, segments[i]);
    }
  }
  return match;
}

}  // namespace winnow
