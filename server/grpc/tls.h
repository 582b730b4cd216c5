#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// PEM files of a server. They are read anew when they change: a renewed certificate needs no restart.
struct TlsFiles {
  std::string cert = {};  // its certificate, then those between it and the authority's; "": plain text
  std::string key = {};   // the certificate's
  std::string client_ca =
      {};  // who may vouch for clients, which then must show a certificate; "": they need none

  bool used() const { return !cert.empty(); }
};

// INVALID_ARGUMENT names the file and what is wrong: it cannot be read, is not what it should be, the key is
// not the certificate's, the certificate has expired.
absl::Status CheckTlsFiles(const TlsFiles& files);

// REQUIRES CheckTlsFiles(files) is OK.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(const TlsFiles& files);

}  // namespace winnow
