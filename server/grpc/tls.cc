#include "server/grpc/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "rpc/tls_files.h"

namespace winnow {
namespace {

constexpr unsigned kLookEverySeconds = 1;

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return absl::InvalidArgumentError(files.cert.empty()
                                          ? "--tls-key: a key needs its certificate: --tls-cert FILE"
                                          : "--tls-cert: a certificate needs its key: --tls-key FILE");
  }
  if (!files.used()) {
    return files.client_ca.empty()
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     "--tls-client-ca: clients' certificates need TLS: --tls-cert and --tls-key");
  }
  const absl::Status status = CheckKeyPair(files.cert, files.key);
  return status.ok() && !files.client_ca.empty() ? CheckCertificate("--tls-client-ca", files.client_ca)
                                                 : status;
}

std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(const TlsFiles& files) {
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      files.key, files.cert, files.client_ca, kLookEverySeconds));
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

}  // namespace winnow
