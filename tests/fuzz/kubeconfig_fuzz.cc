// A kubeconfig: what is accepted names a server and no half credentials, and a token is fit for a header.

#include "server/host/pools/kubernetes/access.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const FileReader read = [&](const std::filesystem::path& file) -> absl::StatusOr<std::string> {
    if (file.string().size() % 2 == 0) return absl::NotFoundError("no such file");
    return text.substr(0, 100);
  };
  const absl::StatusOr<KubernetesAccess> access = ParseKubeconfig(text, "", "/", read);
  if (!access.ok()) {
    fuzz::Require(!access.status().message().empty(), "an error has words");
    return 0;
  }
  fuzz::Require(access->server.starts_with("http"), "it has a server");
  fuzz::Require(!access->server.ends_with('/'), "a path can follow it");
  fuzz::Require(access->certificate.empty() == access->key.empty(),
                "certificate and key are both there or neither");
  for (const char c : access->token) fuzz::Require(c > ' ' && c <= '~', "the token fits into a header");
  return 0;
}
