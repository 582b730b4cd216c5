#include "server/host/pools/kubernetes/access.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/read_file.h"
#include "base/status_text.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

template <class... Parts>
absl::Status BadAccess(fmt::format_string<Parts...> text, Parts&&... parts) {
  return absl::FailedPreconditionError(fmt::format(text, std::forward<Parts>(parts)...));
}

absl::StatusOr<std::string> ReadWholeFile(const fs::path& file) {
  absl::StatusOr<std::string> text = ReadFile(file.string());
  if (!text.ok()) return BadAccess("{}: cannot be read: {}", file.string(), MessageOf(text.status()));
  return text;
}

std::string WithoutSpace(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// A token goes into a header, so that it must have one line of visible characters.
absl::StatusOr<std::string> CheckedToken(const std::string& text, const std::string& where) {
  std::string token = WithoutSpace(text);
  for (const char c : token) {
    if (c <= ' ' || c > '~')
      return BadAccess("{}: expected a token of visible ASCII characters on one line", where);
  }
  return token;
}

std::string TextOf(const YAML::Node& node, const char* field) {
  const YAML::Node value = node.IsMap() ? node[field] : YAML::Node();
  return value.IsDefined() && value.IsScalar() ? value.Scalar() : "";
}

// An entry of the lists "clusters", "users" and "contexts": {name: N, [inner]: {…}}.
std::optional<YAML::Node> NamedEntry(const YAML::Node& root, const char* list, const char* inner,
                                     const std::string& name) {
  const YAML::Node entries = root[list];
  if (!entries.IsDefined() || !entries.IsSequence()) return std::nullopt;
  for (const YAML::Node& entry : entries) {
    if (TextOf(entry, "name") != name || !entry.IsMap()) continue;
    const YAML::Node value = entry[inner];
    if (value.IsDefined() && value.IsMap()) return value;
  }
  return std::nullopt;
}

struct KubeconfigPart {
  const YAML::Node& node;
  std::string where;
  const fs::path& folder;
  const FileReader& read;

  // Returns the value of FIELD-data, which is base64, or the content of the file that FIELD names; "":
  // neither is there.
  absl::StatusOr<std::string> DataOrFile(const char* field) const {
    const std::string data_field = std::string(field) + "-data";
    if (const std::string data = TextOf(node, data_field.c_str()); !data.empty()) {
      std::string decoded;
      if (!absl::Base64Unescape(data, &decoded))
        return BadAccess("{}.{}: expected base64", where, data_field);
      return decoded;
    }
    const std::string file = TextOf(node, field);
    if (file.empty()) return std::string();
    absl::StatusOr<std::string> text = read(folder / file);
    if (!text.ok()) return BadAccess("{}.{}: {}", where, field, MessageOf(text.status()));
    return text;
  }
};

absl::StatusOr<KubernetesAccess> AccessOf(const YAML::Node& root, const std::string& context,
                                          const fs::path& folder, const FileReader& read) {
  if (!root.IsMap()) return BadAccess("expected a kubeconfig: a YAML map with clusters, users and contexts");
  const std::string name = context.empty() ? TextOf(root, "current-context") : context;
  if (name.empty()) return BadAccess("current-context: expected the name of a context");
  const std::optional<YAML::Node> chosen = NamedEntry(root, "contexts", "context", name);
  if (!chosen) return BadAccess("contexts: \"{}\" is not among them", name);
  const std::string cluster_name = TextOf(*chosen, "cluster");
  const std::string user_name = TextOf(*chosen, "user");
  const std::optional<YAML::Node> cluster = NamedEntry(root, "clusters", "cluster", cluster_name);
  if (!cluster)
    return BadAccess("clusters: \"{}\", which context \"{}\" names, is not among them", cluster_name, name);

  KubernetesAccess access;
  if (const std::string space = TextOf(*chosen, "namespace"); !space.empty()) access.name_space = space;
  const KubeconfigPart server{*cluster, fmt::format("clusters[{}].cluster", cluster_name), folder, read};
  access.server = TextOf(*cluster, "server");
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!access.server.starts_with("https://") && !access.server.starts_with("http://"))
    return BadAccess("{}.server: \"{}\"; expected https://HOST:PORT", server.where, access.server);
  absl::StatusOr<std::string> authorities = server.DataOrFile("certificate-authority");
  if (!authorities.ok()) return authorities.status();
  access.authorities = *std::move(authorities);
  access.verify = TextOf(*cluster, "insecure-skip-tls-verify") != "true";
  access.proxy = TextOf(*cluster, "proxy-url");
  if (!TextOf(*cluster, "tls-server-name").empty())
    return BadAccess(
        "{}.tls-server-name is not supported; expected a server whose certificate has its own name",
        server.where);
  if (user_name.empty()) return access;

  const std::optional<YAML::Node> user = NamedEntry(root, "users", "user", user_name);
  if (!user)
    return BadAccess("users: \"{}\", which context \"{}\" names, is not among them", user_name, name);
  const KubeconfigPart me{*user, fmt::format("users[{}].user", user_name), folder, read};
  for (const char* field : {"exec", "auth-provider", "username", "as"}) {
    if ((*user)[field].IsDefined()) {
      return BadAccess(
          "{}.{} is not supported; expected token, tokenFile or client-certificate, such as a "
          "service account's token",
          me.where, field);
    }
  }
  absl::StatusOr<std::string> certificate = me.DataOrFile("client-certificate");
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = me.DataOrFile("client-key");
  if (!key.ok()) return key.status();
  if (certificate->empty() != key->empty())
    return BadAccess("{}: expected both client-certificate and client-key, or neither", me.where);
  access.certificate = *std::move(certificate);
  access.key = *std::move(key);
  std::string token = TextOf(*user, "token");
  if (const std::string file = TextOf(*user, "tokenFile"); token.empty() && !file.empty()) {
    absl::StatusOr<std::string> text = read(folder / file);
    if (!text.ok()) return BadAccess("{}.tokenFile: {}", me.where, MessageOf(text.status()));
    token = *std::move(text);
  }
  absl::StatusOr<std::string> checked = CheckedToken(token, me.where + ".token");
  if (!checked.ok()) return checked.status();
  access.token = *std::move(checked);
  return access;
}

