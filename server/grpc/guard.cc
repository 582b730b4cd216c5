#include "server/grpc/guard.h"

#include <grpcpp/server_context.h>

#include <map>
#include <string>
#include <utility>

#include "server/grpc/auth.h"
#include "server/grpc/errors.h"

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

}  // namespace

grpc::Status Guard::Admit(const grpc::CallbackServerContext& context, std::string_view method,
                          Requester* by) {
  CallOrigin origin;
  origin.peer = PeerOf(context, authority_.relay_key());
  origin.authorization = TheOne(context.client_metadata(), "authorization");
  absl::StatusOr<std::string> admitted = authority_.Admit(service_, method, origin);
  if (!admitted.ok()) return ToGrpc(admitted.status());
  authority_.Admitted(context.peer());
  if (by != nullptr) {
    *by = authority_.RequesterOf(*admitted);
    by->address = AddressOfPeer(origin.peer);
  }
  return grpc::Status::OK;
}

}  // namespace winnow
