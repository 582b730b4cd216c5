#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// A server and how to speak to it. TLS is used beyond loopback, and on loopback where one of the files is
// named; never on a Unix socket.
struct Endpoint {
  std::string address = "";    // see ParseAddress
  std::string ca_file = "";    // PEM: who may vouch for the server; "": the system's authorities
  std::string cert_file = "";  // PEM: this client's own certificate, for a server that asks for one; "": none
  std::string key_file = "";   // PEM: the key of cert_file
  std::string token = "";      // "": none

  // REQUIRES a valid address.
  bool UsesTls() const;
};

// What a program's flags say of a server; "": not given. A token is no flag: `ps` shows flags to everyone.
struct EndpointFlags {
  std::string server = "";      // --server
  std::string tls_ca = "";      // --tls-ca
  std::string tls_cert = "";    // --tls-cert
  std::string tls_key = "";     // --tls-key
  std::string token_file = "";  // --token-file
};

// Fills in what the environment says where a flag does not: WINNOW_SERVER (else 127.0.0.1:7070),
// WINNOW_TLS_CA, WINNOW_TLS_CERT, WINNOW_TLS_KEY, and WINNOW_TOKEN or WINNOW_TOKEN_FILE; reads the token.
// INVALID_ARGUMENT names the flag or variable and what is wrong with it, never the token.
absl::StatusOr<Endpoint> MakeEndpoint(const EndpointFlags& flags);

inline constexpr const char* kDefaultServer = "127.0.0.1:7070";

}  // namespace winnow