absl::StatusOr<KubernetesAccess> AccessOfPod(const fs::path& folder) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || *host == '\0' || port == nullptr || *port == '\0') {
    return BadAccess(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; expected a kubeconfig, or a server "
        "that runs in a pod");
  }
  KubernetesAccess access;
  const bool ip6 = std::string(host).find(':') != std::string::npos;
  access.server = ip6 ? fmt::format("https://[{}]:{}", host, port) : fmt::format("https://{}:{}", host, port);
  absl::StatusOr<std::string> token = ReadWholeFile(folder / "token");
  if (token.ok()) token = CheckedToken(*token, (folder / "token").string());
  if (!token.ok()) return token.status();
  access.token = *std::move(token);
  absl::StatusOr<std::string> authorities = ReadWholeFile(folder / "ca.crt");
  if (!authorities.ok()) return authorities.status();
  access.authorities = *std::move(authorities);
  if (absl::StatusOr<std::string> space = ReadWholeFile(folder / "namespace"); space.ok())
    access.name_space = WithoutSpace(*space);
  return access;
}

}  // namespace

absl::StatusOr<KubernetesAccess> ParseKubeconfig(const std::string& text, const std::string& context,
                                                 const fs::path& folder, const FileReader& read) {
  try {
    return AccessOf(YAML::Load(text), context, folder, read);
  } catch (const YAML::Exception& error) {
    return BadAccess("expected YAML: {}", error.what());
  }
}

absl::StatusOr<KubernetesAccess> ReadKubernetesAccess(const KubernetesAccessSource& source) {
  if (source.kubeconfig.empty()) return AccessOfPod(source.account_folder);
  const absl::StatusOr<std::string> text = ReadWholeFile(source.kubeconfig);
  if (!text.ok()) return text.status();
  absl::StatusOr<KubernetesAccess> access =
      ParseKubeconfig(*text, source.context, fs::path(source.kubeconfig).parent_path(), ReadWholeFile);
  if (!access.ok()) return BadAccess("{}: {}", source.kubeconfig, MessageOf(access.status()));
  return access;
}

}  // namespace winnow
