#include "server/grpc/guard.h"

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/server_context.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/grpc/auth.h"
#include "server/grpc/errors.h"
#include "server/grpc/roles.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// Returns the only value; "" if there are none or several, which may contradict each other.
std::string TheOne(const Metadata& metadata, const char* name) {
  if (metadata.count(name) != 1) return "";
  const grpc::string_ref value = metadata.find(name)->second;
  return {value.data(), value.size()};
}

// Returns the origin of a call. For a call over HTTP that is the client's address, as the HTTP side states on
// the in-process channel; such metadata from any other peer is ignored.
std::string PeerOf(const grpc::CallbackServerContext& context, const std::string& relay_key) {
  const std::string peer = context.peer();
  for (std::string_view socket : {"ipv4:", "ipv6:", "unix:"}) {
    if (peer.starts_with(socket)) return peer;
  }
  const std::string key = TheOne(context.client_metadata(), kRelayKey);
  return SameHash(HashSecret(key), HashSecret(relay_key)) ? TheOne(context.client_metadata(), kRelayPeer)
                                                          : peer;
}

namespace pb = google::protobuf;

void AddJobs(const pb::Message& message, std::string_view path, std::vector<std::string>& jobs) {
  const size_t dot = path.find('.');
  const std::string name(path.substr(0, dot));
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  WINNOW_CHECK(field != nullptr, "the rule of a method names a field of its request");
  const pb::Reflection& reflection = *message.GetReflection();
  if (dot != std::string_view::npos) {
    if (reflection.HasField(message, field))
      AddJobs(reflection.GetMessage(message, field), path.substr(dot + 1), jobs);
    return;
  }
  if (!field->is_repeated()) {
    jobs.push_back(reflection.GetString(message, field));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, field); ++i)
    jobs.push_back(reflection.GetRepeatedString(message, field, i));
}

// Where the message has a field that this version does not know: "spec.limits", "" for the message itself.
// Absent: it has none.
std::optional<std::string> PathOfUnknown(const pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty()) return "";
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::optional<std::string> inner =
          PathOfUnknown(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                             : reflection.GetMessage(message, field));
      if (inner) return field->name() + (inner->empty() ? "" : "." + *inner);
    }
  }
  return std::nullopt;
}

// A caller of a newer version asks for something that this one would leave out without a word.
absl::Status CheckKnown(const MethodRule& rule, const pb::Message& request) {
  const bool is_of_client =
      rule.service == v1::TuningService::service_full_name() && MayChangeSomething(rule);
  if (!rule.audited && !is_of_client && rule.method != "PreviewTuningJob") return absl::OkStatus();
  const std::optional<std::string> path = PathOfUnknown(request);
  if (!path) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{} has a setting that this server, of version {}, does not know; expected a client of this version",
      path->empty() ? "the request" : *path, WINNOW_VERSION));
}

}  // namespace

std::vector<std::string> JobsNamedBy(const pb::Message& request, std::string_view path) {
  std::vector<std::string> jobs;
  AddJobs(request, path, jobs);
  return jobs;
}

absl::Status CheckSees(const Requester& by, const pb::Message& request, std::string_view path) {
  if (by.any) return absl::OkStatus();
  if (!path.starts_with('(')) {
    for (const std::string& job : JobsNamedBy(request, path)) {
      if (absl::Status seen = by.CheckSees(job); !seen.ok()) return seen;
    }
  }
  const pb::FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("project");
  if (field == nullptr) return absl::OkStatus();
  const std::string project = request.GetReflection()->GetString(request, field);
  return by.Sees(ProjectNamed(project)) ? absl::OkStatus() : NoProject(project);
}

CallOrigin OriginOf(const grpc::CallbackServerContext& context, const std::string& relay_key) {
  return {PeerOf(context, relay_key), TheOne(context.client_metadata(), kAuthorization)};
}

grpc::Status Guard::Admit(const grpc::CallbackServerContext& context, const pb::Message* request,
                          std::string_view method, Requester* by) {
  const CallOrigin origin = OriginOf(context, authority_.relay_key());
  absl::StatusOr<std::string> admitted = authority_.Admit(service_, method, origin);
  if (!admitted.ok()) return ToGrpc(admitted.status());
  authority_.Admitted(context.peer());
  const MethodRule& rule = *RuleOf(service_, method);
  WINNOW_CHECK(request != nullptr || rule.jobs.starts_with('('), "a handler gives the jobs of its request");
  Requester caller = authority_.RequesterOf(*admitted);
  caller.address = AddressOfPeer(origin.peer);
  if (request != nullptr) {
    if (const absl::Status seen = CheckSees(caller, *request, rule.jobs); !seen.ok()) {
      authority_.Refused(caller, service_, method, seen);
      return ToGrpc(seen);
    }
    if (const absl::Status known = CheckKnown(rule, *request); !known.ok()) {
      authority_.Refused(caller, service_, method, known);
      return ToGrpc(known);
    }
  }
  if (by != nullptr) *by = std::move(caller);
  return grpc::Status::OK;
}

}  // namespace winnow
